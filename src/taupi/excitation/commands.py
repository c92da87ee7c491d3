"""Commands for a robot without torque sensors: a motion that separates what encoders confuse, and what it will show."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taupi.analysis.joint_range import require_numbers
from taupi.checks import positive
from taupi.dynamics.inverse import gravity_torque
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.dynamics.terms import resolve_terms, term_parameters
from taupi.errors import NotIdentifiedError
from taupi.excitation.criteria.information import stated_noise
from taupi.excitation.excitation import LowestPoint, plain
from taupi.excitation.geometry.clearance import Clearance, ClearanceCertificate
from taupi.excitation.limits.certificates import Certificate, motion_certificates, torque_certificate
from taupi.excitation.limits.motion_limits import LimitsLike, MotionLimits, motion_limits
from taupi.excitation.limits.sampled_rows import kept_clear
from taupi.excitation.motions.approach import approached, start_posture
from taupi.excitation.motions.bounded import BoundedMotion, FourierMotion, JoinedMotion
from taupi.excitation.settings import Margins, MarginsOptions
from taupi.excitation.writers.write import TimedMotion, write
from taupi.identification.commands.model import FIRST, DrivenModel, Scales
from taupi.identification.commands.stretches import Stretch, stretches_of
from taupi.model.robot import Robot
from taupi.settings import settle
from taupi.signals.drive import Drive
from taupi.signals.log import Log
from taupi.simulation.references import Motion
from taupi.tables import table
from taupi.threads import small_algebra
from taupi.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Unpack

SCHEMA = "taupi.commands/1"
# Hz: the bands of a joint's motion, and the shares of its speed, or acceleration, that go into each.
_BANDS = ((0.15, 0.4, 0.45), (0.6, 1.4, 0.3), (2.0, 3.0, 0.15), (3.5, 6.0, 0.1))
# Hz: above this, a delay does not look like friction.
_FAST = 3.0
# Postures of which two are chosen, within this share of the ranges.
_POSTURES, _WITHIN = 400, 0.7
# Share by which a motion that is not proven becomes smaller, and how often.
_SMALLER, _TIMES = 0.85, 14
# Friction and inertia of a drive that no description states, as shares of the largest torque and of the mass matrix.
_FRICTION, _ROTOR = 0.05, 0.2
# What two estimates are correlated by if they are hardly told apart.
_ALIKE = 0.95
# V: the supply of a servo if none is stated.
_VOLTS = 5.0
# Encoder noise if none is stated, rad.
_NOISE = 3e-4
RESULTS = ("commands.json", "commands.txt", "drive.toml", "report.html")


@dataclass(frozen=True)
class Expected:
    """What a planned motion will show of one parameter.

    Attributes:
        name: The parameter, such as "elbow.viscous".
        unit: Its unit.
        assumed: Its value in the simulation.
        stderr: Its expected standard error; infinite if the motion does not show it.
    """

    name: str
    unit: str
    assumed: float
    stderr: float

    @property
    def shown(self) -> bool:
        """Whether the motion shows it."""
        return bool(np.isfinite(self.stderr))


@dataclass(frozen=True, eq=False, repr=False)
class CommandPlan:
    """Commands that identify a robot from its encoders, see `taupi.excite_commands`.

    Attributes:
        robot: The robot.
        drive: How it is driven.
        motion: What is commanded: called with times (...) in s it returns q, qd, qdd (..., n).
        rate_hz: The rate at which commands are sent, Hz.
        sigma: Noise of the encoders (n,), rad.
        poses: The postures (2, n) about which it moves.
        expected: What it will show.
        aliases: What it will hardly tell apart, as sentences.
        limits: The limits that are kept.
        margins: How far it stays away from them.
        certificates: Proofs for all times, by quantity.
        unchecked: What is not proven, with the reason.
        notes: What was assumed, and what to record besides, as sentences.
        clearance: The geometry that keeps links apart; None without any.
        lowest: The lowest point that the motion reaches.
        record: Where the plan comes from.
    """

    robot: Robot
    drive: Drive
    motion: BoundedMotion
    rate_hz: float
    sigma: np.ndarray
    poses: np.ndarray
    expected: tuple[Expected, ...]
    aliases: tuple[str, ...]
    limits: MotionLimits
    margins: Margins
    certificates: Mapping[str, Certificate | ClearanceCertificate]
    unchecked: Mapping[str, str]
    notes: tuple[str, ...]
    clearance: Clearance | None = None
    lowest: LowestPoint | None = None
    record: Mapping[str, object] = field(default_factory=dict)

    @property
    def duration(self) -> float:
        """Seconds from the beginning to the end."""
        return self.motion.duration

    @property
    def certified(self) -> bool:
        """Whether every proof has succeeded."""
        return all(c.ok for c in self.certificates.values())

    @property
    def hidden(self) -> tuple[str, ...]:
        """The parameters that the planned motion will not show."""
        return tuple(p.name for p in self.expected if not p.shown)

    @property
    def summary(self) -> str:
        """One line."""
        shown = len(self.expected) - len(self.hidden)
        seen = f"{shown} of {len(self.expected)} parameters will be seen"
        return f"{self.duration:.4g} s of commands for {self.robot.name}: {seen}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What will not be seen, what is proven, what was not checked, and what was assumed."""
        hidden = (f"This motion will not show {', '.join(self.hidden)}.",) if self.hidden else ()
        return (
            *hidden,
            *self.aliases,
            *(c.sentence for c in self.certificates.values()),
            *(() if self.clearance is None else self.clearance.sentences),
            *(() if self.lowest is None else (self.lowest.sentence,)),
            *(f"{name} is not checked: {reason}" for name, reason in self.unchecked.items()),
            *self.notes,
        )

    def table(self) -> list[str]:
        """Return the parameters with what was assumed of them and their expected standard errors, as lines."""
        rows = [("parameter", "assumed", "expected error", "unit")]
        rows += [
            (p.name, f"{p.assumed:.4g}", f"{p.stderr:.2g}" if p.shown else "not seen", p.unit) for p in self.expected
        ]
        return table(rows)

    def __repr__(self) -> str:
        return "\n".join([self.summary, *(f"- {s}" for s in self.sentences)])

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data, ready for JSON; what will not be seen has no standard error."""
        return plain(
            {
                "schema": SCHEMA,
                "robot": self.robot.name,
                "joints": list(self.robot.joint_names),
                "duration": self.duration,
                "rate_hz": self.rate_hz,
                "drive": self.drive.table(),
                "sigma": self.sigma.tolist(),
                "poses": self.poses.tolist(),
                "expected": [dataclasses.asdict(p) for p in self.expected],
                "hidden": list(self.hidden),
                "aliases": list(self.aliases),
                "limits": self.limits.to_dict(),
                "certified": self.certified,
                "certificates": {name: c.to_dict() for name, c in self.certificates.items()},
                "unchecked": dict(self.unchecked),
                "notes": list(self.notes),
                "provenance": dict(self.record),
            }
        )

    def with_record(self, **record: object) -> CommandPlan:
        """Return it with more in its `record` of where it comes from."""
        return dataclasses.replace(self, record={**self.record, **record})

    def write(
        self,
        folder: str | os.PathLike[str],
        formats: Sequence[str] = ("csv",),
        *,
        force: bool = False,
        page: str = "",
    ) -> list[Path]:
        """Write the commands and everything about them to a folder, all files or none, and return their paths.

        Args:
            folder: The directory, made if missing.
            formats: Names of formats, as of `Excitation.write`; "csv" by default.
            force: Whether existing results are replaced; they are kept by default.
            page: The text of report.html; left out by default.
        """
        texts = {
            "commands.json": json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
            "commands.txt": "\n\n".join([repr(self), "\n".join(self.table())]) + "\n",
            "drive.toml": self.mapping,
            **({"report.html": page} if page else {}),
        }
        return write(TimedMotion(self.motion, self.robot, self.rate_hz), folder, formats, force, texts, RESULTS)

    @property
    def mapping(self) -> str:
        """The column mapping with which a log of these commands can be read, as TOML."""
        lines = [f"{key} = {json.dumps(value)}" for key, value in self.drive.table().items()]
        head = [
            "# For taupi identify: which columns of your log hold what was sent and what the encoders showed.",
            'time = "t"',
            'q = "q_{joint}"',
            'qdes = "qdes_{joint}"',
            f"joints = {json.dumps(list(self.robot.joint_names))}",
        ]
        return "\n".join([*head, "", "[drive]", *lines]) + "\n"


@small_algebra
def excite_commands(
    robot: Robot,
    drive: Drive | Mapping[str, object],
    duration: float = 20.0,
    *,
    rate_hz: float = 200.0,
    sigma: object = _NOISE,
    start: object = None,
    limits: LimitsLike = None,
    seed: int = 0,
    margins: Margins | None = None,
    **options: Unpack[MarginsOptions],
) -> CommandPlan:
    """Return commands from which a robot without torque sensors can be identified, and what they will show.

    Each joint moves about two postures in which gravity differs as much as possible, so that encoder zeros and constant torques
    are told apart; by sines from 0.15 Hz, for friction, to above 3 Hz where the drive follows, so that delay, damping and inertia
    are. They begin and end at rest, w(t) = (1 - cos(2 pi t / T)) / 2 times each sine, which is a Fourier series, so that limits
    are proven at all times. Expected standard errors are for a closed loop that is simulated with the description.

    Args:
        robot: The robot, with masses.
        drive: How commands become torques: a `taupi.Drive`, or a mapping of its fields.
        duration: Seconds; 20 by default.
        rate_hz: How often commands are sent and encoders read, Hz; 200 by default.
        sigma: Noise of the encoders, rad, one or one per joint; 0.3 mrad by default.
        start: Where the robot is now, as in `taupi.excite`; at the first posture by default.
        limits: Limits that the description does not state, as in `taupi.excite`.
        seed: Of the postures that are tried, and the phases of the sines; 0 by default.
        margins: How far the motion stays away from limits and surroundings, a `taupi.Margins`; its defaults otherwise.
        **options: Fields of `taupi.Margins` instead.

    Raises:
        NotIdentifiedError: No motion that keeps its limits was found.

    >>> import taupi as tp
    >>> limits = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 20.0, "effort": 200.0}
    >>> plan = tp.excite_commands(tp.load("elbow2r"), {"kp": 300, "kd": 10}, 10.0, limits=limits)
    >>> plan.certified, "shoulder.encoder" in {p.name for p in plan.expected}
    (True, True)
    """
    (kept,) = settle(excite_commands, options, (Margins, margins))
    require_numbers(robot)
    law = Drive.of(drive).of_joints(range(robot.n), robot.n)
    known = motion_limits(robot, limits, torque=kept.effort is not None)
    noise = stated_noise(robot, sigma)
    seconds, rate = positive("duration", duration), positive("rate_hz", rate_hz)
    begin = start_posture(robot, start, known)
    back = np.linalg.pinv(known.spread)  # from joints to the coordinates that move them
    half = np.where(np.isfinite(known.half), known.half, np.pi / 2)
    lower, upper = np.sort([back @ (known.middle - half), back @ (known.middle + half)], axis=0)
    clearance, reason = kept_clear(robot, kept, lower, upper)
    unchecked = {} if clearance is not None else {"clearance": reason}
    rng = np.random.default_rng(seed)
    poses = _poses(robot, known, clearance, lower, upper, rng)
    follows = _bandwidth(robot, law, poses)
    planner = _Planner(robot, known, kept, clearance, poses, seconds, rate, follows, begin)
    motion, proofs = planner.proven(rng.choice([-1.0, 1.0], (2, robot.n, len(_BANDS))))
    expected, aliases, assumed = _outlook(robot, law, motion, rate, noise)
    notes = [*known.notes, *assumed, *_advice(robot, law, follows)]
    times = np.linspace(0.0, motion.duration, max(2, int(motion.duration * 50)))
    return CommandPlan(
        robot=robot,
        drive=law,
        motion=motion,
        rate_hz=rate,
        sigma=noise,
        poses=poses,
        expected=expected,
        aliases=aliases,
        limits=known,
        margins=kept,
        certificates=proofs,
        unchecked=unchecked,
        notes=tuple(notes),
        clearance=clearance,
        lowest=LowestPoint.along(robot, clearance, motion, times),
        record={"version": __version__, "robot": robot.name, "fingerprint": robot.fingerprint, "seed": seed},
    )


def _poses(
    robot: Robot,
    limits: MotionLimits,
    clearance: Clearance | None,
    lower: np.ndarray,
    upper: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return two postures (2, n) between which gravity differs most, joint by joint, of those that are clear."""
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    tried = middle + _WITHIN * half * rng.uniform(-1, 1, (_POSTURES, robot.n))
    if clearance is not None and clearance.pairs:
        room = clearance.rows(tried).min(axis=1)
        tried = tried[np.argsort(-room)[: max(8, _POSTURES // 4)]]
    gravity = np.asarray(gravity_torque(robot).compile("numpy")(tried))
    size = np.maximum(np.abs(gravity).max(axis=0), 1e-9)
    pull = gravity / size * (np.abs(gravity).max(axis=0) > 1e-6)
    # Room to move in, too: a posture at the end of a range leaves none.
    inside = 1 - np.abs((tried - middle) / np.maximum(half, 1e-9)).max(axis=1)
    apart = np.sqrt(np.abs(pull[:, None] - pull[None])).sum(axis=2) + inside[:, None] + inside[None]
    return tried[list(np.unravel_index(int(np.argmax(apart)), apart.shape))]


def _bandwidth(robot: Robot, drive: Drive, poses: np.ndarray) -> np.ndarray:
    """Return the frequency (n,), Hz, up to which each drive moves what hangs on it: sqrt(kp / M_jj) / 2 pi."""
    M = np.asarray(mass_matrix(robot).compile("numpy")(poses))
    inertia = np.maximum(np.diagonal(M, axis1=1, axis2=2).max(axis=0), 1e-9) * (1 + _ROTOR)
    kp = drive.per_joint("kp", robot.n)
    if drive.law == "duty":
        kt, resistance = drive.per_joint("kt", robot.n), drive.per_joint("resistance", robot.n)
        kp = kp * kt / resistance * (drive.per_joint("volts", robot.n) if drive.volts else _VOLTS)
    return np.asarray(np.sqrt(kp / inertia) / (2 * np.pi))


@dataclass(frozen=True, eq=False)
class _Planner:
    """Makes motions about two postures, each smaller than the last, until one is proven."""

    robot: Robot
    limits: MotionLimits
    margins: Margins
    clearance: Clearance | None
    poses: np.ndarray
    duration: float
    rate_hz: float
    follows: np.ndarray
    begin: np.ndarray | None

    def proven(self, signs: np.ndarray) -> tuple[BoundedMotion, dict[str, Certificate | ClearanceCertificate]]:
        """Return the largest motion tried whose limits are all proven, and the proofs; `signs` (2, n, bands) are of its sines."""
        share, reasons = 1.0, ""
        for _ in range(_TIMES):
            motion = self._motion(signs, share)
            proofs = self._proofs(motion)
            if all(proof.ok for proof in proofs.values()):
                return motion, proofs
            reasons = " ".join(proof.sentence for proof in proofs.values() if not proof.ok)
            share *= _SMALLER
        raise NotIdentifiedError(
            "No commands for {robot} that keep its limits were found: {reasons}",
            remedy="Use a longer {duration}, another {seed}, or other {limits}.",
            robot=self.robot.name,
            reasons=reasons,
        )

    def _proofs(self, motion: BoundedMotion) -> dict[str, Certificate | ClearanceCertificate]:
        """Return the proofs of a motion: those that take long only if the others succeed."""
        proofs: dict[str, Certificate | ClearanceCertificate] = {
            proof.quantity: proof for proof in motion_certificates(motion, self.limits)
        }
        if self.clearance is not None and all(proof.ok for proof in proofs.values()):
            proofs["clearance"] = self.clearance.certificate(motion, motion.duration)
        if self.margins.effort is not None and all(proof.ok for proof in proofs.values()):
            effort, uncertainty = self.margins.effort, self.margins.uncertainty
            proofs["torque"] = torque_certificate(self.robot, motion, self.limits, effort, uncertainty)
        return proofs

    def _motion(self, signs: np.ndarray, share: float) -> BoundedMotion:
        """Return the bursts about both postures, with slow straight paths before and between them."""
        limits = self.limits.shrunk(self.margins.margin)
        first, second = (self._burst(q, sign, limits, share) for q, sign in zip(self.poses, signs, strict=True))
        ways = [approached(first, self.begin, limits), approached(second, self.poses[0], limits)]
        return JoinedMotion(tuple(p for way in ways for p in (way.parts if isinstance(way, JoinedMotion) else (way,))))

    def _burst(self, q: np.ndarray, sign: np.ndarray, limits: MotionLimits, share: float) -> FourierMotion:
        """Return sines about a posture, other ones for each joint, that begin and end at rest.

        (1 - cos(W t)) / 2 sin(w t) = sin(w t) / 2 - sin((w + W) t) / 4 - sin((w - W) t) / 4, with W = 2 pi / T.
        """
        seconds, n = self.duration / 2, self.robot.n
        back, at = np.abs(np.linalg.pinv(limits.spread)), limits.spread @ q
        velocity, acceleration = (
            back @ np.where(np.isfinite(v), v, 1e3) for v in (limits.velocity, limits.acceleration)
        )
        room = back @ np.minimum(np.minimum(limits.upper - at, at - limits.lower), np.pi)
        amplitude, omega = np.zeros((2, n, len(_BANDS), 3))
        omega += 2 * np.pi / seconds
        for b, (low, high, part) in enumerate(_BANDS):
            for j in range(n):
                top = min(high, self.rate_hz / 10, 1.5 * self.follows[j])
                harmonic = max(2, round((low + (top - low) * (j + 0.5) / n) * seconds))
                if top < low:
                    continue  # the drive does not follow
                w = 2 * np.pi * harmonic / seconds
                size = share * part * min(velocity[j] / w, acceleration[j] / w**2, room[j])
                amplitude[j, b] = sign[j, b] * size * np.array([0.5, -0.25, -0.25])
                omega[j, b] = w + 2 * np.pi / seconds * np.array([0, 1, -1])
        return FourierMotion(q, amplitude.reshape(n, -1), omega.reshape(n, -1), duration=seconds)


def _outlook(
    robot: Robot, drive: Drive, motion: BoundedMotion, rate_hz: float, noise: np.ndarray
) -> tuple[tuple[Expected, ...], tuple[str, ...], list[str]]:
    """Return what the motion will show, what it will hardly tell apart, and what was assumed, from one simulated closed loop."""
    times = np.arange(int(motion.duration * rate_hz) + 1) / rate_hz
    states = motion(times)
    supply = np.full((len(times), 1), _VOLTS) if drive.law == "duty" and not drive.volts else None
    log = Log(times, states.q, qd=states.qd, qdes=states.q, volts=supply, names=robot.joint_names, drive=drive)
    (stretch,) = stretches_of(log, robot)
    model, x, notes = _assumed(robot, drive, stretch, states)
    directions = model.directions * model.column("scale")[:, None]
    driven, theta = stretch.driven(robot), model.theta(x, drive)
    _, slope = driven.sensitivities(theta, directions, stretch.commands, states.q[0], states.qd[0])
    if not np.isfinite(slope).all():
        raise NotIdentifiedError(
            "The closed loop of this drive is not stable in simulation.", remedy="Check kp and kd."
        )
    rows = (slope / noise[:, None]).reshape(-1, slope.shape[2])
    values, vectors = np.linalg.eigh(rows.T @ rows)
    known = values > max(values.max(), 1.0) * 1e-13
    spread = np.where(known, 1 / np.sqrt(np.maximum(values, 1e-300)), np.inf)
    free = spread > 1.0  # in units of a parameter's scale: it could account for all torque of its joint
    hidden = (vectors[:, free] ** 2).sum(axis=1) > 0.01
    covariance = (vectors[:, ~free] / values[~free]) @ vectors[:, ~free].T
    stderr = np.sqrt(np.clip(np.diag(covariance), 0, None)) * model.column("scale")
    expected = tuple(
        Expected(p.name, p.unit, float(value), float("inf") if h else float(error))
        for p, value, error, h in zip(model.parameters, x, stderr, hidden, strict=True)
    )
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    alike = covariance / size[:, None] / size
    aliases = [
        f"{model.names[b]} and {model.names[a]} will hardly be told apart (correlation {alike[a, b]:.3f})."
        for a in range(len(x))
        for b in range(a)
        if abs(alike[a, b]) > _ALIKE and not (hidden[a] or hidden[b])
    ]
    notes.append(
        "Expected errors are from encoder noise alone, with a model that is right; on real robots, 2 to 20 times as much."
    )
    return expected, tuple(aliases), notes


def _assumed(robot: Robot, drive: Drive, stretch: Stretch, states: Motion) -> tuple[DrivenModel, np.ndarray, list[str]]:
    """Return the model that is simulated, with its values, and what was assumed of them."""
    kinds = [*FIRST, "offset", "encoder"] + (["kp"] if "kp" in drive.unknown else [])
    scales = Scales.of([stretch])
    load = np.abs(np.asarray(gravity_torque(robot).compile("numpy")(states.q))).max(axis=0)
    inertia = np.diagonal(np.asarray(mass_matrix(robot).compile("numpy")(states.q)), axis1=1, axis2=2).mean(axis=0)
    moving = inertia * np.maximum(np.abs(states.qdd).max(axis=0), 1e-6)
    scales = dataclasses.replace(scales, torque=np.maximum(load, moving))
    fixed = {"kp": drive.per_joint("kp", robot.n)} if "kp" in drive.unknown else {}
    model = DrivenModel(
        robot, tuple(dict.fromkeys(kinds)), scales, np.asarray(robot.parameters.values, dtype=float), fixed
    )
    stated = term_parameters(robot, resolve_terms(("rotor", "viscous", "coulomb", "offset")))
    table = dict(zip(stated.names, np.asarray(stated.values, dtype=float).tolist(), strict=True))
    torque, speed = np.maximum(load, moving), np.maximum(np.abs(states.qd).max(axis=0), 1e-6)
    guess = {"rotor": _ROTOR * inertia, "viscous": _FRICTION * torque / speed, "coulomb": _FRICTION * torque}
    x, assumed = model.column("start").copy(), []
    for k, parameter in enumerate(model.parameters):
        if parameter.kind == "kp":
            continue
        value = table.get(parameter.name, 0.0)
        if not value and parameter.kind in guess and parameter.joint is not None:
            value = float(guess[parameter.kind][parameter.joint])
            assumed.append(parameter.kind)
        x[k] = value
    names = ", ".join(dict.fromkeys(assumed))
    text = f"The description states no {names}: a twentieth of the torque, and a fifth of the inertia, were assumed."
    return model, x, [text] if assumed else []


def _advice(robot: Robot, drive: Drive, follows: np.ndarray) -> list[str]:
    """Return what to know, and what to record besides."""
    notes = []
    slow = [name for name, f in zip(robot.joint_names, follows, strict=True) if 1.5 * f < _FAST]
    if slow:
        notes.append(
            f"The drives of {', '.join(slow)} do not follow above {_FAST:g} Hz: delay, viscous friction and inertia look alike."
        )
    notes.append("kd and viscous friction act alike: viscous friction is right only as far as kd is.")
    if "kp" in drive.unknown:
        layout = robot.parameters.layout
        mass = 0.3 * max(float(robot.parameters.values[layout.link(i).start]) for i in range(len(robot.links)))
        notes.append(
            "No gain is known, so that torques, inertias and gains could all be larger by one factor. Record the same commands a "
            f"second time with a known mass at the tip, about {mass:.2g} kg, and state it as `payload` of that log's drive."
        )
    if drive.law == "duty":
        notes.append(
            "The brake of the back-EMF and viscous friction act alike while a motor is on: record a swing with torque off, too."
        )
    return notes
