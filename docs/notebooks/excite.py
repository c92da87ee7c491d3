# %% [markdown]
# # A motion that excites
#
# Six seconds that reveal the most about an arm, within limits of position, velocity, acceleration and torque that
# hold at all times.

# %%
import numpy as np
import taupi as tp

LIMITS = {"lower": -1.5, "upper": 1.5, "velocity": 2.0, "acceleration": 10.0, "effort": 60.0}
arm = tp.load("elbow2r")
plan = tp.excite(arm, 6.0, terms=("viscous", "coulomb"), limits=LIMITS, starts=2, seed=1)
plan

# %%
t = np.linspace(0, 6, 600)
q, qd, qdd = plan.motion(t)
assert np.abs(qd).max() <= 2.0 and np.abs(q).max() <= 1.5
tp.plot(plan)

# %% [markdown]
# What is proven, and what is not: this arm has no geometry, so nothing is known about collisions or a floor.

# %%
print(plan.certainty)

# %% [markdown]
# `tp.report(plan, "motion.html")` shows it with an animation of the arm and the proofs; `plan.write("folder")` writes it for
# controllers.
