"""A study of logs: their rows over all of their length, and what any change of them would leave unexplained."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from taupi.dynamics.terms import Coulomb, Offset, Rotor, Viscous, kind_of
from taupi.identification.folds.left_out import FLOOR, Blocks, Grams, PairedScores, Score, compared
from taupi.identification.row_layout import RowLayout, regressor_inputs
from taupi.identification.rows.recording import SEEN, Recording
from taupi.identification.rows.row_maker import compiled_rows
from taupi.model.parameters import LINK_SIZE
from taupi.model.robot_parts import Limits
from taupi.program.program import Program
from taupi.program.transformations import symbols_as_input
from taupi.regressors.classical import regressor
from taupi.signals.checking import rules
from taupi.signals.log import Log

if TYPE_CHECKING:
    from taupi.identification.problem import Problem
    from taupi.identification.verdict.cause import CandidateTrial
    from taupi.model.robot import Robot

# Rows over all logs: with ten rows per period of the cutoff, 80 periods. Of many logs, some evenly spread ones.
_ROWS, _LEAST_ROWS, _MOST_LOGS = 800, 60, 12
# This share of the power of q may lie above the motion; the cutoff is this many times the frequency where the motion ends, and
# the log is at least this many of its periods long.
_BEYOND, _TIMES, _LEAST_PERIODS = 1e-3, 2.0, 30.0
# Searches are made on every third row.
_COARSE = 3
# A row counts if torques at a limit have less than this share in it, as long as this share of the rows is left.
_TOUCHED, _ENOUGH = 0.1, 0.3
# Dry friction builds up over this share of the largest speed.
_BUILDS_UP = 0.02
# A joint turns back if it moves either way in this share of the rows.
_BOTH_WAYS = 0.1
# A joint that moves by less than this, rad or m, stands still.
_STILL = 1e-3
# Position limits count as exceeded beyond this share of them: encoder zeros are slightly off.
_MARGIN = 0.1
# A description is a witness at a joint if it explains its torque beside friction to this correlation, with a slope in this range.
_CORRELATED, _SLOPES = 0.9, (0.5, 2.0)
# Errors of the description count from 10 % on, and at most as one and a half times the torque.
_ROUGH, _WORST = 0.1, 1.5
# Gravity is seen where its torque is this share of the recorded one.
_SEEN = 0.3
Gravity = tuple[float, float, float]
_GRAVITY = ("gravity_x", "gravity_y", "gravity_z")
OWN_TERMS = (Viscous.name, Coulomb.name, Offset.name, Rotor.name)


@dataclass(frozen=True, eq=False)
class LogChange:
    """A change of the logs that would undo a mistake: q -> motion q scale + shift, time -> seconds time, tau -> torque tau.

    Attributes:
        motion: A permutation with signs (n, n) of positions, velocities and accelerations.
        scale: Factors (n,) of the same.
        shift: What is added to q (n,).
        seconds: The factor of time.
        torque: The map (n, n) of torques.
        later: By how much later than recorded the torque acts, s.
        gravity: The gravity (3,) in the axes of the world.
    """

    motion: np.ndarray | None = None
    scale: np.ndarray | None = None
    shift: np.ndarray | None = None
    seconds: float = 1.0
    torque: np.ndarray | None = None
    later: float = 0.0
    gravity: Gravity | None = None

    def positions(self, q: np.ndarray) -> np.ndarray:
        """Return the positions (..., n) of changed logs."""
        q = q if self.motion is None else q @ self.motion.T
        q = q if self.scale is None else q * self.scale
        return q if self.shift is None else q + self.shift

    @property
    def _of_rows(self) -> tuple[object, ...]:
        """What decides the rows of the regressor, to share them between alternatives."""
        arrays = (None if a is None else a.tobytes() for a in (self.motion, self.scale, self.shift))
        return (*arrays, self.seconds, self.gravity)


@dataclass(frozen=True, eq=False)
class StudyRows:
    """What the logs say at some rows: motion and shape of dry friction (m, n), torque, and the log (m,) of each."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    dry: np.ndarray
    tau: np.ndarray
    log: np.ndarray

    def changed(self, change: LogChange) -> StudyRows:
        """Return the rows of changed logs: exchanging, turning, scaling and shifting commute with filters."""
        q, qd, qdd, dry = change.positions(self.q), self.qd, self.qdd, self.dry
        if change.motion is not None:
            qd, qdd, dry = (x @ change.motion.T for x in (qd, qdd, dry))
        if change.scale is not None:
            qd, qdd = qd * change.scale, qdd * change.scale
        return dataclasses.replace(self, q=q, qd=qd / change.seconds, qdd=qdd / change.seconds**2, dry=dry)


