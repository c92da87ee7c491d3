# %% [markdown]
# # Joints with springs
#
# A harmonic drive yields, so motors and links move apart. The arm of Zollo et al., with both sides simulated.

# %%
import numpy as np
import taupi as tp

arm = tp.load("zollo2r")
law = tp.laws.ElasticPDGravity(arm, Kp=[3000.0, 1800.0], Kd=[150.0, 60.0])
motion = tp.BSpline.triangles(centre=[-np.pi / 2, 0.0], peak=1.9, duration=3.0, seed=100)
run = tp.simulate(tp.ElasticPlant(arm), law, motion, 3.0, rate=1000, substeps=10, control="continuous")
print(f"links and motors apart by up to {np.abs(run.theta - run.q).max():.3f} rad")
run

# %%
tp.plot(run)
