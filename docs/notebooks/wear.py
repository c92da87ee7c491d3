# %% [markdown]
# # Friction that follows
#
# A model beside the robot learns how friction changes while it works, from one sample to the next.

# %%
import matplotlib.pyplot as plt
import numpy as np
import taupi as tp

robot = tp.load("elbow2r").with_friction(viscous=[0.5, 0.3], coulomb=[0.4, 0.2])
t = np.arange(0, 20, 0.005)
w, a = np.array([1.1, 1.9, 2.7]), np.array([[0.8, 0.3], [0.3, 0.5], [0.2, 0.3]])
q, qd, qdd = np.sin(np.outer(t, w)) @ a, (np.cos(np.outer(t, w)) * w) @ a, -(np.sin(np.outer(t, w)) * w**2) @ a
rng = np.random.default_rng(0)


def torque(arm):
    return tp.inverse_dynamics(arm, terms=("viscous", "coulomb"))(q, qd, qdd) + 0.02 * rng.normal(size=q.shape)


log = tp.Log(t, q, qd=qd, tau=torque(robot), names=robot.joint_names)
fit = tp.identify(robot, log, terms=("viscous", "coulomb"), cutoff_hz=10)
cold = robot.with_friction(viscous=[0.5, 0.3], coulomb=[0.7, 0.4])  # on a Monday morning
tracker, measured = fit.tracker(), torque(cold)
state, predicted = tracker.init(), []
for sample in zip(q, qd, qdd, measured):
    tau_hat, state = tracker.step(state, *sample, dt=0.005)
    predicted.append(tau_hat)
alone = fit.predict(tp.Log(t, q, qd, qdd, names=robot.joint_names))
errors = {"the fit alone": measured - alone, "with friction that follows": measured - np.array(predicted)}

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for name, error in errors.items():
    rms = np.sqrt(np.mean(error.reshape(-1, 100, 2) ** 2, axis=(1, 2)))  # of half a second each
    axes.plot(t[::100] + 0.25, rms, label=name)
assert np.median(rms) < 0.3 * np.sqrt(np.mean(errors["the fit alone"] ** 2))
axes.set_ylim(0)
axes.set_xlabel("time, s")
axes.set_ylabel("rms error of the torque, N m")
axes.legend(loc="upper right", bbox_to_anchor=(1, 0.9))
axes.grid(alpha=0.3)

# %% [markdown]
# What is learnt while a joint moves one way says little about the other way, hence the bumps. Tracker, observer and estimator
# are written as C, too: [Run a model beside the robot](../howto/online.md).
