# %% [markdown]
# # More logs than fit into memory
#
# A log is compressed to a small piece where it was recorded; the fit of all pieces is the fit of all logs,
# and it gets more precise the more there are.

# %%
import matplotlib.pyplot as plt
import numpy as np
import taupi as tp

robot, terms = tp.load("elbow2r"), ("viscous", "coulomb")
real = robot.with_friction(viscous=[0.5, 0.3], coulomb=[0.4, 0.2])


def recorded(seed):
    t = np.arange(0, 20, 0.01)
    q, qd, qdd = tp.BSpline.random([0.0, 0.0], [1.5, 1.5], count=24, duration=20.0, seed=seed)(t)
    tau = tp.inverse_dynamics(real, terms=terms)(q, qd, qdd)
    return tp.Log(t, q, tau=tau + 0.1 * np.random.default_rng(seed).normal(size=q.shape), names=robot.joint_names)


first = tp.identify(robot, recorded(0), terms=terms, cutoff_hz=10)
for k in range(16):  # on the robots, each when it has time
    tp.compress_log(first, recorded(k), f"{k:02}.piece")
fits = {n: tp.identify_pieces(first, [f"{k:02}.piece" for k in range(n)]) for n in (1, 2, 4, 8, 16)}

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.semilogx(list(fits), [100 * np.median(fit.stderr / np.abs(fit.values)) for fit in fits.values()], "o-")
axes.set_xticks(list(fits), map(str, fits))
axes.minorticks_off()
axes.set_xlabel("logs of 20 s")
axes.set_ylabel("standard error, % (median)")
axes.set_ylim(0)
axes.grid(alpha=0.3)

# %%
import pathlib

size = pathlib.Path("00.piece").stat().st_size
print(f"a piece of {size / 1000:.0f} kB for a log of {len(recorded(0))} samples, as large for a log of an hour")
fits[16]

# %% [markdown]
# Logs by pattern and address, on many machines: [Identify from many logs](../howto/cluster.md).
