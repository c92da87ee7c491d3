"""Search what Zollo et al. leave open for a setting that reaches their Table 2: `python tools/zollo_table_2.py [MOTIONS]`.

The text says that noise is added to positions, velocities and accelerations, and that SN is a ratio. It does not say where noise
enters, what it is relative to, whether SN counts powers or amplitudes, how many samples are used, and under what motion and
gains. Every combination is tried on a number of motions. Each row begins with the number of levels at which the printed error is
within the range of the motions, and ends with the median of the error at each level, as a factor of the printed one.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import taupi as tp
from taupi.papers.zollo2014 import pipelines as pipe
from taupi.papers.zollo2014 import planar as planar_study
from taupi.papers.zollo2014 import singles
from taupi.papers.zollo2014.published import TABLE_2
from taupi.signals.log import Log

PLACES = (
    "on all, after filter and differences",
    "on all, before the filter",
    "on positions, before the filter",
    "on positions, no filter",
)
LOOP = "in the loop, on positions"
REFERENCES = {
    "rms": lambda x: np.sqrt(np.mean(x**2, axis=0)),
    "standard deviation": lambda x: x.std(axis=0),
    "1 rad, 1 rad/s, 1 rad/s^2": lambda x: np.ones(x.shape[1]),
}
RATIOS = {"20 dB a decade": 20.0, "10 dB a decade": 10.0}
DECIMATIONS = (1, 20)
# A hanging arm that is hardly moved, and motors as stiff as the integrator bears, beside the motions that are drawn.
FAMILIES = ("drawn", "small, hanging", "gains x 10")
SIGNALS = ("q", "qd", "qdd", "theta", "thetad", "thetadd")


def runs(bench: pipe.Bench, family: str, count: int) -> Iterator[Any]:
    """Yield `count` closed loops of a family of motions."""
    plant = tp.ElasticPlant(bench.robot, terms=(bench.curve,), smoothing=0.0)
    for seed in range(count):
        motion, gains = singles.drawn(seed)
        if family == "small, hanging":
            motion = tp.BSpline.random((-math.pi / 2, 0.0), (0.3, 0.3), 24, planar_study.DURATION, seed)
        elif family == "gains x 10":
            gains = (10 * gains[0], 3 * gains[1])
        yield planar_study.continuous(plant, tp.laws.ElasticPDGravity(bench.robot, *gains), motion)


def noisy(log: Log, reference: str, scale: float, rng: np.random.Generator, names: tuple[str, ...]) -> Log:
    """Return a log with white noise on some signals: `scale` times what it is relative to."""
    changed = {}
    for name in names:
        x = log.need(name)[0]
        changed[name] = x + scale * REFERENCES[reference](x) * rng.standard_normal(x.shape)
    return log.with_(**changed)


def filtered(log: Log) -> Log:
    """Return a log with every signal through the document's filter."""
    from scipy import signal

    sections = signal.butter(5, 20, fs=planar_study.RATE, output="sos")
    return log.with_(**{name: signal.sosfiltfilt(sections, log.need(name)[0], axis=0) for name in (*SIGNALS, "tau")})


def prepared(run: Any, place: str, reference: str, scale: float, rng: np.random.Generator) -> Log:
    """Return the noisy log of a run from which parameters are estimated."""
    counted = tp.record(run, pipe.COUNT)
    if place == PLACES[0]:
        return noisy(pipe.LITERAL.prepared(counted), reference, scale, rng, SIGNALS)
    if place == PLACES[1]:
        every = run.to_log()
        return filtered(noisy(every, reference, scale, rng, SIGNALS)).slice(
            pipe.ENDS, planar_study.DURATION - pipe.ENDS
        )
    pipeline = pipe.LITERAL if place == PLACES[2] else pipe.Pipeline({"filtering": "none"}, gradient=True)
    return pipeline.prepared(noisy(counted, reference, scale, rng, ("q", "theta")))


def searched(count: int) -> list[tuple[Any, ...]]:
    """Return a row for each setting: how many levels are reached, and the factor from the printed error at each."""
    bench = planar_study.Planar().bench
    rows = []
    for family in FAMILIES:
        several = list(runs(bench, family, count))
        for place, reference, (ratio, decade) in itertools.product(PLACES, REFERENCES, RATIOS.items()):
            for many in DECIMATIONS:
                errors: dict[int, list[float]] = {}
                for level in TABLE_2:
                    errors[level] = []
                    for seed, run in enumerate(several):
                        ready = prepared(run, place, reference, 10 ** (-level / decade), np.random.default_rng(seed))
                        errors[level].append(error(bench, singles.literal(bench, thinned(ready, many))))
                rows.append(scored(errors, family, place, reference, ratio, many))
                print(*rows[-1], sep=", ", flush=True)
    for velocity in ("exact", "difference"):
        errors = {level: [in_the_loop(bench, seed, level, velocity) for seed in range(count)] for level in TABLE_2}
        rows.append(scored(errors, "drawn", f"{LOOP}, velocity {velocity}", "rms", "20 dB a decade", 1))
        print(*rows[-1], sep=", ", flush=True)
    return rows


def in_the_loop(bench: pipe.Bench, seed: int, level: int, velocity: str) -> float:
    """Return the error of a motion whose controller, at 1 kHz, sees the noise too."""
    motion, _ = singles.drawn(seed)
    plant = tp.ElasticPlant(bench.robot, terms=(bench.curve,), smoothing=0.0)
    law = tp.laws.ElasticPDGravity(bench.robot, *planar_study.HELD_GAINS)
    sensors = tp.Sensors(resolution=pipe.COUNT, snr_db=float(level), velocity=velocity)
    rate, steps = planar_study.RATE, planar_study.STEPS
    try:
        run = tp.simulate(
            plant, law, motion, planar_study.DURATION, rate=rate, substeps=steps, sensors=sensors, seed=seed
        )
    except tp.TaupiError:  # the loop is not stable with that noise
        return math.nan
    ready = pipe.LITERAL.prepared(tp.record(run, pipe.COUNT, snr_db=level, torque="middle", seed=seed))
    return error(bench, singles.literal(bench, ready))


def error(bench: pipe.Bench, values: np.ndarray) -> float:
    """Return the normalised mean error with signs."""
    return tp.results.normalised_mean_error(values, bench.truth, signed=True)


def scored(errors: dict[int, list[float]], *setting: Any) -> tuple[Any, ...]:
    """Return a row: how many levels lie among single motions, the setting, and the median as a factor of the print."""
    factors = [float(np.nanmedian(errors[level])) / float(text) for level, text in TABLE_2.items()]
    met = sum(np.nanmin(errors[k]) <= float(text) <= np.nanmax(errors[k]) for k, text in TABLE_2.items())
    return (met, *setting, *(round(f, 5) for f in factors))


def thinned(log: Log, every: int) -> Log:
    """Return every so many samples of a log."""
    signals: dict[str, Any] = {n: log.need(n)[0][::every] for n in (*SIGNALS, "tau")}
    return Log(log.time[::every], **signals, names=log.names)


if __name__ == "__main__":
    found = searched(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    found.sort(key=lambda row: sum(abs(math.log10(f)) for f in row[-len(TABLE_2) :]))
    print("nearest:")
    for row in found[:8]:
        print(*row, sep=", ")
