# %% [markdown]
# # The mass that a hand would feel
#
# At its tip an arm is heavy in one direction and light in another: ellipses of mass along a motion.

# %%
import numpy as np
import taupi as tp

arm = tp.load("elbow2r")
q = np.linspace([0.2, 0.6], [1.0, 2.2], 4)
ellipses = tp.operational.mass_ellipses(arm, q)
tp.plot(ellipses)

# %%
print(ellipses)
M = tp.operational.mass(arm, task="xy")(q)
assert np.allclose(M, ellipses.matrices)
