# %% [markdown]
# # Derivatives of anything
#
# The derivative of a program is another program, exact and compiled. Here: how the torque that holds an arm
# changes with its pose.

# %%
import numpy as np
import matplotlib.pyplot as plt
import taupi as tp

arm = tp.load("elbow2r")
gravity = tp.gravity_torque(arm)
stiffness = gravity.jacobian("q")
q = np.stack([np.linspace(-np.pi, np.pi, 200), np.full(200, 0.5)], axis=-1)
slope = np.gradient(gravity(q)[:, 0], q[:, 0])  # by differences
assert np.abs(stiffness(q)[1:-1, 0, 0] - slope[1:-1]).max() < 1e-2 * np.abs(slope).max()

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(q[:, 0], gravity(q)[:, 0], label="gravity torque of the shoulder, N m")
axes.plot(q[:, 0], stiffness(q)[:, 0, 0], label="its derivative, N m/rad")
axes.set_xlabel("shoulder, rad")
axes.legend()
axes.grid(alpha=0.3)

# %%
stiffness

# %% [markdown]
# The same for regressors, in several variables, as products without the matrix, and as linear models of a plant:
# [Take derivatives](../howto/derivatives.md).
