# %% [markdown]
# # Formulas of an arm
#
# The dynamics of a planar arm, written out: mass matrix, gravity, and the regressor that makes the torque linear in
# the parameters.

# %%
import taupi as tp

arm = tp.load("lecture2r")  # its lengths and masses are symbols
tp.plot(arm.bind(L1=1.0, L2=0.8), [0.5, 0.9])

# %%
tp.mass_matrix(arm).explicit()

# %% [markdown]
# Columns of the regressor that vanish for every motion are left out; each of the others has the name of its parameter.

# %%
Y = tp.regressor(arm)
print(Y.reduced().parameters.names)
Y.reduced().explicit()

# %% [markdown]
# The same as LaTeX for a paper, and as C for a controller.

# %%
print(tp.gravity_torque(arm).explicit().latex())
print(tp.gravity_torque(arm.bind(L1=1.0, L2=0.8, m1=2.0, m2=1.0)).c().splitlines()[0])
