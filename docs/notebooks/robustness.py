# %% [markdown]
# # How robust is a law?
#
# No arm equals its model: 128 arms whose links differ by a third, under a law that trusts the model and one that learns.

# %%
import matplotlib.pyplot as plt
import numpy as np
import taupi as tp

arm = tp.load("elbow2r")
motion = tp.Sinusoids([0.2, -0.3], [[0.5], [0.4]], [[2.0], [3.0]])
laws = [tp.ComputedTorque(arm, Kp=100.0, Kd=20.0), tp.SlotineLi(arm)]
study = tp.ensembles.robustness(arm, laws, motion, duration=4.0, rate=500, roll_outs=128, spread=0.3, within=0.02)
assert study.share("computed_torque") < study.share("slotine_li")

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for name in study.summaries:
    errors = study.errors(name)
    axes.semilogy(100 * np.arange(1, len(errors) + 1) / len(errors), errors, label=name)
axes.axhline(study.within, color="#c2374b", lw=1, ls="--", label="counts as converged")
axes.set_xlabel("share of the arms with a smaller error, %")
axes.set_ylabel("late rms error, rad")
axes.legend()
axes.grid(alpha=0.3)

# %%
study

# %% [markdown]
# On a GPU, a hundred thousand arms take seconds: [Ask how robust a control law is](../howto/robustness.md).
