# %% [markdown]
# # What can be identified
#
# The torque of a PUMA 560 reveals thirty-six combinations of its sixty parameters, found without rounding,
# so no tolerance decides.

# %%
import matplotlib.pyplot as plt
import numpy as np
import taupi as tp

puma = tp.load("puma560")
base = tp.base_parameters(puma)
print(base.count, "of", len(puma.parameters))

figure, axes = plt.subplots(figsize=(8, 4.6), layout="constrained")
axes.imshow(base.B.astype(float) != 0, cmap="Blues", vmax=1.4, aspect="auto")
axes.set_xticks(range(0, 60, 10), [f"{name}: m ..." for name in puma.link_names], fontsize=7, ha="left")
axes.set_xlabel("standard parameters, ten per link")
axes.set_ylabel("base parameters")
axes.set_xticks(np.arange(60) - 0.5, minor=True)
axes.grid(which="minor", axis="x", color="0.9", lw=0.4)

# %%
base

# %% [markdown]
# The base regressor has full rank, and the condition of a motion says how well it determines the base parameters.

# %%
t = np.linspace(0, 10, 2000)[:, None]
w = np.array([0.7, 1.1, 1.3, 1.9, 2.3, 2.9])
q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)
W = base.regressor()(q, qd, qdd).reshape(-1, base.count)
singular = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
assert singular[-1] > 1e-6 * singular[0]
print(f"condition {singular[0] / singular[-1]:.0f}, columns of length one")
