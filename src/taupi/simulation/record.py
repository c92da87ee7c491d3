"""The verb `record`: a run as encoders and torque sensors would have logged it, whatever the controller saw."""

from __future__ import annotations

from typing import Any

import numpy as np

from taupi.checks import finite, one_of, or_none
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError, shown
from taupi.signals.log import Log
from taupi.simulation.run import Run
from taupi.simulation.sensors import for_each

TORQUES = ("sampled", "middle")


def record(
    run: Run,
    resolution: ArrayLike | None = None,
    motor_resolution: ArrayLike | None = None,
    snr_db: float | None = None,
    torque_snr_db: float | None = None,
    torque: str = "sampled",
    seed: int = 0,
    qd_snr_db: float | None = None,
    qdd_snr_db: float | None = None,
) -> Log:
    """Return the log of a run with encoder steps and noise: positions round((q + e) / r) r, and the torque.

    White noise has the standard deviation rms 10^(-snr_db / 20) of its signal; the study adds it to positions, velocities and
    accelerations (Zollo et al. 2014, Table 2).

    Args:
        run: The run to record.
        resolution: Step r of the links' encoders, rad or m, one or one per joint; by default none.
        motor_resolution: Step of the motors' encoders, by default the same.
        snr_db: Noise of positions, decibels below their rms; by default none.
        torque_snr_db: Noise of the torque, likewise.
        torque: "sampled" (the default) logs what is held from a row on; "middle" the mean of what is held before and after it,
            which is the torque that moved the arm about that row, as an identification like that of Zollo et al. (2014, section
            6) needs it.
        seed: Seed of the noise, by default 0.
        qd_snr_db: Noise of velocities as tachometers would measure them, of joints and motors, dB; infinity means no noise. By
            default the log has none.
        qdd_snr_db: Noise of accelerations as accelerometers would measure them, likewise.

    Returns:
        A log of q and tau; with elastic joints also theta, and the torque as tau_m.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("zollo2r")
    >>> run = tp.simulate(tp.ElasticPlant(arm), duration=0.01, initial=[0.3, 0.2])
    >>> log = tp.record(run, resolution=2 * np.pi / 1250000)
    >>> list(log.signals), bool(abs(log.theta - run.theta).max() < 2.6e-6)
    (['q', 'tau', 'theta', 'tau_m'], True)
    """
    if not isinstance(run, Run):
        raise TaupiError("{run} is {got}, expected what taupi.simulate returned.", got=type(run).__name__)
    one_of(TORQUES)("torque", torque)
    snr_db, torque_snr_db = or_none(finite)("snr_db", snr_db), or_none(finite)("torque_snr_db", torque_snr_db)
    rng, theta = np.random.default_rng(seed), run.theta
    signals: dict[str, Any] = {"q": _counted(_noisy(run.q, snr_db, rng), resolution, "resolution")}
    if theta is not None:
        own = resolution if motor_resolution is None else motor_resolution
        signals["theta"] = _counted(_noisy(theta, snr_db, rng), own, "motor_resolution")
    elif motor_resolution is not None:
        raise TaupiError("{motor_resolution} is given, but the run has no motors: simulate a taupi.ElasticPlant.")
    signals["tau"] = _noisy(run.tau if torque == "sampled" else _middle(run), torque_snr_db, rng)
    if theta is not None:
        signals["tau_m"] = signals["tau"]
    for name, level in (("qd", qd_snr_db), ("qdd", qdd_snr_db)):
        if level is not None:
            signals |= _rates(run, name, level, rng)
    note = _note(resolution, motor_resolution, snr_db, torque_snr_db, torque, qd_snr_db, qdd_snr_db)
    return Log(run.time, **signals, names=run.names, units=run.units, notes=(note, *run.notes))


def _rates(run: Run, name: str, snr_db: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return qd and thetad, or qdd and thetadd, with noise; those that the run has."""
    level = snr_db if snr_db == np.inf else finite(f"{name}_snr_db", snr_db)
    exact = run.to_log()
    names = [n for n in (name, name.replace("q", "theta")) if n in exact.signals]
    return {n: _noisy(exact.need(n)[0], level, rng) for n in names}


def _noisy(values: np.ndarray, snr_db: float | None, rng: np.random.Generator) -> np.ndarray:
    draws = rng.standard_normal(values.shape)  # drawn in any case: a seed gives what follows the same noise
    if snr_db is None:
        return values
    rms = np.sqrt(np.mean(values**2, axis=0))
    noisy: np.ndarray = values + rms * 10 ** (-snr_db / 20) * draws
    return noisy


def _counted(values: np.ndarray, resolution: ArrayLike | None, name: str) -> np.ndarray:
    if resolution is None:
        return values
    step = for_each(resolution, range(values.shape[1]))
    if not (np.isfinite(step).all() and (step > 0).all()):
        raise TaupiError(
            "{argument} is {got!r}, expected numbers above 0 (rad or m).", argument=Argument(name), got=resolution
        )
    counted: np.ndarray = step * np.round(values / step)
    return counted


def _middle(run: Run) -> np.ndarray:
    """Return the mean of the torques that are held before and after each row."""
    origin, periods = run.provenance, len(run) - 1
    every_period = periods < 1 or round(float(run.time[-1] - run.time[0]) * origin.get("rate", 0.0)) == periods
    if origin.get("control") != "sampled" or not every_period:
        raise TaupiError(
            "{torque='middle'} is for {control='sampled'} with {every=1}: the torque is held between rows."
        )
    return (run.tau + np.concatenate([run.tau[:1], run.tau[:-1]])) / 2


def _note(
    resolution: ArrayLike | None,
    motor_resolution: ArrayLike | None,
    snr_db: float | None,
    torque_snr_db: float | None,
    torque: str,
    qd_snr_db: float | None,
    qdd_snr_db: float | None,
) -> str:
    """Return the log's note on how it was recorded."""
    parts = [] if resolution is None else [f"encoder steps {shown(resolution)}"]
    parts += [] if motor_resolution is None else [f"of motors {shown(motor_resolution)}"]
    parts += [] if snr_db is None else [f"positions with noise at {snr_db:g} dB"]
    parts += [] if qd_snr_db is None else [f"velocities with noise at {qd_snr_db:g} dB"]
    parts += [] if qdd_snr_db is None else [f"accelerations with noise at {qdd_snr_db:g} dB"]
    parts += [] if torque_snr_db is None else [f"torque with noise at {torque_snr_db:g} dB"]
    return f"recorded: {', '.join([*parts, f'torque {torque}'])}"
