# %% [markdown]
# # Trust a fit, or not
#
# Least squares gives an answer whatever the log contains. Here is a log in degrees: the verdict says that it is wrong, and why.

# %%
import warnings

import numpy as np
import taupi as tp

arm = tp.load("elbow2r")
t = np.arange(4000)[:, None] / 200
w = np.array([1.0, 1.7])
q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
tau = tp.inverse_dynamics(arm)(q, qd, qdd) + 0.05 * np.random.default_rng(0).normal(size=q.shape)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the reasons are a warning, too
    fit = tp.identify(arm, tp.Log(t[:, 0], np.degrees(q), tau=tau), terms=("viscous",))
assert fit.verdict.level == "wrong" and "degrees" in fit.verdict.causes
print(*fit.verdict.reasons, sep="\n")

# %% [markdown]
# In radians the same log is good.

# %%
fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), terms=("viscous",))
print(fit.verdict.level)
tp.plot(fit)
