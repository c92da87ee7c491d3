"""Sensors in a loop: what they show over symbols, what they remember, and how large their noise is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import casadi as cs
import numpy as np

from taupi.dynamics.types import SX, ArrayLike, Vector
from taupi.errors import Argument, TaupiError, shown
from taupi.simulation.sensors import Sensors


def seen(
    sensors: Sensors,
    q: Vector,
    qd: Vector,
    noise: Vector,
    memory: Mapping[str, Vector],
    dt: float,
    joints: Sequence[int],
) -> tuple[Vector, Vector, dict[str, Vector]]:
    """Return what is seen of positions and velocities, and what is remembered of them, over SX."""
    n = q.numel()
    seen_q, next_memory = q + noise[:n], dict[str, Vector]()
    if sensors.resolution is not None:
        count = SX(for_each(sensors.resolution, joints))
        seen_q = count * cs.floor(seen_q / count + 0.5)
    seen_qd = qd + noise[n:]
    if sensors.velocity != "exact":
        seen_qd = (seen_q - memory["last_q"]) / dt
        next_memory["last_q"] = seen_q
    if sensors.velocity == "filter" and sensors.cutoff_hz is not None:
        keep = math.exp(-2 * math.pi * sensors.cutoff_hz * dt)
        seen_qd = keep * memory["last_qd"] + (1 - keep) * seen_qd
        next_memory["last_qd"] = seen_qd
    if "seen" in memory:
        queue = memory["seen"]
        next_memory["seen"] = cs.vertcat(queue[2 * n :], seen_q, seen_qd)
        seen_q, seen_qd = queue[:n], queue[n : 2 * n]
    return seen_q, seen_qd, next_memory


def memory_sizes(sensors: Sensors, n: int, delay: int) -> dict[str, int]:
    """Return the sizes of what is remembered of n positions from one control period to the next; `delay` is in periods."""
    sizes = {"last_q": n} if sensors.velocity != "exact" else {}
    sizes |= {"last_qd": n} if sensors.velocity == "filter" else {}
    return sizes | ({"seen": 2 * n * delay} if delay else {})


def first_memory(q: np.ndarray, qd: np.ndarray, dt: float, delay: int) -> dict[str, np.ndarray]:
    """Return what is remembered at the start: as if the joints had moved evenly before."""
    return {
        "last_q": q - dt * qd,
        "last_qd": qd,
        "seen": np.concatenate([np.concatenate([q, qd], axis=-1)] * max(delay, 1), axis=-1),
    }


def noise_deviations(sensors: Sensors, joints: Sequence[int], reference: np.ndarray | None) -> np.ndarray:
    """Return the standard deviations of the noise of positions, then of velocities.

    `joints` has the joint of each position, `reference` the desired positions, (N, n).
    """
    q = for_each(sensors.q_noise, joints)
    if sensors.snr_db is not None:
        if reference is None:
            raise TaupiError(
                Argument("snr_db"),
                " is relative to the reference, and there is none: give ",
                Argument("q_noise"),
                " instead.",
            )
        q = for_each(np.sqrt(np.mean(reference**2, axis=0)) * 10 ** (-sensors.snr_db / 20), joints)
    return np.concatenate([q, for_each(sensors.qd_noise, joints)])


def for_each(value: ArrayLike, joints: Sequence[int]) -> np.ndarray:
    """Return one number for each position from one for all, or one per joint; `joints` has the joint of each position."""
    n = max(joints) + 1
    try:
        return np.broadcast_to(np.asarray(value, dtype=float), (n,))[list(joints)].copy()
    except ValueError:
        raise TaupiError(
            f"A setting of the sensors is {shown(value)}, expected a number or {n}: one per joint."
        ) from None