@dataclass(frozen=True, eq=False)
class Witness:
    """What the description says of each joint (n,) beside its friction, offset and rotor.

    Attributes:
        slopes: The torque of the described links goes into the recorded one with this factor.
        correlations: Of the two, friction taken out of both.
        errors: What the links as described leave, a share of the torque.
        shares: The part of the torque that is no friction, offset or rotor.
        links: The part that the described links would have.
    """

    slopes: np.ndarray
    correlations: np.ndarray
    errors: np.ndarray
    shares: np.ndarray
    links: np.ndarray

    def credible(self, live: np.ndarray) -> float:
        """Return the share of the live joints that it explains."""
        low, high = _SLOPES
        agrees = (self.correlations > _CORRELATED) & (self.slopes > low) & (self.slopes < high)
        return float(agrees[live].mean()) if live.any() else 0.0

    def cost(self, live: np.ndarray) -> float:
        """Return the sum of the logarithms of its errors, in power."""
        return float(np.log(np.minimum(self.errors[live], _WORST) ** 2 + _ROUGH**2).sum())


class Study:
    """Alternatives to logs as they are: `trial` fits and scores one like the other.

    `remembers` says that dry friction builds up behind reversals as in the fit, whose shape is arbitrary if it explains little.
    """

    def __init__(self, problem: Problem, remembers: bool = False) -> None:
        self.problem, self.robot, self.remembers = problem, problem.robot, remembers
        self.layout = RowLayout.of(problem.base)
        self.n = self.robot.n
        recordings = problem.recordings
        count = min(len(recordings), _MOST_LOGS)
        self.places: list[int] = np.unique(np.linspace(0, len(recordings) - 1, count).round().astype(int)).tolist()
        self.recordings: list[Recording] = [recordings[k] for k in self.places]
        self.logs: list[Log] = [_inside(r) for r in self.recordings]
        self._curves: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._grams = lru_cache(maxsize=4)(self._grams_of)
        self._changes: dict[tuple[object, ...], LogChange] = {}
        self.tried: list[CandidateTrial] = []

    # The logs ------------------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> StudyRows:
        """The rows of all logs, filtered at the end of the motion and spread over the whole of each."""
        total = sum(log.duration for log in self.logs) or 1.0
        parts = [
            self._rows_of(log, max(_LEAST_ROWS, int(_ROWS * log.duration / total)), k)
            for k, log in enumerate(self.logs)
        ]
        return StudyRows(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _rows_of(self, log: Log, count: int, k: int) -> tuple[np.ndarray, ...]:
        from scipy.signal import butter, sosfiltfilt

        from taupi.identification.verdict.shown import limited

        if log.is_prepared:
            motion, tau = self.layout.motion(log), self.torque(log)
            some = np.arange(0, len(tau), max(1, len(tau) // count))
            q, qd, qdd = (x[some] for x in motion)
            self._curves.append((log.time, tau, log.time[some]))
            dry = self._dry(motion[0], motion[1], float(np.median(np.diff(log.time))))[some]
            return q, qd, qdd, dry, tau[some], np.full(len(q), k)
        step = float(np.median(np.diff(log.time)))
        time = np.arange(log.time[0], log.time[-1], step)
        q, tau = (_at(time, log.time, x) for x in (log.q, self.torque(log)))
        hz = motion_cutoff(Log(time, q))
        order = butter(2, min(2 * hz * step, 0.9), output="sos")
        pad = min(len(time) - 1, int(3 / (hz * step)))

        def filtered(x: np.ndarray) -> np.ndarray:
            return np.asarray(sosfiltfilt(order, x, axis=0, padlen=pad))

        q, tau = filtered(q), filtered(tau)
        qd = np.gradient(q, step, axis=0)
        qdd, dry = np.gradient(qd, step, axis=0), filtered(self._dry(q, qd, step))
        edge = int(1 / (hz * step)) + 1
        some = np.arange(edge, len(time) - edge, max(1, int(max((len(time) - 2 * edge) / count, 1 / (10 * hz * step)))))
        free = filtered(_at(time, log.time, limited(log)[:, None].astype(float)))[some, 0] < _TOUCHED
        some = some[free] if free.mean() > _ENOUGH else some
        self._curves.append((time, tau, time[some]))
        return q[some], qd[some], qdd[some], dry[some], tau[some], np.full(len(q[some]), k)

    def _dry(self, q: np.ndarray, qd: np.ndarray, seconds: float) -> np.ndarray:
        """Return the shape of dry friction (N, n) along a motion, sampled every `seconds`.

        Where friction of the fit remembers the last reversal, it does here: without that it would look like a delay.
        """
        dry, plan = np.tanh(qd / _slow(qd)), self.problem.friction
        joints = [np.flatnonzero(direction) for direction in plan.directions]
        own = [i for i, at in enumerate(joints) if self.remembers and len(at) == 1 and plan.distances[i] > 0]
        if own:
            z, _ = plan.along_motion(q, qd, seconds)
            for i in own:
                j = int(joints[i][0])
                dry[:, j] = z[:, i] / plan.directions[i, j]
        return dry

    def torque(self, log: Log) -> np.ndarray:
        """Return the torque (N, n) of a log without relative gains, and with what is known to act beside it."""
        gains = self.layout.gains(self.problem.preparation.relative_gains)
        return self.layout.torque(log) / gains + self.layout.known_torque(log, self.problem.preparation.known_torque)

    def torque_later(self, seconds: float) -> np.ndarray:
        """Return the torque (m, n) that was recorded some seconds after each row."""
        self.rows  # noqa: B018 - the curves come with the rows
        return np.concatenate([_at(at + seconds, time, tau) for time, tau, at in self._curves])

    @property
    def period(self) -> float:
        """The period of the fastest motion that is kept, s."""
        return float(np.median([1 / motion_cutoff(log) for log in self.logs]))

    @cached_property
    def live(self) -> np.ndarray:
        """Which joints (n,) move, with a torque that is not one and the same value nearly always."""
        moves = np.any([np.ptp(log.q, axis=0) > _STILL for log in self.logs], axis=0)
        torques = [self.torque(log) for log in self.logs]
        speaks = [any(rules.most_common(tau[:, j])[1] <= rules.DEAD for tau in torques) for j in range(self.n)]
        return moves & np.array(speaks)

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of the rows."""
        return Blocks.of(self.rows.q, self.rows.qd, self.live)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The root mean square (n,) of the torque of each joint."""
        return np.sqrt((self.rows.tau**2).mean(axis=0))

    @property
    def carrying(self) -> np.ndarray:
        """Which joints (n,) carry a tenth or more of the largest torque."""
        return self.live & (self.sizes >= 0.1 * self.sizes[self.live].max(initial=0.0))

    # Rows of the regressor -------------------------------------------------------------------------------------------

    @cached_property
    def _program(self) -> tuple[Program, np.ndarray, np.ndarray]:
        """The regressor of the fit, and which of its columns are those of links, and of further terms."""
        base = self.problem.base.linear
        links = LINK_SIZE * len(self.robot.links)
        kinds = [base.standard.layout.entries[k].kind for k in base.columns]
        of_links = np.array([c < links for c in base.columns], dtype=bool)
        # Dry friction has a shape of its own here, and what depends on it is left to the fit.
        further = np.array([k not in OWN_TERMS and not kind_of(k).jumps for k in kinds]) & ~of_links
        return base.regressor(), np.flatnonzero(of_links), np.flatnonzero(further)

    @cached_property
    def described(self) -> np.ndarray | None:
        """The parameters of the columns of links as described, if the description states any masses."""
        links, base = LINK_SIZE * len(self.robot.links), self.problem.base.linear
        standard = np.append(self.problem.prior[:links], np.zeros(len(base.standard) - links))
        return base.project(standard)[self._program[1]] if np.abs(standard).sum() else None

    @cached_property
    def _under_gravity(self) -> tuple[Program, np.ndarray] | None:
        """The regressor with gravity as an input, and the columns that are independent under some gravity."""
        return _under_gravity(self.robot)

    def link_rows(self, rows: StudyRows, gravity: Gravity | None = None) -> np.ndarray:
        """Return the columns (m, n, p) of the links' parameters."""
        if gravity is None:
            program, links, _ = self._program
            return _some(_rows(program, rows.q, rows.qd, rows.qdd), links)
        assert self._under_gravity is not None
        program, columns = self._under_gravity
        every = _rows(program, rows.q, rows.qd, rows.qdd, np.broadcast_to(gravity, (len(rows.q), 3)))
        return _some(every, columns)

    def columns(self, rows: StudyRows, gravity: Gravity | None = None) -> np.ndarray:
        """Return all columns (m, n, p): links, further terms, and viscous, dry, constant and inertial torque of each joint."""
        program, _, further = self._program
        parts = [self.link_rows(rows, gravity)]
        if len(further):
            parts.append(_some(_rows(program, rows.q, rows.qd, rows.qdd), further))
        others, i = sum(part.shape[2] for part in parts), np.arange(self.n)
        y = np.zeros((others + 4 * self.n, self.n, len(rows.q)))  # column by column, as regressors are compiled
        np.concatenate([part.transpose(2, 1, 0) for part in parts], out=y[:others])
        for k, value in enumerate((rows.qd, rows.dry, np.ones(rows.qd.shape), rows.qdd)):
            y[others + k * self.n + i, i] = value.T
        return y.transpose(2, 1, 0)

    def _grams_of(self, key: tuple[object, ...]) -> Grams:
        change = self._changes[key]
        return Grams.of(self.columns(self.rows.changed(change), change.gravity), self.rows.tau, self.blocks)

    def grams(self, change: LogChange) -> Grams:
        """Return the products of the rows of changed logs."""
        if change.later:
            rows = self.rows.changed(change)
            return Grams.of(self.columns(rows, change.gravity), self.torque_later(change.later), self.blocks)
        key = change._of_rows
        self._changes[key] = change
        return self._grams(key)

    # Alternatives --------------------------------------------------------------------------------------------------

    def coarse_level(self, change: LogChange) -> float:
        """Return the level of the fit of changed logs to every third row, for searches."""
        some = slice(None, None, _COARSE)
        rows = StudyRows(*(getattr(self.rows, f.name)[some] for f in dataclasses.fields(StudyRows)))
        tau = rows.tau if not change.later else self.torque_later(change.later)[some]
        if change.gravity is None:
            y = self.columns(rows.changed(change))
        else:
            still, axes = self._gravity_columns
            links = still[some] + sum(g * part[some] for g, part in zip(change.gravity, axes, strict=True))
            y = np.concatenate([links, self._own_columns[some]], axis=2)
        return Score.of(Grams.of(y, tau, Blocks(np.zeros(len(tau), dtype=int), 1, 0.0)), self.live, change.torque).level

    def score(self, change: LogChange) -> Score:
        """Return the fit of changed logs."""
        return Score.of(self.grams(change), self.live, change.torque)

    @cached_property
    def base_score(self) -> Score:
        """The fit of the logs as they are."""
        return self.score(LogChange())

    @cached_property
    def attainable(self) -> float:
        """The most negative sum of logarithms that any alternative could reach: all errors below 1 %."""
        left = self.base_score.left_out_joints[self.live] ** 2
        return float(np.log(FLOOR / (left + FLOOR)).sum())

    def comparison(self, score: Score, order: np.ndarray | None = None) -> PairedScores:
        """Return an alternative beside the logs as they are."""
        return compared(self.base_score, score, order)

    def separate(self) -> Score:
        """Return the logs as they are with parameters of its own for each joint: what any arm of these columns could explain."""
        grams, score = self.grams(LogChange()), self.base_score
        joints, left = np.zeros(self.n), np.zeros((self.blocks.count, self.n))
        for j in np.flatnonzero(self.live):
            alone = np.arange(self.n) == j
            single = Score.of(grams, alone)
            joints[j], left[:, j] = single.joints[j], single.left_out[:, j]
        result = dataclasses.replace(score, joints=joints)
        result.__dict__["left_out"] = left
        return result

    def links_in_torque(self, j: int) -> float:
        """Return how much more links explain of the torque of joint j than its own friction, offset and rotor: ln of power left.

        Links of its own are fitted to this joint, so that no other joint has a say.
        """
        grams, alone = self.grams(LogChange()), np.arange(self.n) == j
        own = grams.columns - 4 * self.n + j + self.n * np.arange(4)
        friction, links = (Score.of(g, alone).left_out_joints[j] ** 2 for g in (grams.select(own), grams))
        return float(np.log((links + FLOOR) / (friction + FLOOR)))

    def per_log(self) -> Score | None:
        """Return the logs as they are with parameters of its own for each log; None if there is one log, or one is too short."""
        files = np.unique(self.rows.log)
        if len(files) < 2:
            return None
        y, left, counts = self.columns(self.rows), np.zeros((self.blocks.count, self.n)), np.zeros(self.blocks.count)
        joints = np.zeros(self.n)
        for k in files:
            own = self.rows.log == k
            present, label = np.unique(self.blocks.of_row[own], return_inverse=True)
            if len(present) < 2:
                return None
            part = Grams.of(y[own], self.rows.tau[own], Blocks(label, len(present), 0.0))
            score = Score.of(part, self.live)
            left[present] += score.left_out * (score.powers / self.base_score.powers) * part.counts[:, None]
            counts[present] += part.counts
            joints += score.joints * score.powers / self.base_score.powers * own.mean()
        result = dataclasses.replace(self.base_score, joints=joints)
        result.__dict__["left_out"] = left / counts[:, None]
        return result

    def under(self, gravity: Gravity) -> Score:
        """Return the fit under another gravity, over the columns that are independent under some gravity.

        Rows are linear in gravity: Y = Y_0 + sum_k g_k G_k.
        """
        still, axes = self._gravity_columns
        y = np.concatenate([still + sum(g * part for g, part in zip(gravity, axes, strict=True)), self._own_columns], 2)
        return Score.of(Grams.of(y, self.rows.tau, self.blocks), self.live)

    @cached_property
    def _gravity_columns(self) -> tuple[np.ndarray, list[np.ndarray]]:
        still, *axes = (self.link_rows(self.rows, tuple(g)) for g in np.vstack([np.zeros(3), np.eye(3)]))
        return still, [part - still for part in axes]

    @cached_property
    def _own_columns(self) -> np.ndarray:
        return self.columns(self.rows)[:, :, len(self.link_columns) :]

    @property
    def link_columns(self) -> np.ndarray:
        """The places of the links' parameters among the base parameters."""
        return self._program[1]

    # Witnesses -----------------------------------------------------------------------------------------------------

    def witness(self, change: LogChange) -> Witness | None:
        """Return what the description says of changed logs; None if it states no masses."""
        if self.described is None:
            return None
        rows, gravity = self.rows.changed(change), change.gravity
        if gravity is None:
            links = self.link_rows(rows) @ self.described
        else:
            assert self._under_gravity is not None
            program, _ = self._under_gravity
            every = _rows(program, rows.q, rows.qd, rows.qdd, np.broadcast_to(gravity, (len(rows.q), 3)))
            links = every @ self.problem.prior[: every.shape[2]]
        tau = rows.tau if change.torque is None else rows.tau @ change.torque.T
        return Witness(*np.array([_said(rows, links[:, j], tau[:, j], j) for j in range(self.n)]).T)

    @cached_property
    def own_witness(self) -> Witness | None:
        """What the description says of the logs as they are."""
        return self.witness(LogChange())

    def gravity_share(self) -> np.ndarray:
        """Return the torque (n,) that gravity would have by the description, root mean square, as a share of the recorded one."""
        if self.described is None:
            return np.zeros(self.n)
        still = dataclasses.replace(self.rows, qd=0 * self.rows.qd, qdd=0 * self.rows.qdd)
        torque = self.link_rows(still) @ self.described
        return np.asarray(np.sqrt((torque**2).mean(axis=0)) / np.maximum(self.sizes, 1e-30))

    @property
    def gravity_is_described(self) -> bool:
        """Whether a credible description has much gravity at two joints or more, and the log agrees with it."""
        witness = self.own_witness
        seen = self.live & (self.gravity_share() > _SEEN)
        if witness is None or witness.credible(self.live) < 0.5 or seen.sum() < 2:
            return False
        return bool(((witness.slopes > _SLOPES[0]) & (witness.slopes < _SLOPES[1]))[seen].all())

    @property
    def weighs(self) -> bool:
        """Whether gravity acts along a known direction."""
        return self._under_gravity is not None

    def apparent_mass(self) -> tuple[float, float]:
        """Return the mass (kg) that the torque of gravity in the fit has at full reach, and this reach (m)."""
        assert self._under_gravity is not None
        program, _ = self._under_gravity
        rng, last = np.random.default_rng(1), LINK_SIZE * (len(self.robot.links) - 1)
        q = np.where(self.robot.slides, 0.3, 3.0) * rng.uniform(-1, 1, (300, self.n))
        still = np.zeros(q.shape)
        levers = [
            np.abs(_rows(program, q, still, still, np.broadcast_to(axis, (len(q), 3)))[:, :, last]).max()
            for axis in np.eye(3)
        ]
        rows = dataclasses.replace(self.rows, qd=0 * self.rows.qd, qdd=0 * self.rows.qdd)
        links = self.link_rows(rows)
        torque = np.sqrt(((links @ self.base_score.x[: links.shape[2]]) ** 2).mean(axis=0))
        gravity, reach = float(np.linalg.norm([float(g) for g in self.robot.gravity])), float(max(levers))
        return float(torque[self.live].max(initial=0.0)) / max(gravity * reach, 1e-9), reach

    def friction_power(self, apart: bool = False) -> np.ndarray:
        """Return the power (n,) that viscous and dry friction take, in standard errors over blocks; `apart`: joint by joint.

        With links of its own for each joint, a fault at another joint does not leak in. Of a joint that hardly ever turns back,
        friction and offset are one: its power is not known, and stated as 0.
        """
        speed, rub = (self.rows.qd**2).mean(axis=0), np.abs(self.rows.dry * self.rows.qd).mean(axis=0)
        forwards = (self.rows.qd > 0).mean(axis=0)
        result = np.zeros(self.n)
        for j in np.flatnonzero(self.live & (np.minimum(forwards, 1 - forwards) > _BOTH_WAYS)).tolist():
            score = Score.of(self.grams(LogChange()), np.arange(self.n) == j) if apart else self.base_score
            p = score.grams.columns - 4 * self.n

            def power(x: np.ndarray, p: int = p, j: int = j) -> np.ndarray:
                return x[..., p + j] * speed[j] + x[..., p + self.n + j] * rub[j]

            folds, k = power(score.folds), len(score.folds)
            error = np.sqrt((k - 1) / k * ((folds - folds.mean()) ** 2).sum())
            result[j] = power(score.x) / max(float(error), 1e-30)
        return result

    @cached_property
    def _reach(self) -> tuple[np.ndarray, np.ndarray]:
        """The range (2, n) of q over all logs, without one value in a hundred at each end."""
        reached = [np.nanquantile(log.q, (0.01, 0.99), axis=0) for log in self.logs]
        return np.min(reached, axis=0)[0], np.max(reached, axis=0)[1]

    # Limits --------------------------------------------------------------------------------------------------------

    @property
    def _limits(self) -> list[Limits]:
        """The limits of the joints; none if joints share drives: logs are those of motors, limits those of joints."""
        shared = any(joint.mimic or joint.also for joint in self.robot.joints)
        return self.n * [Limits()] if shared else [joint.limits for joint in self.robot.driving_joints]

    @property
    def share_of_limits(self) -> np.ndarray:
        """The largest torque (n,) but one in a hundred, as a share of the limit in the description; NaN where it states none."""
        stated = np.array([limit.effort or np.nan for limit in self._limits], dtype=float)
        return np.asarray(np.quantile(np.abs(self.rows.tau), 0.99, axis=0) / stated)

    def outside_limits(self, change: LogChange) -> np.ndarray:
        """Return which joints (n,) of changed logs are outside of their limits, by more than a tenth of these."""
        least, most = np.sort([change.positions(q) for q in self._reach], axis=0)
        limits = self._limits
        lower = np.array([-np.inf if lim.lower is None else lim.lower for lim in limits], dtype=float)
        upper = np.array([np.inf if lim.upper is None else lim.upper for lim in limits], dtype=float)
        stated = upper > lower
        margin = np.where(stated & np.isfinite(upper - lower), _MARGIN * (upper - lower), 0.0)
        return stated & ((least < lower - margin) | (most > upper + margin))


@lru_cache(maxsize=8)
def _under_gravity(robot: Robot) -> tuple[Program, np.ndarray] | None:
    try:
        size = float(np.linalg.norm([float(g) for g in robot.gravity]))
    except TypeError:  # a symbol has no direction
        return None
    if not size:
        return None
    program = symbols_as_input(regressor(robot.with_gravity(_GRAVITY)), "gravity", _GRAVITY)
    rng = np.random.default_rng(0)
    q, qd, qdd, g = (rng.normal(size=(200, k)) for k in (robot.n, robot.n, robot.n, 3))
    return program, independent(_rows(program, q, qd, qdd, size * g).reshape(-1, LINK_SIZE * len(robot.links)))


def motion_cutoff(log: Log) -> float:
    """Return a cutoff (Hz) that lets the motion pass and not much noise: twice where 99.9 % of the power of q ends.

    The cutoff of a fit is not a guide: it depends on what the model explains, which is little as long as a mistake is in the log.

    >>> import numpy as np
    >>> t = np.arange(0, 20, 0.01)
    >>> round(motion_cutoff(Log(t, np.sin(2 * np.pi * 0.5 * t)[:, None])), 1)
    1.5
    """
    q = (log.q - log.q.mean(axis=0)) / np.maximum(log.q.std(axis=0), 1e-12) * (np.ptp(log.q, axis=0) > _STILL)
    spectrum = np.abs(np.fft.rfft(q * np.hanning(len(q))[:, None], axis=0)) ** 2
    share = np.cumsum(spectrum.sum(axis=1))
    end = int(np.searchsorted(share, (1 - _BEYOND) * share[-1])) + 1
    hz = _TIMES * end * log.rate_hz / len(q)
    return float(np.clip(hz, _LEAST_PERIODS / max(log.duration, 1e-9), 0.3 * log.rate_hz))


def independent(rows: np.ndarray) -> np.ndarray:
    """Return which columns of rows (m, p) are independent, in doubles: for columns of random states, far from any doubt."""
    from scipy.linalg import qr

    lengths = np.linalg.norm(rows, axis=0)
    acting = np.flatnonzero(lengths > 1e-9 * lengths.max())
    _, r, order = qr(rows[:, acting] / lengths[acting], mode="economic", pivoting=True)
    size = np.abs(np.diag(r))
    return np.sort(acting[order[: int((size > 1e-7 * size[0]).sum())]])


def _inside(recording: Recording) -> Log:
    """Return the moving part of a log, as it was recorded, without what its signals alone show to be wrong."""
    from taupi.identification.verdict.shown import mended

    source = recording.source
    log = source.recorded(SEEN)
    first, last = source.span
    return mended(log.rows((log.time >= first) & (log.time <= last)))


def _rows(program: Program, *inputs: np.ndarray) -> np.ndarray:
    """Return the rows (m, n, p) of a regressor."""
    return np.asarray(compiled_rows(program)(*_as_inputs(program, inputs))).transpose(2, 1, 0)


def _some(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return some columns of rows (m, n, p), in ascending order; they lie as before, one beside the other."""
    first, last = (int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 0)
    some = slice(first, last) if len(columns) == last - first else columns
    return np.asarray(rows.transpose(2, 1, 0)[some]).transpose(2, 1, 0)


def _as_inputs(program: Program, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    return inputs if len(inputs) == len(program.inputs) else regressor_inputs(program, *inputs)


def _at(time: np.ndarray, stamps: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(time, stamps, column) for column in x.T], axis=1)


def _slow(qd: np.ndarray) -> np.ndarray:
    return np.asarray(_BUILDS_UP * np.abs(qd).max(axis=0) + 1e-9)


def _said(rows: StudyRows, link: np.ndarray, tau: np.ndarray, j: int) -> tuple[float, ...]:
    """Return slope, correlation, error, share of the torque that is no friction and share of the links, for one joint."""
    own = np.stack([rows.qd[:, j], rows.dry[:, j], np.ones(len(tau)), rows.qdd[:, j]], axis=1)
    own = own / np.maximum(np.linalg.norm(own, axis=0), 1e-12)
    both = np.stack([link, tau], axis=1)
    left = both - own @ np.linalg.lstsq(own, both, rcond=None)[0]
    of_link, of_tau = left.T
    ll, lt, tt = (float(a @ b) for a, b in ((of_link, of_link), (of_link, of_tau), (of_tau, of_tau)))
    total = max(float(tau @ tau), 1e-30)
    error = float(((of_tau - of_link) ** 2).sum())
    shares = (float(np.sqrt(part / total)) for part in (error, tt, ll))
    return lt / max(ll, 1e-30), lt / np.sqrt(max(ll * tt, 1e-30)), *shares
