"""What a target is given: an identified robot with its drives, as far as this target can say it, and what is lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from taupi.bridges.identified import BEYOND_TOOLS, PLACES, Identified, JointValues, identified
from taupi.bridges.targets.bodies import JointedLink, pieces_of
from taupi.bridges.targets.target import DRIVE, QUANTITIES, Target
from taupi.errors import Argument, TaupiError, unknown
from taupi.identification.commands.model import KINDS, MASSES
from taupi.identification.results.command_fit import CommandFit
from taupi.identification.results.fit import Fit
from taupi.model.robot import Robot
from taupi.model.robot_parts import BALL
from taupi.schema import finite_or_none
from taupi.signals.drive import Drive

# If the triangle of a fit and the statistics of its joints state residuals that differ by more, its weights are not known.
_SAME_RESIDUAL = 0.05


@dataclass(frozen=True, slots=True)
class JointDrive:
    """What makes a torque of a position command: tau = clip(kp (q_des(t - delay) - q) - kd qd, -effort, effort).

    Attributes:
        kp: Position gain, N m/rad or N/m; None for a joint that takes torques.
        kd: Velocity gain, N m s/rad or N s/m.
        delay: How much later a command acts, s.
        effort: The largest torque, N m, or force, N; None if it is not known.
    """

    kp: float | None = None
    kd: float = 0.0
    delay: float = 0.0
    effort: float | None = None


DrivesLike: TypeAlias = "Mapping[str, JointDrive] | JointDrive | Drive | None"


@dataclass(frozen=True)
class Loss:
    """What a target has no place for at one joint, and what that costs.

    Attributes:
        joint: The name of the joint.
        names: The parameters, such as "elbow.coulomb".
        rms: The root mean square of the torque (N m, N) that is wrong for it on a log; None if no log says.
        share: The same over the root mean square of the joint's torque; None if no log says.
        unit: "N m" or "N".
    """

    joint: str
    names: tuple[str, ...]
    rms: float | None = None
    share: float | None = None
    unit: str = "N m"

    def __str__(self) -> str:
        cost = "" if self.rms is None else f": {self.rms:.3g} {self.unit} rms"
        return f"{', '.join(self.names)}{cost}" + ("" if self.share is None else f", {self.share:.1%} of its torque")


@dataclass(frozen=True, eq=False)
class Refit:
    """What was gained by fitting drives again with the steps of the target.

    Attributes:
        passport: What would have been written without.
        logs: The names of the logs.
        before: Mean |q_target - q| of each joint (n,), rad or m, of `passport`.
        after: The same of what is written.
    """

    passport: Passport
    logs: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, eq=False)
class Passport:
    """An identified robot, as one target can say it.

    Attributes:
        source: The robot, the fit, or the fit from commands.
        taken: The robot as other tools can represent it.
        target: The target.
        version: The version of the target that is written.
        joints: The values of each joint with one degree of freedom as the target states them: 0 for what has no place there.
        drives: The drive of each of these joints, likewise.
        timestep: The step of the simulation, s, that delays are counted in.
        losses: What has no place, joint by joint.
        refit: How its drives were fitted again with the steps of the target; None if they were not.
    """

    source: Robot | Fit | CommandFit
    taken: Identified
    target: Target
    version: str
    joints: Mapping[str, JointValues]
    drives: Mapping[str, JointDrive]
    timestep: float
    losses: tuple[Loss, ...]
    refit: Refit | None = None

    @classmethod
    def of(
        cls,
        source: Robot | Fit | CommandFit,
        target: Target,
        version: str | None = None,
        drives: DrivesLike = None,
        timestep: float = 0.002,
        anyway: bool = False,
    ) -> Passport:
        """Return the `source`, a robot or a fit, as a `version` of the `target` can say it.

        `drives`, the `timestep` (s) of the simulation and `anyway` are as in `taupi.export`.
        """
        chosen = target.version(version)
        taken = identified(source, anyway)
        _refuse_ball_joints(taken.robot, target)
        if drives is None and isinstance(source, CommandFit):
            drives = drives_of_fit(source)
        stated = _drives(taken.robot, drives)
        lost: dict[str, list[str]] = {name: [] for name in taken.joints}
        joints = {name: _placed(name, v, target, lost) for name, v in taken.joints.items()}
        placed_drives = {name: _placed_drive(name, d, target, lost) for name, d in stated.items()}
        if isinstance(source, CommandFit) and source.drive.rate_hz is not None:
            for name in stated:
                lost[name].append(f"{name}: law held by the host for 1/{source.drive.rate_hz:g} s")
        for name in taken.lost:
            lost[next(joint for joint in lost if name.startswith(f"{joint}."))].append(name)
        slides = {j.name: j.prismatic for j in taken.robot.single_joints}
        costs = torque_costs(source, taken, joints) if isinstance(source, Fit) else {}
        losses = []
        for joint, names in lost.items():
            rms, share = costs.get(joint, (None, None))
            losses += [Loss(joint, tuple(names), rms, share, "N" if slides[joint] else "N m")] if names else []
        return cls(source, taken, target, chosen, joints, placed_drives, timestep, tuple(losses))

    @property
    def robot(self) -> Robot:
        """The robot with its parameters."""
        return self.taken.robot

    @property
    def name(self) -> str:
        """The name of the robot as a file can be called."""
        return "".join(c if c.isalnum() or c in "-_" else "_" for c in self.robot.name) or "robot"

    @cached_property
    def pieces(self) -> tuple[JointedLink, ...]:
        """The links with the joints that move them, as numbers."""
        return pieces_of(self.taken)

    @property
    def written(self) -> Identified:
        """The robot as it is written: without what has no place in the target."""
        return dataclasses.replace(self.taken, joints=dict(self.joints))

    def steps(self, delay: float) -> int:
        """Return how many whole steps a `delay` (s) takes at least."""
        return int(np.ceil(delay / self.timestep - 1e-9))

    @property
    def base(self) -> np.ndarray | None:
        """The base parameters (b,) of a fit that the target has, None for a robot."""
        if not isinstance(self.source, Fit):
            return None
        return self.source.basis.project(_standard(self.source, self.taken, self.joints))

    @property
    def placed(self) -> CommandFit:
        """The fit from commands as far as the target has it: simulated by taupi's own steps, without what is lost."""
        if self.refit is not None:
            return self.refit.passport.placed
        fit = self.source
        assert isinstance(fit, CommandFit)
        names, centre = fit.robot.joint_names, fit.model.scales.centre
        written = [self.joints[name] for name in names]
        spring = np.array([j.stiffness for j in written])
        fixed = {kind: np.array([getattr(j, field) for j in written]) for field, kind in PLACES.items()}
        fixed |= {"spring": spring, "offset": fixed["offset"] + spring * centre}
        fixed |= {place: np.zeros(len(names)) for kind in BEYOND_TOOLS for place in KINDS[kind].places}
        kinds = tuple(kind for kind in fit.model.kinds if kind not in fixed and kind not in BEYOND_TOOLS)
        if fit.delay < 0:  # no target acts before it is told
            fixed["delay"], kinds = np.zeros(1), tuple(kind for kind in kinds if kind != "delay")
        kinds = tuple(kind for kind in kinds if kind != MASSES)
        bodies = self.taken.bodies.ravel()
        model = dataclasses.replace(fit.model, kinds=kinds, bodies=bodies, fixed={**fit.model.fixed, **fixed})
        return dataclasses.replace(fit, model=model, raw=model.start_from(fit.model, fit.raw))


