# %% [markdown]
# # A robot without torque sensors
#
# Commands and encoders are enough: a closed loop that is simulated from the commands alone must end up where the encoders did.
#
# ## Plan the commands
#
# About two postures in which gravity differs, slowly for friction, fast for the delay, with what they will show of parameters.

# %%
import numpy as np
import taupi as tp

arm = tp.load("elbow2r")
drive = tp.Drive(kp=(300,), kd=(10,))
limits = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 20.0, "effort": 200.0}
plan = tp.excite_commands(arm, drive, 8.0, limits=limits, rate_hz=100)
plan

# %% [markdown]
# ## Record
#
# In place of a robot: an arm with friction and rotors that its description does not state, and commands that arrive 8 ms late.

# %%
rotor, viscous, coulomb, delay = [0.3, 0.1], [3.0, 1.5], [2.0, 1.0], 0.008
mass, bias = tp.mass_matrix(arm).compile(), tp.bias_torque(arm).compile()
rng = np.random.default_rng(0)


def record(motion, rate=100, steps=20):
    t, h = np.arange(0, motion.duration, 1 / rate), 1 / rate / steps
    sent = motion(t).q
    q, qd, seen = sent[0], np.zeros(2), []
    for k in range(len(t)):
        seen.append(q)
        for s in range(steps):
            row = max(0, int(np.floor(k + s / steps - delay * rate)))
            friction = viscous * qd + coulomb * np.tanh(qd / 0.003)
            tau = 300 * (sent[row] - q) - 10 * qd
            qd = qd + h * np.linalg.solve(mass(q) + np.diag(rotor), tau - friction - bias(q, qd))
            q = q + h * qd
    seen = np.array(seen) + 3e-4 * rng.normal(size=(len(t), 2))
    return tp.Log(t, seen, qdes=sent, drive=drive, names=arm.joint_names)


log = record(plan.motion)
log

# %% [markdown]
# ## Identify
#
# The headline is an error in position, on parts of the log that were not fitted.

# %%
fit = tp.identify(arm, log)
assert abs(fit.delay - delay) < 1e-3
fit

# %% [markdown]
# What cannot be told apart has a name instead of a standard error:

# %%
print(*(alias.sentence for alias in fit.aliases), sep="\n")

# %% [markdown]
# ## Simulate another motion, from its commands alone

# %%
other = tp.excite_commands(arm, drive, 4.0, limits=limits, rate_hz=100, seed=1)
check = fit.validate(record(other.motion))
print(f"{1e3 * check.position_error.max():.2f} mrad")
assert check.position_error.max() < 1e-3

# %% [markdown]
# Measured positions beside simulated ones, and below how far they are apart:

# %%
import matplotlib.pyplot as plt

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 5), gridspec_kw={"height_ratios": [2, 1]})
above.plot(check.time, check.measured, lw=2, alpha=0.4, label=[f"{j}, encoder" for j in check.joints])
above.set_prop_cycle(None)
above.plot(check.time, check.predicted, lw=0.8, label=[f"{j}, simulated" for j in check.joints])
above.set(ylabel="position, rad")
above.legend(fontsize=8, ncols=2)
below.plot(check.time, 1e3 * check.residual, lw=0.8)
below.set(xlabel="time, s", ylabel="apart, mrad")
figure.tight_layout()
