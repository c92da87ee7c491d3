"""Values to try of every setting of `Preparation`, with a log on which each makes a difference.

For tests that hold two ways from a log to a fit against each other, setting by setting: whole, streamed, in parallel. A
setting that is added to `Preparation` needs a line in `SAMPLES`; `tests/unit/identification/test_settings_samples.py` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import sprung

import taupi as tp

TERMS = ("viscous", "coulomb", "offset")
RATE = 200.0


@dataclass(frozen=True)
class Sample:
    """One value of one setting; `beside` are others that it needs to have an effect.

    `log` names the log of `LOGS` on which it has one. `streams` is false for what needs the whole record at once: there,
    streaming is to be refused with a sentence.
    """

    value: Any
    beside: Mapping[str, Any] = field(default_factory=dict)
    log: str = "recorded"
    streams: bool = True


SAMPLES: dict[str, tuple[Sample, ...]] = {
    "cutoff_hz": (Sample(6.0),),
    "decimate": (Sample(2), Sample(6)),
    "order": (Sample(2), Sample(6)),
    "derivatives": (
        Sample("backward"),
        Sample("recorded"),
        Sample("spline", streams=False),
        Sample("quintic", streams=False),
        Sample("fourier", streams=False),
    ),
    "velocity": (Sample("position"), Sample("measured", log="disagreeing")),
    "trim": (Sample(False),),
    "short_gap": (Sample(0.2, log="gaps"),),
    "long_gaps": (Sample("interpolate", log="gaps"), Sample("longest", log="gaps")),
    "slow": (Sample(0.0), Sample((0.05, 0.2))),
    "threshold": (Sample(0.2), Sample((0.0, 0.4))),
    "leave_out": (Sample("sample", {"threshold": 0.2}),),
    "torque": (Sample("held"), Sample("held", log="elastic")),
    "encoder_delay": (
        Sample(0.002),
        Sample((0.001, -0.002)),
        Sample(0.002, log="elastic"),
        Sample((0.001, 0.003), log="elastic"),
    ),
    "known_torque": (
        Sample(("elbow = 3*sin(q1 + q2) - 0.5",)),
        Sample(("joint2 = 20*cos(q2)",), log="elastic"),
    ),
    "relative_gains": (Sample(0.1), Sample((0.1, -0.2))),
}

# What every sample is tried with, unless it is about that: choices by the data are not what is compared.
FIXED: dict[str, Any] = {"cutoff_hz": 12.0, "slow": 0.05}


def cases() -> list[tuple[str, Sample]]:
    """Return (setting, sample) of all, for `pytest.mark.parametrize`."""
    return [(name, sample) for name, samples in SAMPLES.items() for sample in samples]


def label(case: Any) -> str:
    """Return the name of a case, for `ids=`."""
    if isinstance(case, Sample):
        return f"{case.value}".replace(" ", "") + ("" if case.log == "recorded" else f"-{case.log}")
    return str(case)


def settings(name: str, sample: Sample) -> dict[str, Any]:
    """Return the keywords of a case: the sample's own, what it needs, and what is fixed for all."""
    return {**FIXED, **sample.beside, name: sample.value}


# Logs ------------------------------------------------------------------------------------------------------------------


@cache
def arm() -> tp.Robot:
    """An arm of two joints with friction."""
    return tp.load("elbow2r").with_friction(viscous=[2.0, 1.0], coulomb=[1.5, 0.8], offset=[0.3, -0.2])


@cache
def recorded() -> tp.Log:
    """Return a log with all that can be recorded: standstill, three periods of a motion, standstill; noise everywhere."""
    rng = np.random.default_rng(3)
    period, periods, still = 5.0, 3, 2.0
    t = np.arange(round((periods * period + 2 * still) * RATE)) / RATE
    w = 2 * np.pi / period * np.arange(1, 6)[:, None]
    a = rng.uniform(0.1, 0.4, (5, 2)) / np.arange(1, 6)[:, None]
    angle = w * np.clip(t - still, 0, periods * period)[:, None, None]
    moves = ((t > still) & (t < still + periods * period))[:, None]
    q = (a * (1 - np.cos(angle))).sum(axis=1)
    qd = moves * (a * w * np.sin(angle)).sum(axis=1)
    qdd = moves * (a * w * w * np.cos(angle)).sum(axis=1)
    tau = tp.inverse_dynamics(arm(), terms=("viscous", tp.terms.Coulomb(0.05), "offset"))(q, qd, qdd)
    noise = {"q": 2e-5, "qd": 2e-3, "qdd": 0.1, "tau": 0.2}
    exact = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
    signals = {k: v + noise[k] * rng.normal(size=v.shape) for k, v in exact.items()}
    return tp.Log(t, **signals, names=arm().joint_names)


@cache
def gaps() -> tp.Log:
    """Return it with two gaps in time, of 15 and of 30 samples: by default ten are interpolated, and more are refused."""
    log = recorded()
    keep = np.ones(len(log), dtype=bool)
    keep[1200:1215] = keep[2500:2530] = False
    return log.rows(keep)


@cache
def disagreeing() -> tp.Log:
    """Return it with a qd that is not the derivative of q, which is not used unless it is asked for."""
    log = recorded()
    return log.with_(qd=1.5 * log.qd)


@cache
def elastic() -> tp.Log:
    """Return a log of both sides of springs."""
    return sprung.log_of(tp.load("zollo2r"), position_noise=1e-6, torque_noise=0.1)


LOGS = {"recorded": recorded, "gaps": gaps, "disagreeing": disagreeing, "elastic": elastic}


def robot_of(sample: Sample) -> tp.Robot:
    """Return the robot of a sample's log."""
    return tp.load("zollo2r") if sample.log == "elastic" else arm()


def terms_of(sample: Sample) -> tuple[str, ...]:
    """Return the terms to fit."""
    return ("coulomb", "viscous") if sample.log == "elastic" else TERMS