def torque_costs(fit: Fit, taken: Identified, joints: Mapping[str, JointValues]) -> dict[str, tuple[float, float]]:
    """Return the rms of the torque that is lost at each joint over the fitted logs, and its share; nothing if rows are unknown.

    The columns of joint terms are zero but in the rows of their own joint. So with R the triangle of rows weighted by w_i, and d
    the change of the joint's base parameters, the lost torque is |R d| / (w_i sqrt(N_i)).
    """
    weights = _row_weights(fit)
    if weights is None or fit.triangle is None:
        return {}
    layout, links = fit.basis.standard.layout, len(fit.robot.parameters)
    change = fit.parameters.values - _standard(fit, taken, joints)
    owners = np.array([""] * links + [e.owner for e in layout.entries[links:]])
    result = {}
    for each, weight in zip(fit.joints, weights, strict=True):
        own = fit.basis.project(np.where(owners == each.name, change, 0.0))
        rms = float(np.linalg.norm(fit.triangle[:, :-1] @ own)) / (weight * np.sqrt(max(each.rows, 1)))
        torque = each.rms / each.relative if each.relative else 0.0
        result[each.name] = (rms, rms / torque if torque else 0.0)
    return result


def _row_weights(fit: Fit) -> np.ndarray | None:
    """Return the weight (n,) of each joint's rows in the triangle: 1, or one over its noise, whichever explains the residual."""
    if fit.triangle is None:
        return None
    seen = float(np.sum((fit.triangle[:, :-1] @ fit.values - fit.triangle[:, -1]) ** 2))
    squares = np.array([j.rows * j.rms**2 for j in fit.joints])
    noise = np.array([j.noise for j in fit.joints])
    candidates = [np.ones(len(squares)), 1 / np.maximum(noise, np.finfo(float).tiny)]
    misfits = [abs(float(squares @ w**2) / max(seen, np.finfo(float).tiny) - 1) for w in candidates]
    best = int(np.argmin(misfits))
    return candidates[best] if misfits[best] < _SAME_RESIDUAL else None


