"""What commands, positions and torques of a log say about each other: torques that a law computed, joints that do not follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from taupi.errors import Argument, NotIdentifiedError, TaupiError
from taupi.signals.checking import rules
from taupi.signals.log import Log

# A torque of which the law of the drive leaves this share of the variance, or less, was computed by it. The best of our torque
# sensors and currents, in motion, leave thirty times as much.
_UNEXPLAINED = 1e-3
# A torque that is exactly at its largest value in a larger share of the rows is limited to it.
_AT_LIMIT = 0.01
# Rows that are examined, evenly spread.
_ROWS = 20_000
# A joint follows the command of another if that explains this many times more of its motion than its own does.
_SWAPPED = 4.0
# How alike a joint's motion is to the command that it follows, at least (a correlation).
_FOLLOWS = 0.7
# A joint that moves by a smaller share of what its commands ask for is not driven by them. In degrees, they ask for 57 times as
# much as it moves.
_UNMOVED = 0.01


@dataclass(frozen=True, slots=True)
class TorqueLaw:
    """The law tau = kp (qdes - q) - kd qd + tau_ff that a torque obeys, one number per joint; NaN where a joint has no torque.

    Attributes:
        kp: N m/rad.
        kd: N m s/rad.
        kd_acts_on: "velocity" or "error", as in `taupi.Drive`.
        explained: The least share of the variance of a joint's torque that it explains (R^2).
        torque_limit: N m, infinite where torques were not clipped.
    """

    kp: tuple[float, ...]
    kd: tuple[float, ...]
    kd_acts_on: str
    explained: float
    torque_limit: tuple[float, ...] = ()

    @property
    def table(self) -> dict[str, object]:
        """The [drive] table that states it, gains with three digits."""

        def digits(values: tuple[float, ...]) -> float | list[float]:
            rounded = [float(f"{v:.3g}") if np.isfinite(v) else 0.0 for v in values]
            return rounded[0] if len(set(rounded)) == 1 else rounded

        kd = {"kd": digits(self.kd)} if any(v > 0 for v in self.kd) else {}
        on = {"kd_acts_on": self.kd_acts_on} if self.kd_acts_on == "error" else {}
        clipped = (
            {"torque_limit": digits(self.torque_limit)}
            if self.torque_limit and np.isfinite(self.torque_limit).all()
            else {}
        )
        return {"law": "pd", "kp": digits(self.kp), **kd, **on, **clipped}


def torque_law(log: Log) -> TorqueLaw | None:
    """Return the law of a drive that a log's torques obey, if each of them does to R^2 > 0.999; None if they were measured.

    >>> t = np.arange(500)[:, None] / 100
    >>> q, qdes = np.sin(t - 0.1), np.sin(t) + 0.1 * np.sin(3 * t)
    >>> log = Log(t[:, 0], q, tau=80 * (qdes - q) - 2.5 * np.cos(t - 0.1), qdes=qdes)
    >>> torque_law(log).table
    {'law': 'pd', 'kp': 80.0, 'kd': 2.5}
    >>> torque_law(log.with_(tau=log.tau + np.sin(5 * t)))
    """
    if log.tau is None or log.qdes is None or len(log) < 8:
        return None
    laws = [law for law in (_law(log, acts_on) for acts_on in ("velocity", "error")) if law is not None]
    return max(laws, key=lambda law: law.explained, default=None)


def _law(log: Log, kd_acts_on: str) -> TorqueLaw | None:
    """Return the law of one kind, if it explains the torque of every joint."""
    assert log.tau is not None and log.qdes is not None
    wanted = np.zeros_like(log.q)
    if kd_acts_on == "error":
        wanted = _slope(log.time, log.qdes) if log.qd_des is None else log.qd_des
    qd = _slope(log.time, log.q) if log.qd is None else log.qd
    tau = log.tau if log.tau_ff is None else log.tau - log.tau_ff
    on = np.ones(log.q.shape, bool) if log.enabled is None else log.enabled > 0.5
    (kp, kd, explained), limit = np.full((3, log.n), np.nan), np.full(log.n, np.inf)
    kept = slice(None, None, len(log) // _ROWS + 1)
    for j in range(log.n):
        columns = np.stack([log.qdes[:, j] - log.q[:, j], wanted[:, j] - qd[:, j], tau[:, j], log.tau[:, j]], axis=1)
        columns = columns[on[:, j] & np.isfinite(columns).all(axis=1)][kept]
        limit[j] = _limit(columns[:, 3])  # of the whole torque, with what was commanded ahead
        columns = columns[np.abs(columns[:, 3]) < limit[j]]
        if len(columns) < 8 or np.ptp(columns[:, 2]) == 0:
            continue
        gains = np.linalg.lstsq(columns[:, :2], columns[:, 2], rcond=None)[0]
        rest = columns[:, 2] - columns[:, :2] @ gains
        kp[j], kd[j] = gains
        explained[j] = 1 - rest.var() / columns[:, 2].var() if abs(rest.mean()) < columns[:, 2].std() else 0.0
    known = explained[np.isfinite(explained)]
    if not len(known) or known.min() < 1 - _UNEXPLAINED or not (kp[np.isfinite(kp)] > 0).all():
        return None
    kd = np.where(kd < 1e-6 * np.abs(kp), 0.0, kd)
    return TorqueLaw(tuple(kp.tolist()), tuple(kd.tolist()), kd_acts_on, float(known.min()), tuple(limit.tolist()))


def _limit(tau: np.ndarray) -> float:
    """Return what a torque (N,) is limited to: its largest value, if it is there often; rows there say nothing of gains."""
    size = np.abs(tau)
    most = float(size.max(initial=0.0))
    return most if most > 0 and (size == most).mean() > _AT_LIMIT else np.inf


def _slope(time: np.ndarray, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):  # stamps may be equal, or missing: such rows are left out
        return np.gradient(x, time, axis=0)


def law_sentence(law: TorqueLaw) -> str:
    """Return the sentence that says that a torque was computed."""
    return f"tau was not measured: it is the law of the drive, computed from commands and encoders (R2 = {law.explained:.5f})"


def refuse_computed_torque(log: Log) -> None:
    """Refuse a log whose torque is the law of its drive: a fit of it would find the gains of the drive, not the robot."""
    law = torque_law(log)
    if law is not None:
        raise TaupiError(
            "{sentence}.",
            remedy="Leave tau out, and state how the robot was driven, {columns}: it is then identified from commands and "
            "encoders.",
            sentence=law_sentence(law),
            columns=Argument("columns", {"drive": law.table}),
        )


def is_driven_by_commands(log: Log) -> bool:
    """Return whether a log says how commands drove the robot, and has no torque that was measured."""
    return log.drive is not None and (log.tau is None or torque_law(log) is not None)


def swapped_commands(log: Log) -> dict[int, int]:
    """Return the joints that follow the command of another one, by number: {joint: the command that it follows}.

    A joint stays nearer to that command by far than to its own; or two joints are alike to each other's commands, up to gain and
    offset, and not to their own.
    """
    (qdes,) = log.need("qdes")
    kept = slice(None, None, len(log) // _ROWS + 1)
    q, qdes = log.q[kept], qdes[kept]
    known = np.isfinite(q).all(axis=1) & np.isfinite(qdes).all(axis=1)
    if log.n < 2 or known.sum() < 8:
        return {}
    q, qdes = q[known], qdes[known]
    apart = np.sqrt(np.square(q[:, :, None] - qdes[:, None, :]).mean(axis=0))  # (joint, command)
    nearest = apart.argmin(axis=1)
    far = np.diag(apart) > _SWAPPED * apart.min(axis=1)
    swapped = {j: int(k) for j, k in enumerate(nearest) if k != j and far[j] and nearest[k] != k}
    q, qdes = q - q.mean(axis=0), qdes - qdes.mean(axis=0)
    sizes = np.linalg.norm(q, axis=0)[:, None] * np.linalg.norm(qdes, axis=0)
    alike = np.abs(np.divide(q.T @ qdes, sizes, out=np.zeros_like(sizes), where=sizes > 0))
    for j, k in enumerate(alike.argmax(axis=1)):
        crossed, straight = min(alike[j, k], alike[k, j]), max(alike[j, j], alike[k, k])
        if k != j and crossed > _FOLLOWS and straight < crossed / 2:
            swapped.setdefault(j, int(k))
    return swapped


def commanded(log: Log) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """Yield each joint's name, its unit, its positions, and its commands, where both are known; nothing without commands."""
    if log.qdes is None:
        return
    for j, (joint, unit) in enumerate(zip(log.names, log.units, strict=True)):
        known = np.isfinite(log.q[:, j]) & np.isfinite(log.qdes[:, j])
        yield joint, unit, log.q[known, j], log.qdes[known, j]


