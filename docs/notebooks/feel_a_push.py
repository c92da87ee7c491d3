# %% [markdown]
# # Feel a push without a sensor
#
# What the motors' torque does not explain comes from outside: a momentum observer says when and how hard somebody pushes.

# %%
import matplotlib.pyplot as plt
import numpy as np
import taupi as tp

robot = tp.load("elbow2r")
truth = robot.with_friction(viscous=[0.8, 0.5], coulomb=[1.0, 0.6])
terms = ("viscous", tp.terms.Coulomb(0.02))


def recorded(seed, duration, hand=None):
    rng = np.random.default_rng(seed)
    motion = tp.Sinusoids([0.5, -0.8], rng.uniform(0.2, 0.4, (2, 3)), [0.9, 1.7, 2.6], rng.uniform(0, 6, (2, 3)))
    plant = tp.RigidPlant(truth, terms=terms, disturbance=hand)
    run = tp.simulate(plant, tp.ComputedTorque(truth, terms=terms), motion, duration=duration, rate=500)
    qd, tau = (x + size * rng.normal(size=x.shape) for x, size in ((run.qd, 1e-3), (run.tau, 0.05)))
    return tp.Log(run.time, run.q, qd=qd, tau=tau, names=robot.joint_names)


fit = tp.identify(robot, recorded(1, 20.0), terms=("viscous", "coulomb"))
push = tp.jacobian(robot, frame="tip")([0.5, -0.8])[3:].T @ [0.0, 5.0, 0.0]  # 5 N at the tip
touched = recorded(2, 4.0, lambda t: -push if 2.0 <= t < 2.4 else 0 * push)
felt = tp.momentum_observer(fit).external_torque(touched)
during = np.abs(felt[(touched.time > 2.1) & (touched.time < 2.4)]).mean(axis=0)
assert np.allclose(during, np.abs(push), rtol=0.15)
print(f"felt {during.round(1)} N m, pushed {np.abs(push).round(1)} N m")

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for j, name in enumerate(robot.joint_names):
    axes.plot(touched.time, felt[:, j], color=f"C{j}", label=f"felt by the {name}")
    axes.plot([2.0, 2.4], 2 * [push[j]], color=f"C{j}", lw=1, ls="--")
axes.axvspan(2.0, 2.4, color="0.92")
axes.set_xlabel("time, s")
axes.set_ylabel("torque from outside, N m")
axes.legend()
axes.grid(alpha=0.3)

# %% [markdown]
# Grey marks the push of 5 N at the tip; the dashed line is its torque at the joints. Thresholds that keep false alarms
# rare, and where the push
# came from: [Feel a touch](../tutorials/feel-a-touch.md).
