# %% [markdown]
# # A fleet of arms
#
# Eight arms of one kind have the same links but different friction: fitted together, the one with a worn elbow stands out.

# %%
import numpy as np
import taupi as tp

robot = tp.load("elbow2r")
t, logs = np.arange(1200)[:, None] / 100, {}
for k in range(8):
    rng = np.random.default_rng(k)
    viscous, coulomb = 0.5 * np.exp(0.1 * rng.normal(size=2)), 0.4 * np.exp(0.1 * rng.normal(size=2))
    arm = robot.with_friction(viscous=viscous, coulomb=coulomb * [1, 3 if k == 5 else 1])
    w, phase = rng.uniform(1, 3, (3, 2)), rng.uniform(0, 6, (3, 2))
    angle = w * t[:, None] + phase
    q, qd, qdd = (np.sum(x, axis=1) for x in (np.sin(angle), w * np.cos(angle), -w * w * np.sin(angle)))
    tau = tp.inverse_dynamics(arm, terms=("viscous", "coulomb"))(q, qd, qdd) + 0.05 * rng.normal(size=q.shape)
    logs[f"arm-{k}"] = tp.Log(t[:, 0], q, tau=tau, names=robot.joint_names)

fleet = tp.identify_fleet(robot, logs, own=("viscous", "coulomb"), cutoff_hz=10)
assert ("arm-5", "elbow.coulomb") in [(each.arm, each.parameter) for each in fleet.outliers()]
tp.plot(fleet)

# %%
fleet

# %% [markdown]
# `tp.report(fleet, "fleet.html")` is the page for whoever maintains the arms; `taupi fleet` does the same from files:
# [Identify a fleet of arms](../howto/fleet.md).
