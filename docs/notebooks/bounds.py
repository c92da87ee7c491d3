# %% [markdown]
# # Bounds that certainly hold
#
# Proofs of stability begin with constants such as the least and the largest eigenvalue of the mass matrix: here they are, rounding included.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
import taupi as tp

arm = tp.load("lecture2r")
limits = tp.bounds(arm, (-math.pi / 2, math.pi / 2))
M = tp.mass_matrix(arm.bind())
q = np.random.default_rng(0).uniform(-math.pi / 2, math.pi / 2, (3000, 2))
eigenvalues = np.linalg.eigvalsh(M(q))
assert (eigenvalues >= limits["mu1"].value).all() and (eigenvalues <= limits["mu2"].value).all()

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(q[:, 1], eigenvalues, ".", ms=2, color="#1f6fb4")
for name in ("mu1", "mu2"):
    axes.axhline(limits[name].value, color="#c2374b", lw=1)
axes.set_yscale("log")
axes.set_xlabel("second joint, rad")
axes.set_ylabel("eigenvalues of M, kg m²")
axes.grid(alpha=0.3)

# %%
print(limits)
