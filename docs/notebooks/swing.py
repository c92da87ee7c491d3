# %% [markdown]
# # Let an arm swing
#
# A double pendulum without a motor, simulated by compiled code; the energy audit says how far to trust the integrator.

# %%
import numpy as np
import taupi as tp

arm = tp.load("elbow2r")
run = tp.simulate(tp.RigidPlant(arm), duration=5.0, initial=[0.5, 0.4], rate=500)
run

# %%
tp.plot(run)

# %% [markdown]
# A thousand of them at once, from different starts:

# %%
starts = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
many = tp.simulate_many(tp.RigidPlant(arm), duration=1.0, initial=starts, rate=200)
print(type(many).__name__, len(starts))