def wrong_scales(log: Log) -> Iterator[tuple[str, float, str]]:
    """Yield each joint that moves 57 times as far as its command, or as little, or against it: name, factor and sentence."""
    for joint, unit, q, wanted in commanded(log):
        if not len(q) or min(np.ptp(q), np.ptp(wanted)) <= rules.still_travel(unit):
            continue
        centred = wanted - wanted.mean()
        gain = float(centred @ (q - q.mean()) / np.square(centred).sum())
        degrees = next((f for f in (np.pi / 180, 180 / np.pi) if abs(gain / f - 1) < 0.2), None)
        if degrees is not None:
            which = "qdes is in degrees and q is not" if degrees < 1 else "q is in degrees and qdes is not"
            yield joint, gain, f"the joint moves {gain:.3g} times as far: {which}"
        elif gain < -0.5 and np.corrcoef(q, wanted)[0, 1] < -0.9:
            yield joint, gain, "the joint moves against its command: a sign"


def is_still(log: Log, joint: int) -> bool:
    """Return whether what the encoder of a joint shows is noise, or a hundredth of what its commands ask for, or less.

    Noise changes as much from one sample to the next as over the whole log, and motion that commands ask for does not.
    """
    (qdes,) = log.need("qdes")
    known = np.isfinite(log.q[:, joint]) & np.isfinite(qdes[:, joint])
    q, wanted = log.q[known, joint], qdes[known, joint]
    if not len(q):
        return True
    return (_roughness(q) > 0.5 and _roughness(wanted) < 0.1) or bool(q.std() <= _UNMOVED * wanted.std())


