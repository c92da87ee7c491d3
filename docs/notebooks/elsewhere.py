# %% [markdown]
# # Take it elsewhere
#
# Any program as source that does not need this package: C, NumPy, MATLAB and CUDA, a ROS 2 package, an FMU for Simulink.

# %%
import matplotlib.pyplot as plt
import taupi as tp

puma = tp.load("puma560")
programs = {
    "gravity_torque": tp.gravity_torque(puma),
    "mass_matrix": tp.mass_matrix(puma),
    "regressor": tp.regressor(puma),
}
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for k, language in enumerate(("c", "python", "matlab", "cuda")):
    lines = [len(getattr(program, language)().splitlines()) for program in programs.values()]
    axes.barh([j + 0.18 * (1.5 - k) for j in range(len(programs))], lines, height=0.16, label=language)
axes.set_yticks(range(len(programs)), programs)
axes.set_xlabel("lines of source for a PUMA 560")
axes.legend()
axes.grid(axis="x", alpha=0.3)

# %% [markdown]
# The emitted source gives what the program gives:

# %%
exec(programs["mass_matrix"].python(name="M"), module := {})
q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
assert abs(module["M"](q) - programs["mass_matrix"](q)).max() < 1e-12
print("\n".join(programs["mass_matrix"].c().splitlines()[:12]))

# %% [markdown]
# An adaptive controller as a package for ROS 2, with its own test:

# %%
law = tp.SlotineLi(puma, Lambda=5.0, K=20.0, Gamma_inv=1.0)
print(*sorted(str(path) for path in tp.bridges.emit_ros2(law, "puma_adaptive", name="puma_adaptive")), sep="\n")

# %% [markdown]
# [Emit source code](../howto/emit-source.md), [ROS 2](../inside/ros2.md), [FMUs](../inside/fmu.md).
