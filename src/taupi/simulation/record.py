"""The verb `record`: a run as encoders and torque sensors would have logged it, unseen by any controller."""

from __future__ import annotations

from typing import Any

import numpy as np

from taupi.errors import TaupiError, shown, unknown
from taupi.signals.log import Log
from taupi.simulation.run import Run
from taupi.simulation.sensors import each

TORQUES = ("sampled", "middle")


def record(
    run: Run,
    resolution: Any = None,
    motor_resolution: Any = None,
    snr_db: float | None = None,
    torque_snr_db: float | None = None,
    torque: str = "sampled",
    seed: int = 0,
) -> Log:
    """Return the log of a run with encoders that count and noise: positions and torque, round((q + e) / r) r.

    `resolution` r (rad or m, one or one per joint) is that of the links' encoders, `motor_resolution` that of the motors', by
    default the same. `snr_db` is the noise of positions, `torque_snr_db` that of the torque, white, in decibels below the rms of
    each signal: std = rms 10^(-snr_db / 20). `torque`: "sampled" logs what is held from a row on; "middle" the mean of what is
    held before and after it, which is the torque that moved the arm about that row (Zollo et al. 2014, spec B7). The log has q
    and tau; of elastic joints theta, too, and the torque also as tau_m.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("zollo2r")
    >>> run = tp.simulate(tp.ElasticPlant(arm), duration=0.01, initial=[0.3, 0.2])
    >>> log = tp.record(run, resolution=2 * np.pi / 1250000)
    >>> list(log.signals), bool(abs(log.theta - run.theta).max() < 2.6e-6)
    (['q', 'tau', 'theta', 'tau_m'], True)
    """
    if not isinstance(run, Run):
        raise TaupiError(f"run is {type(run).__name__}, expected what taupi.simulate returned.")
    if torque not in TORQUES:
        raise unknown("torque", torque, TORQUES)
    rng, joints, theta = np.random.default_rng(seed), range(run.n), run.theta
    q = _counted(_noisy(run.q, snr_db, "snr_db", rng), resolution, joints, "resolution")
    more: dict[str, Any] = {}  # theta, and the torque
    if theta is not None:
        own = resolution if motor_resolution is None else motor_resolution
        more["theta"] = _counted(_noisy(theta, snr_db, "snr_db", rng), own, joints, "motor_resolution")
    elif motor_resolution is not None:
        raise TaupiError("motor_resolution is given, but the run has no motors: simulate a taupi.ElasticPlant.")
    u = run.tau if torque == "sampled" else _middle(run)
    more["tau"] = _noisy(u, torque_snr_db, "torque_snr_db", rng)
    more |= {} if theta is None else {"tau_m": more["tau"]}
    told = ", ".join(_told(resolution, motor_resolution, snr_db, torque_snr_db, torque))
    words: dict[str, Any] = {"names": run.names, "units": run.units, "notes": (f"recorded: {told}", *run.notes)}
    return Log(run.time, q, **more, **words)


def _noisy(values: np.ndarray, snr_db: Any, name: str, rng: np.random.Generator) -> np.ndarray:
    drawn = rng.standard_normal(values.shape)  # drawn in any case: the same seed is the same noise of what follows
    if snr_db is None:
        return values
    if isinstance(snr_db, bool) or not isinstance(snr_db, int | float | np.number) or not np.isfinite(snr_db):
        raise TaupiError(f"{name} is {shown(snr_db)}, expected decibels, a finite number.")
    rms = np.sqrt(np.mean(values**2, axis=0))
    noisy: np.ndarray = values + rms * 10 ** (-float(snr_db) / 20) * drawn
    return noisy


def _counted(values: np.ndarray, resolution: Any, joints: range, name: str) -> np.ndarray:
    if resolution is None:
        return values
    step = each(resolution, joints)
    if not (np.isfinite(step).all() and (step > 0).all()):
        raise TaupiError(f"{name} is {shown(resolution)}, expected numbers above 0 (rad or m).")
    counted: np.ndarray = step * np.round(values / step)
    return counted


def _middle(run: Run) -> np.ndarray:
    told, periods = run.provenance, len(run) - 1
    whole = periods < 1 or round(float(run.time[-1] - run.time[0]) * told.get("rate", 0.0)) == periods
    if told.get("control") != "sampled" or not whole:
        raise TaupiError("torque='middle' is for control='sampled' with every=1: the torque is held between rows.")
    return (run.tau + np.concatenate([run.tau[:1], run.tau[:-1]])) / 2


def _told(resolution: Any, motor: Any, snr_db: Any, torque_snr_db: Any, torque: str) -> list[str]:
    told = [] if resolution is None else [f"encoder steps {shown(resolution)}"]
    told += [] if motor is None else [f"of motors {shown(motor)}"]
    told += [] if snr_db is None else [f"positions with noise at {snr_db:g} dB"]
    told += [] if torque_snr_db is None else [f"torque with noise at {torque_snr_db:g} dB"]
    return [*told, f"torque {torque}"]