def _standard(fit: Fit, taken: Identified, joints: Mapping[str, JointValues]) -> np.ndarray:
    """Return the standard parameters (p,) that are written: of the joints, those in `joints`."""
    assert taken.standard is not None
    result = taken.standard.copy()
    fields = {kind: field for field, kind in PLACES.items()}
    for k, e in enumerate(
        fit.basis.standard.layout.entries[len(fit.robot.parameters) :], start=len(fit.robot.parameters)
    ):
        if e.kind in fields and e.owner in joints and result[k]:
            result[k] = getattr(joints[e.owner], fields[e.kind])
    return result


def _placed(name: str, values: JointValues, target: Target, lost: dict[str, list[str]]) -> JointValues:
    """Return the values of a joint that a target takes; the names of the others are added to those that are `lost`."""
    gone = {}
    for field, term in PLACES.items():
        value, place = getattr(values, field), target.places.get(field)
        if value and (place is None or not place.takes(value)):
            lost[name].append(f"{name}.{term}")
            gone[field] = 0.0
    return dataclasses.replace(values, **gone)


def _placed_drive(name: str, drive: JointDrive, target: Target, lost: dict[str, list[str]]) -> JointDrive:
    gone: dict[str, float | None] = {}
    for field in DRIVE:
        value, place = getattr(drive, field), target.places.get(field)
        if value and (place is None or not place.takes(value)):
            lost[name].append(f"{name}: {QUANTITIES[field].label} {value:g} {QUANTITIES[field].unit}")
            gone[field] = None if field in ("kp", "effort") else 0.0
    return dataclasses.replace(drive, **gone)  # type: ignore[arg-type]


def drives_of_fit(fit: CommandFit) -> dict[str, JointDrive]:
    """Return the drive of each joint from a fit from commands: its gains, kp identified where it was not known, and its delay.

    An unknown kd acts like viscous friction, which is what was fitted: kd stays as stated.
    """
    names = [j.name for j in fit.robot.single_joints if not j.mimic]
    kp = tuple(fit.of_kind("kp").tolist()) if "kp" in fit.model.kinds else fit.drive.kp
    stated = _of_log(dataclasses.replace(fit.drive, kp=kp), names)
    return {name: dataclasses.replace(drive, delay=fit.delay) for name, drive in stated.items()}


def _of_log(drive: Drive, names: Sequence[str]) -> dict[str, JointDrive]:
    """Return the drive of each joint from that of a log, whose law is a PD."""
    if drive.law == "duty":
        raise TaupiError(
            "{argument} has the law 'duty', whose largest torque falls with speed: targets have gains in torque.",
            remedy="State a JointDrive with kp = kt volts kp / resistance.",
            argument=Argument("drives"),
        )
    kp, kd, limit = (drive.per_joint(name, len(names)) for name in ("kp", "kd", "torque_limit"))
    rows = zip(names, kp.tolist(), kd.tolist(), limit.tolist(), strict=True)
    return {name: JointDrive(p, d, effort=finite_or_none(most)) for name, p, d, most in rows}


def _drives(robot: Robot, drives: DrivesLike) -> dict[str, JointDrive]:
    """Return the drive of each joint: the one that is stated, with the effort of the description if it states none."""
    names = {j.name: j.limits.effort or None for j in robot.single_joints}
    if isinstance(drives, Drive):
        drives = _of_log(drives, [j.name for j in robot.single_joints if not j.mimic])
    stated = dict.fromkeys(names, drives) if isinstance(drives, JointDrive) else dict(drives or {})
    for name, drive in stated.items():
        if name not in names:
            raise unknown("joint", name, names, robot.name)
        if not isinstance(drive, JointDrive):
            raise TaupiError("{argument} has {got!r}, expected a JointDrive.", argument=Argument("drives"), got=drive)
    result = {name: stated.get(name) or JointDrive() for name in names}
    return {n: d if d.effort is not None else dataclasses.replace(d, effort=names[n]) for n, d in result.items()}


def _refuse_ball_joints(robot: Robot, target: Target) -> None:
    odd = [j.name for j in robot.joints if j.kind == BALL]
    if odd and not target.ball_joints:
        raise TaupiError(
            "{robot} has ball joints ({odd:,}), which are not written for {title}.",
            robot=robot.name,
            odd=odd,
            title=target.title,
        )
