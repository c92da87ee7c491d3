"""Exciting motions with known truth for tests of identification: sums of sines, exact to the last derivative."""

import importlib
import time
from types import SimpleNamespace

import numpy as np

import taupi as tp
from taupi.signals.log import Filtering


def budgets_by_the_processor(monkeypatch):
    """Let budgets of `excite` count the processor's time: on a busy machine as much is done in them as on an idle one."""
    for name in ("cli.commands.excite", "excitation.design", "excitation.search.ipopt"):
        monkeypatch.setattr(
            importlib.import_module(f"taupi.{name}"), "time", SimpleNamespace(monotonic=time.process_time)
        )


def motion(n, seed, samples, rate, speed=1.0):
    """Return time, q, qd, qdd of sums of five sines per joint."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / rate
    w = speed * rng.uniform(0.5, 6.0, (5, n))
    a = rng.uniform(0.2, 0.7, (5, n)) / (w / speed)
    phase = rng.uniform(0, 2 * np.pi, (5, n))
    angle = w * t[:, None, None] + phase
    q, qd, qdd = a * np.sin(angle), a * w * np.cos(angle), -a * w * w * np.sin(angle)
    return t, q.sum(axis=1), qd.sum(axis=1), qdd.sum(axis=1)


def simulated(arm, terms, seed, noise=0.0, samples=3000, outliers=0.0, correlated=0.0, speed=1.0, noise_seed=None):
    """Return a log that counts as prepared: exact q, qd, qdd, and torque with noise of standard deviation `noise`."""
    t, q, qd, qdd = motion(arm.n, seed, samples, 100.0, speed)
    rng = np.random.default_rng(1000 + seed if noise_seed is None else 5000 + noise_seed)
    white = rng.normal(size=q.shape)
    if correlated:
        for k in range(1, samples):
            white[k] = correlated * white[k - 1] + np.sqrt(1 - correlated**2) * white[k]
    tau = tp.inverse_dynamics(arm, terms=terms)(q, qd, qdd) + noise * white
    hit = rng.uniform(size=tau.shape) < outliers
    tau = tau + hit * rng.uniform(20, 60, tau.shape)
    exact = Filtering("none", None, 4, "recorded")
    return tp.Log(t, q, qd=qd, qdd=qdd, tau=tau, names=arm.joint_names, filtering=exact)


def fourier(arm, terms, seed, samples, rate, noise=0.0):
    """Return a log as a robot records it: q and a noisy torque."""
    t, q, qd, qdd = motion(arm.n, seed, samples, rate)
    smooth = tuple(tp.terms.Coulomb(0.05) if name == "coulomb" else name for name in terms)
    tau = tp.inverse_dynamics(arm, terms=smooth)(q, qd, qdd)
    rng = np.random.default_rng(seed + 50)
    return tp.Log(t, q, tau=tau + noise * rng.normal(size=tau.shape), names=arm.joint_names)
