# %% [markdown]
# # Identify a robot from a log
#
# Noisy torques in; parameters with intervals, friction and a verdict out; then the torque of another motion, predicted.

# %%
import numpy as np
import taupi as tp

TERMS = ("viscous", "coulomb")
truth = tp.load("elbow2r").with_friction(viscous=[0.5, 0.3], coulomb=[0.4, 0.2])


def recorded(seed, width):
    rng = np.random.default_rng(seed)
    motion = tp.BSpline.random([0.0, 0.0], [width, width], count=20, duration=15.0, seed=seed)
    t = np.arange(0, 15, 0.005)
    q, qd, qdd = motion(t)
    tau = tp.inverse_dynamics(truth, terms=TERMS)(q, qd, qdd)
    return tp.Log(t, q, tau=tau + 0.1 * rng.normal(size=tau.shape), names=truth.joint_names)


fit = tp.identify(tp.load("elbow2r"), recorded(1, 1.8), terms=TERMS)
assert fit.verdict.level == "good"
fit

# %%
tp.plot(fit.validate(recorded(2, 1.3)))

# %%
tp.plot(fit)
