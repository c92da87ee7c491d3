# %% [markdown]
# # A robot that floats
#
# A quadruped thrown into the air: its centre of mass falls like a stone, and its angular momentum stays constant.

# %%
import numpy as np
import taupi as tp

robot = tp.load("solo12")  # its base is free: six more velocities
q = tp.floating.neutral(robot)
q[7:] = np.tile([0.0, 0.7, -1.4], 4)
tp.plot(robot, q, frames=["FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"], names=False)

# %%
qd = np.random.default_rng(0).normal(size=robot.n)
run = tp.simulate(tp.RigidPlant(robot), duration=0.5, rate=500, initial=(q, qd))
momentum = tp.floating.centroidal_momentum(robot)(run.q, run.qd)  # angular, then linear, about the centre of mass
mass = robot.parameters.values[::10].sum()
assert np.allclose(np.gradient(momentum[:, 5], run.time), -9.81 * mass, rtol=1e-4)
assert np.abs(momentum[:, :3] - momentum[0, :3]).max() < 1e-6
print(f"{mass:.2f} kg fall with {np.gradient(momentum[:, 5], run.time).mean() / mass:.3f} m/s²")

# %% [markdown]
# What can be identified: ten parameters of the base, and seven per joint, whatever the geometry.

# %%
print(tp.base_parameters(robot).count, "of", len(robot.parameters))
