# %% [markdown]
# # Fast
#
# One source for each algorithm, compiled for the vector unit: a regressor of a Panda takes microseconds.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import taupi as tp

panda = tp.load("panda")
Y = tp.regressor(panda)
q, qd, qdd = np.random.default_rng(0).normal(size=(3, 20_000, 7))
Y(q[:1], qd[:1], qdd[:1])  # compiles
start = time.perf_counter()
W = Y(q, qd, qdd)
print(f"{len(q)} regressors of {W.shape[1]} x {W.shape[2]} in {1000 * (time.perf_counter() - start):.0f} ms")
Y

# %% [markdown]
# The larger the batch, the less a sample costs, until writing the result to memory dominates:

# %%
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for program in (tp.inverse_dynamics(panda), Y):
    sizes, costs = 10 ** np.arange(5), []
    for size in sizes:
        few = q[:size], qd[:size], qdd[:size]
        program(*few)
        spent = []
        for _ in range(5):
            start = time.perf_counter()
            program(*few)
            spent.append(time.perf_counter() - start)
        costs.append(1e6 * min(spent) / size)
    axes.loglog(sizes, costs, "o-", label=program.name)
axes.set_xlabel("samples per call")
axes.set_ylabel("µs per sample")
axes.legend()
axes.grid(alpha=0.3)

# %% [markdown]
# Against other libraries: [Benchmarks](../benchmarks.md). On a GPU, and in parallel: [Run a program fast](../howto/run-fast.md).