def _roughness(x: np.ndarray) -> float:
    """Return the share of a signal's variance that changes from sample to sample: 1 for noise, 0 for what moves slowly."""
    return float(np.square(np.diff(x)).mean() / (2 * x.var())) if len(x) > 1 and x.var() > 0 else 0.0


def refuse_useless_commands(logs: list[Log]) -> None:
    """Refuse logs of which no fit can be right: nothing moves, q is qdes, or columns, units or signs are wrong."""
    spans = [np.ptp(wanted) for log in logs for _, _, _, wanted in commanded(log) if len(wanted)]
    if max(spans, default=0.0) <= 1e-9:
        raise NotIdentifiedError(
            "The commands never move: nothing can be learnt from this log.",
            remedy="Record a motion, such as a chirp of each joint.",
        )
    if all(is_still(log, j) for log in logs for j in range(log.n)):
        raise NotIdentifiedError(
            "Commands move, and no joint does, by more than noise or a hundredth as far: nothing can be learnt from this log.",
            remedy="Were drives switched on, are q and qdes in one unit, and does the log last longer than commands take?",
        )
    for log in logs:
        if all(np.array_equal(q, wanted) for _, _, q, wanted in commanded(log)):
            raise TaupiError(
                "q and qdes are the same numbers: one of them is not what it is said to be.",
                remedy="Correct q or qdes in the column mapping.",
            )
        for joint, other in swapped_commands(log).items():
            raise TaupiError(
                "{first} follows the command of {second}, not its own: columns are swapped.",
                remedy="Correct qdes in the column mapping.",
                first=log.names[joint],
                second=log.names[other],
            )
        for name, _, sentence in wrong_scales(log):
            raise TaupiError(
                "qdes of {joint}: {sentence}.",
                remedy="Correct the unit, or the sign, of qdes in the column mapping.",
                joint=name,
                sentence=sentence,
            )
