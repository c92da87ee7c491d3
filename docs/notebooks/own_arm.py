# %% [markdown]
# # An arm of your own
#
# From a Denavit-Hartenberg table to a robot: its summary, its picture, its torque over a whole batch of motions.

# %%
import numpy as np
import taupi as tp

arm = tp.Robot.from_dh(
    [{"d": 0.4, "alpha": np.pi / 2}, {"a": 0.5}, {"a": 0.35}],
    links=[
        {"m": 6.0, "com": (0, -0.2, 0), "inertia": np.diag([0.08, 0.02, 0.08])},
        {"m": 4.0, "com": (-0.25, 0, 0), "inertia": np.diag([0.01, 0.09, 0.09])},
        {"m": 2.0, "com": (-0.15, 0, 0), "inertia": np.diag([0.004, 0.03, 0.03])},
    ],
    name="mine",
)
arm

# %%
tp.plot(arm, [0.4, 0.7, -0.9])

# %% [markdown]
# A program takes one sample or many: here the torque of ten thousand, compiled at the first call.

# %%
inverse = tp.inverse_dynamics(arm)
q, qd, qdd = np.random.default_rng(0).normal(size=(3, 10_000, 3))
tau = inverse(q, qd, qdd)
assert np.allclose(tp.regressor(arm)(q, qd, qdd) @ arm.parameters.values, tau)
inverse
