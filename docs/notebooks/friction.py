# %% [markdown]
# # Friction, joint by joint
#
# What a rigid model misses most: viscous and dry friction, a share of the load, a curve, found beside the links and drawn
# over the data.

# %%
import matplotlib.pyplot as plt
import numpy as np
import taupi as tp

robot = tp.load("elbow2r")
real = robot.with_friction(viscous=[2.0, 1.0], coulomb=[1.5, 0.8], load=[0.06, 0.04])
rng, t = np.random.default_rng(0), np.arange(6000)[:, None] / 200
w, a = np.array([[0.7, 1.1], [1.9, 2.4], [3.1, 2.9]]), np.array([[0.8, 0.6], [0.4, 0.5], [0.2, 0.3]])
angle = w * t[:, None]
q, qd, qdd = (a * np.sin(angle)).sum(1), (a * w * np.cos(angle)).sum(1), (-a * w * w * np.sin(angle)).sum(1)
tau = tp.inverse_dynamics(real, terms=("viscous", tp.terms.Coulomb(0.02), "load"))(q, qd, qdd)
log = tp.Log(t[:, 0], q, tau=tau + rng.normal(0, 0.3, q.shape), names=robot.joint_names)

fit = tp.identify(robot, log)
values = dict(zip(fit.names, fit.values, strict=True))
assert abs(values["shoulder.load"] - 0.06) < 0.005
rest = log.tau - tp.inverse_dynamics(robot)(q, qd, qdd)  # what the links do not explain
figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for j, name in enumerate(robot.joint_names):
    axes[j].plot(qd[::5, j], rest[::5, j], ".", ms=2, color="#9fb0c3", label="torque that the links do not explain")
    speed = np.linspace(-1, 1, 200) * np.abs(qd[:, j]).max()
    model = values[f"{name}.viscous"] * speed + values[f"{name}.coulomb"] * np.sign(speed)
    axes[j].plot(speed, model, color="#c2374b", label="viscous and dry friction identified")
    axes[j].set_xlabel(f"velocity of the {name}, rad/s")
    axes[j].set_ylabel("friction, N m")
    axes[j].grid(alpha=0.3)
axes[0].legend(fontsize=7)
axes[1].grid(alpha=0.3)

# %%
fit

# %% [markdown]
# Dots beyond the line are the share of the load, larger at the shoulder, which carries more. What each term means,
# and how each is found: [Choose the friction of a joint](../howto/friction.md).
