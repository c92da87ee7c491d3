# %% [markdown]
# # Keep clear
#
# A motion is checked against the arm itself and the floor, not at samples but at all times.

# %%
import matplotlib.pyplot as plt
import numpy as np
import taupi as tp

robot = tp.load("panda")
keep = tp.clearance(robot, clearance=0.02, floor=0.0)
middle, width = [0, -0.3, 0, -1.8, 0, 1.9, 0], [0.8, 0.5, 0.8, 0.5, 0.8, 0.6, 0.8]
motions = {
    "calm": tp.BSpline.random(middle, width, duration=8.0, seed=1),
    "wild": tp.BSpline.random(np.zeros(7), 0.8 * np.array([2.8, 1.7, 2.8, 3.0, 2.8, 3.0, 2.8]), duration=8.0, seed=1),
}
t = np.linspace(0, 8, 400)
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for name, motion in motions.items():
    axes.plot(t, 1000 * np.min(keep.distances(motion(t)[0]), axis=-1), label=name)
axes.axhline(0, color="#c2374b", lw=1)
axes.set_xlabel("time, s")
axes.set_ylabel("least distance to spare, mm")
axes.legend()
axes.grid(alpha=0.3)

# %%
for name, motion in motions.items():
    print(f"{name}: {keep.certificate(motion).sentence}")

# %% [markdown]
# `tp.excite` keeps clear automatically if it knows the geometry, also of a floor: by default the plane that the base is bolted
# to. [Keep clear](../howto/clearance.md).
