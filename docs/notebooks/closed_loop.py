# %% [markdown]
# # A mechanism with a closed loop
#
# A four-bar linkage: one motor, three joints, and a pin that keeps two bars together.

# %%
import numpy as np
import taupi as tp

TEXT = """
[robot]
name = "fourbar"
gravity = [0, -9.81, 0]
[[joint]]
name = "crank"
axis = [0, 0, 1]
link = { name = "crank", m = 0.5, com = [0.15, 0, 0], inertia = [1e-4, 0, 0, 4e-3, 0, 4e-3] }
[[joint]]
name = "coupler"
parent = "crank"
origin = { xyz = [0.3, 0, 0] }
axis = [0, 0, 1]
link = { name = "coupler", m = 1.0, com = [0.35, 0, 0], inertia = [1e-4, 0, 0, 4e-2, 0, 4e-2] }
[[joint]]
name = "rocker"
parent = "base"
origin = { xyz = [0.6, 0, 0] }
axis = [0, 0, 1]
link = { name = "rocker", m = 0.8, com = [0.25, 0, 0], inertia = [1e-4, 0, 0, 2e-2, 0, 2e-2] }
[[frame]]
name = "pin"
link = "coupler"
origin = { xyz = [0.7, 0, 0] }
[[frame]]
name = "end"
link = "rocker"
origin = { xyz = [0.5, 0, 0] }
[[loop]]
frame_a = "pin"
frame_b = "end"
kind = "point"
"""
with open("fourbar.toml", "w") as file:
    file.write(TEXT)
robot = tp.load("fourbar.toml")
bar = tp.loops.ClosedLoops(robot, independent=("crank",))
t = np.linspace(0, 2 * np.pi, 300)
crank = 0.6 + t[:, None], np.ones((300, 1)), np.zeros((300, 1))  # once around
q, qd, qdd = bar.motion(*crank, guess=[0.6, 0.5, 1.6])
assert abs(tp.loops.loop_error(robot)(q)).max() < 1e-10
tp.plot(robot, q[:240:60], frames=["pin", "end"], names=False)

# %%
torque = bar.motor_regressor(*crank, guess=[0.6, 0.5, 1.6]) @ robot.parameters.values  # no force of the loop is in it
G = qd / qd[:, :1]
tree = np.einsum("ij,ij->i", G, tp.inverse_dynamics(robot)(q, qd, qdd))
assert np.allclose(torque[:, 0], tree)
print(f"the motor needs {torque.min():.2f} to {torque.max():.2f} N m for one turn")

# %% [markdown]
# From a log of such a mechanism `tp.identify` takes the unknown force of the pin out of the equations:
# [Work with closed loops](../howto/closed-loops.md).
