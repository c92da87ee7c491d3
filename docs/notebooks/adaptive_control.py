# %% [markdown]
# # An arm that learns while it moves
#
# Slotine and Li's law starts with a third of the true masses. Beside it is the same law with its estimate held.

# %%
import numpy as np
import taupi as tp

arm = tp.load("elbow2r")
motion = tp.Sinusoids([0.0, 0.5], [[0.6], [0.5]], [[1.5], [2.1]])
runs = {}
for name, law in {"learns": tp.SlotineLi(arm), "held": tp.SlotineLi(arm, Gamma_inv=0.0)}.items():
    runs[name] = tp.simulate(tp.RigidPlant(arm), law, motion, duration=8.0, parameters=0.3 * law.parameters.values)
    late = np.abs(runs[name].error[-2000:]).max()
    print(f"{name:7} largest error in the last two seconds: {late:.4f} rad")
assert np.abs(runs["learns"].error[-2000:]).max() < 0.1 * np.abs(runs["held"].error[-2000:]).max()

# %%
tp.plot(runs["learns"])

# %% [markdown]
# `tp.report(list, "page.html")` compares laws on a page with an animation of the arm, and `tp.emit_controller(law, ...)`
# writes the law as C.
