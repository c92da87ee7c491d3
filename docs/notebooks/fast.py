# %% [markdown]
# # Fast, and elsewhere
#
# One text of each algorithm, many ways to run it: compiled for the vector unit, in exact fractions, as C, Python, MATLAB or CUDA.

# %%
import time

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

# %%
print("\n".join(tp.gravity_torque(panda).c().splitlines()[:6]))

# %% [markdown]
# The picture of the arm, and of where its regressor is not zero above.

# %%
tp.plot(panda, [0, -0.5, 0, -2, 0, 1.6, 0.8])
