# %% [markdown]
# # Weigh a tool
#
# An identified robot is a scale: from one log with a tool, its mass and its centre of mass, with intervals.

# %%
import numpy as np
import taupi as tp

arm = tp.load("elbow2r").with_friction(viscous=[0.5, 0.3], coulomb=[0.4, 0.2])
rng = np.random.default_rng(0)


def recorded(robot, seed):
    motion = tp.BSpline.random([0.0, 0.0], [1.5, 1.5], count=24, duration=20.0, seed=seed)
    t = np.arange(0, 20, 0.008)
    q, qd, qdd = motion(t)
    tau = tp.inverse_dynamics(robot, terms=("viscous", "coulomb"))(q, qd, qdd)
    return tp.Log(t, q, tau=tau + 0.05 * rng.normal(size=tau.shape), names=robot.joint_names)


empty = recorded(arm, 1)
fit = tp.identify(tp.load("elbow2r"), empty, terms=("viscous", "coulomb"))
loaded = recorded(arm.with_payload(1.2, (0.0, 0.0, 0.0)), 1)
load = tp.identify_payload(fit, loaded, gain_uncertainty=0)
assert abs(load.mass - 1.2) < 3 * load.stderr.mass
load

# %% [markdown]
# The torque that the arm would need without a tool, beside the measured torque: the difference is the tool.

# %%
tp.plot(fit.validate(loaded))
