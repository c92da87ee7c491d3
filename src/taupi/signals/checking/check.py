"""Find what is wrong with a log: each finding with its rows, and what `clean_log` does about it.

`CHECKS` has every check. To add one, write a generator of `Found` at its place below and put `@finds(kind, remedy)` above it:
the report, the command line and the list of kinds follow. Measurements and thresholds are in `rules`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from taupi.errors import InPython, Message, Spelling, TaupiError
from taupi.model.robot import Joint, Robot
from taupi.schema import finite_or_none
from taupi.signals.checking import rules
from taupi.signals.checking.commands import commanded, law_sentence, swapped_commands, torque_law, wrong_scales
from taupi.signals.checking.units_found import explained, units_found
from taupi.signals.filtering.delay import estimate_delay
from taupi.signals.log import Log, summary
from taupi.signals.mapping.columns import recorded_joints
from taupi.signals.stretches import Stretches, mean_step


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a log, or worth knowing.

    Attributes:
        kind: What it is, such as "gap" or "dead"; `taupi.signals.checking.check.CHECKS` lists all kinds.
        channel: The signal and the joint, such as "tau of j5"; empty if it concerns the whole log.
        message: One sentence to read.
        remedy: What `taupi.clean_log` does about it, as parts of a message; `rule` is the same as text.
        rows: (first, last) of each stretch of rows, both included; empty if it concerns all rows.
        count: The number of rows in these stretches.
        values: (name, number) of each number in the message, in SI units.
    """

    kind: str
    channel: str
    message: str
    remedy: Message
    rows: tuple[tuple[int, int], ...] = ()
    count: int = 0
    values: tuple[tuple[str, float], ...] = ()

    @property
    def rule(self) -> str:
        """What `taupi.clean_log` does about it."""
        return self.spelled_rule(str)

    def spelled_rule(self, spelling: Spelling) -> str:
        """Return what is done about it, with arguments written by the function `spelling`."""
        return self.remedy.spelled(spelling)

    def value(self, name: str) -> float:
        """Return the number called `name` in `values`, such as "longest_s"."""
        return dict(self.values)[name]


@dataclass(frozen=True, slots=True, repr=False)
class LogReport:
    """The result of `taupi.check_log`.

    Attributes:
        summary: The log in one line.
        samples: The number of samples.
        joints: The names of the joints.
        rate_hz: Samples per second, from the mean step.
        jitter_std: The standard deviation of the steps between time stamps, s.
        jitter_max: The largest deviation of a step from the mean step, s.
        findings: What is wrong or worth knowing, in order.
    """

    summary: str
    samples: int
    joints: tuple[str, ...]
    rate_hz: float
    jitter_std: float
    jitter_max: float
    findings: tuple[Finding, ...]

    def of(self, kind: str) -> tuple[Finding, ...]:
        """Return the findings of one `kind`, such as "gap"."""
        return tuple(f for f in self.findings if f.kind == kind)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of findings present, each once."""
        return tuple(dict.fromkeys(f.kind for f in self.findings))

    def data(self, spelling: Spelling = str) -> dict[str, object]:
        """Return the report as plain data; rows are [first, last], at most 100 stretches per finding.

        `spelling` writes the arguments that rules name; by default as Python does.
        """
        findings = [
            {
                "kind": f.kind,
                "channel": f.channel,
                "message": f.message,
                "clean": f.spelled_rule(spelling),
                "count": f.count,
                "rows": [list(pair) for pair in f.rows[:100]],
                "values": dict(f.values),
            }
            for f in self.findings
        ]
        rate = finite_or_none(self.rate_hz)
        jitter = {"std_s": self.jitter_std, "max_s": self.jitter_max}
        return {
            "summary": self.summary,
            "samples": self.samples,
            "joints": list(self.joints),
            "rate_hz": rate,
            "jitter": jitter,
            "findings": findings,
        }

    def lines(self, spelling: Spelling = str) -> list[str]:
        """Return a line for each finding, and, after the findings of one kind, a line for what is done about them.

        `spelling` writes the arguments that rules name, by default as Python does.
        """
        lines = [] if self.findings else ["no problems found"]
        for (kind, rule), alike in groupby(self.findings, key=lambda f: (f.kind, f.spelled_rule(spelling))):
            lines += [f"{kind}: {f.channel}: {f.message}" if f.channel else f"{kind}: {f.message}" for f in alike]
            lines.append(f"    clean: {rule}")
        return lines

    def __repr__(self) -> str:
        return "\n".join([self.summary, *self.lines()])


def check_log(log: Log, robot: Robot | None = None) -> LogReport:
    """Return what is wrong with a log, or worth knowing, with row numbers and what `clean_log` does about it.

    Time: jitter, gaps, duplicates, steps backwards. Values: missing values, samples that repeat the previous one, dead channels,
    saturation, recorded derivatives that disagree with the signal. Motion: standstill, joints that never move or never reverse.
    The thresholds are in `taupi.signals.checking.rules`.

    Args:
        log: The log, of at least 3 samples.
        robot: The robot whose joint limits the log has to keep; by default limits are not checked.

    Returns:
        The findings, with the rate and the jitter of the time stamps.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(200) / 100
    >>> t[100:] += 0.3
    >>> report = tp.check_log(tp.Log(t, np.sin(t)[:, None]))
    >>> report.kinds, report.of("gap")[0].rows
    (('gap',), ((99, 100),))
    """
    if not isinstance(log, Log):
        raise TaupiError("{log} is {got!r}, expected a Log.", got=log)
    joints = () if robot is None else _joints(log, robot)
    if len(log) < 3:
        raise TaupiError("{log} has {got} samples, expected at least 3.", got=len(log))
    runs = [run for run in log.runs() if len(run) >= 3]
    if not runs:
        raise TaupiError("{log} has runs of at most {got} samples, expected at least 3.", got=2)
    each = [Checked(run, joints) for run in runs]
    rows = np.cumsum([0, *(len(run) for run in log.runs()[:-1])])
    first = [int(row) for row, run in zip(rows, log.runs(), strict=True) if len(run) >= 3]
    findings = tuple(
        finding
        for check in CHECKS.values()
        for finding in _together([check.findings(checked) for checked in each], first)
    )
    checked = max(each, key=lambda one: one.jitter_max if np.isfinite(one.jitter_max) else -1.0)
    mean = mean_step(log.time) or float("nan")
    rate = 1.0 / mean if mean > 0 else float("nan")
    return LogReport(summary(log), len(log), log.names, rate, checked.jitter_std, checked.jitter_max, findings)


def _together(runs: Sequence[list[Finding]], first: Sequence[int]) -> Iterator[Finding]:
    """Yield the findings of one check in the runs of a log: one for each channel, with the rows of all runs.

    `first` are the rows at which the runs begin.
    """
    if len(runs) == 1:
        yield from runs[0]
        return
    by_channel: dict[str, list[tuple[int, Finding]]] = {}
    for row, findings in zip(first, runs, strict=True):
        for finding in findings:
            by_channel.setdefault(finding.channel, []).append((row, finding))
    for found in by_channel.values():
        rows = tuple((a + row, b + row) for row, finding in found for a, b in finding.rows)
        row, example = max(found, key=lambda pair: pair[1].count)
        where = f"in {len({r for r, _ in found})} of {len(runs)} runs, such as that from row {row} on: "
        yield replace(example, message=where + example.message, rows=rows, count=sum(f.count for _, f in found))


def _joints(log: Log, robot: Robot) -> tuple[Joint, ...]:
    """Return the robot's joint for each column of a log; only the motors of a robot with loops may have been recorded."""
    joints = dict(zip(recorded_joints(robot), (robot.driving_joints[k] for k in robot.actuated), strict=True))
    if robot.loops and set(log.names) < set(joints):
        return tuple(joints[name] for name in log.names)
    if len(joints) != log.n:
        raise TaupiError(
            "{log} has {got} joints, expected {expected}: {joints:,}.", got=log.n, expected=len(joints), joints=joints
        )
    return tuple(joints.values())


# The checks --------------------------------------------------------------------------------------------------------


class Checked:
    """A log that is checked, with what several checks need to know about it.

    Attributes:
        log: The log.
        joints: The robot's joint for each column of the log; empty without a robot.
        mean_step: The mean time step, s; NaN if no step goes forward.
        jitter_std: The standard deviation of the time steps, s.
        jitter_max: The largest deviation of a time step from the mean step, s.
        still: The stretches in which no joint moves.
        moving: The mask (N,) of the samples in which a joint moves.
    """

    def __init__(self, log: Log, joints: Sequence[Joint]) -> None:
        self.log, self.joints = log, joints
        steps = rules.good_steps(log.time)
        self.mean_step = mean_step(log.time) or float("nan")
        self.jitter_std = float(steps.std()) if len(steps) else float("nan")
        self.jitter_max = float(np.abs(steps - self.mean_step).max()) if len(steps) else float("nan")
        self.still = rules.standstills(log)
        self.moving = ~self.still.mask(len(log))

    def channels(self) -> Iterator[tuple[str, str, np.ndarray]]:
        """Yield every channel: its signal, its name such as "tau of j5", and its values (N,)."""
        for name, value in self.log.signals.items():
            for j, joint in enumerate(self.log.names):
                yield name, f"{name} of {joint}", value[:, j]

    def efforts(self) -> Iterator[tuple[str, np.ndarray, float, float]]:
        """Yield the channels of efforts that hold a number: name, values (N,), most common value in motion, and its share."""
        for name, channel, x in self.channels():
            known = np.isfinite(x)
            if name in rules.EFFORTS and known.any():
                yield channel, x, *rules.most_common(x[self.moving & known])


class Found(NamedTuple):
    """What a check finds, in one place: the channel, the sentence, the rows, and the numbers in the sentence, in SI units."""

    channel: str
    message: str
    stretches: Stretches | None = None
    values: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class LogCheck:
    """A check of logs.

    Attributes:
        kind: What it finds, such as "gap".
        remedy: What `taupi.clean_log` does about it, or, if it does nothing, what a user can do.
        find: Yields what it finds in a log.
    """

    kind: str
    remedy: Message
    find: Callable[[Checked], Iterator[Found]]

    def findings(self, checked: Checked) -> list[Finding]:
        """Return what the check finds in a log, with the rows in words at the end of each sentence."""
        findings = []
        for channel, message, stretches, values in self.find(checked):
            rows, count = ((), 0) if stretches is None else (tuple(stretches.pairs()), stretches.count)
            sentence = message if stretches is None else f"{message}, {stretches}"
            findings.append(Finding(self.kind, channel, sentence, self.remedy, rows, count, tuple(values.items())))
        return findings


CHECKS: dict[str, LogCheck] = {}  # by kind, in the order of the report

Finder = Callable[[Checked], Iterator[Found]]


def finds(kind: str, remedy: Message) -> Callable[[Finder], Finder]:
    """Add the function below to `CHECKS`: it finds what is of this `kind`, and cleaning does what `remedy` says."""

    def add(find: Finder) -> Finder:
        CHECKS[kind] = LogCheck(kind, remedy, find)
        return find

    return add


_PREPARE = InPython("prepare(...)", "taupi identify")


# Time.


@finds("time-missing", Message("leaves these samples out"))
def _time_missing(checked: Checked) -> Iterator[Found]:
    yield from _times("time stamps are missing", ~np.isfinite(checked.log.time))


@finds("time-reversed", Message("sorts the samples by time; refuses a file in which time restarts"))
def _time_reversed(checked: Checked) -> Iterator[Found]:
    yield from _times("time steps backwards", np.concatenate(([False], np.diff(checked.log.time) < 0)))


@finds("time-duplicate", Message("keeps the first sample of equal stamps"))
def _time_duplicate(checked: Checked) -> Iterator[Found]:
    yield from _times("time does not advance: equal stamps", np.concatenate(([False], np.diff(checked.log.time) == 0)))


def _times(message: str, mask: np.ndarray) -> Iterator[Found]:
    if mask.any():
        yield Found("", f"{message} {int(mask.sum())} times", Stretches.of(mask))


@finds(
    "gap",
    Message(
        "interpolates gaps up to {short_gap}; refuses longer ones unless {long_gaps='interpolate'} or {long_gaps='longest'}"
    ),
)
def _gap(checked: Checked) -> Iterator[Found]:
    time = checked.log.time
    gaps = rules.gaps(time)
    if len(gaps):
        longest = float(np.diff(time)[gaps].max())
        message = f"{len(gaps)} gaps in time, the longest {longest:.4g} s"
        yield Found("", message, Stretches(gaps, gaps + 2), {"count": len(gaps), "longest_s": longest})


@finds("jitter", Message("interpolates all signals on a uniform grid of the mean step"))
def _jitter(checked: Checked) -> Iterator[Found]:
    mean, std, largest = checked.mean_step, checked.jitter_std, checked.jitter_max
    if mean > 0 and std > rules.JITTER * mean:
        message = f"time stamps jitter about {1 / mean:.5g} Hz: step {mean:.4g} s, std {std:.2g} s, at most {largest:.2g} s off"
        yield Found("", message, None, {"rate_hz": 1 / mean, "std_s": std, "max_s": largest})


# Values.


@finds("repeated", Message("keeps them; {decimate} keeps only every n-th sample"))
def _repeated(checked: Checked) -> Iterator[Found]:
    """Samples in motion repeat the previous one: the file was written faster than the robot measures."""
    log, moving = checked.log, checked.moving.copy()
    moving[0] = False
    repeated = rules.repeats(log) & moving
    share = float(repeated.sum() / max(moving.sum(), 1))
    if share <= rules.REPEATED:
        return
    message = f"{share:.1%} of the samples in motion repeat the one before"
    if share > 0.4 and np.isfinite(log.rate_hz):
        message += (
            f", so that the robot measures at {log.rate_hz * (1 - share):.3g} Hz rather than {log.rate_hz:.3g} Hz"
        )
    yield Found("", message, Stretches.of(repeated), {"share": share})


@finds(
    "missing",
    Message(
        "interpolates stretches up to {short_gap}; refuses longer ones unless {long_gaps='interpolate'} or "
        "{long_gaps='longest'}"
    ),
)
def _missing(checked: Checked) -> Iterator[Found]:
    for _, channel, x in checked.channels():
        missing = ~np.isfinite(x)
        if missing.any() and not missing.all():
            yield Found(channel, f"{int(missing.sum())} values are missing", Stretches.of(missing))


@finds(
    "dead",
    Message(
        "keeps it; {select}",
        select=InPython(
            "leave the joint out with log.select(...), or give its equations no weight",
            "leave its columns out of the mapping, and lock the joint",
        ),
    ),
)
def _dead(checked: Checked) -> Iterator[Found]:
    found = [
        Found(channel, "no number at all", None, {"share": 1.0})
        for _, channel, x in checked.channels()
        if not np.isfinite(x).any()
    ]
    for channel, _, value, share in checked.efforts():
        if share > rules.DEAD:
            message = f"{value:g} in {share:.1%} of the samples in motion"
            found.append(Found(channel, message, None, {"share": share, "value": value}))
    yield from _once(found)


@finds("saturated", Message("keeps it; these samples do not obey the model, so leave them out of a fit"))
def _saturated(checked: Checked) -> Iterator[Found]:
    found = []
    for channel, x, _, share in checked.efforts():
        stretches = rules.saturation(x)
        if share > rules.DEAD or not len(stretches):
            continue
        levels = sorted({float(x[a]) for a, _ in stretches})
        extremes = " and ".join(f"{v:g}" for v in levels)
        message = f"stays at its extreme {extremes} for {stretches.count} samples"
        found.append(Found(channel, message, stretches, {"level": levels[-1]}))
    yield from _once(found)


def _once(found: Sequence[Found]) -> Iterator[Found]:
    """Leave out what is already reported for tau: a dead current makes a dead torque."""
    reported = {f.channel for f in found}
    for f in found:
        signal, _, joint = f.channel.partition(" of ")
        if signal not in ("current", "tau_m") or f"tau of {joint}" not in reported:
            yield f


@finds("jump", Message("refuses it; name the column that numbers the runs, {segment}", segment='segment = "..."'))
def _jump(checked: Checked) -> Iterator[Found]:
    rows = rules.jumps(checked.log)
    if len(rows):
        message = f"q jumps {len(rows)} times as no motion does, as if the log held {len(rows) + 1} runs"
        yield Found("", message, Stretches(rows, rows + 1), {"count": len(rows)})


@finds("wraps", Message("keeps it; state in a mapping that they go on: q = {{columns = ..., wraps = true}}"))
def _wraps(checked: Checked) -> Iterator[Found]:
    for name in ("q", "theta"):
        for j, x in enumerate(checked.log.signals[name].T if name in checked.log.signals else ()):
            turns = np.flatnonzero(rules.turns(x)) + 1 if checked.log.units[j] == "rad" else np.zeros(0, dtype=int)
            if len(turns):
                message = f"starts again after a turn {len(turns)} times"
                yield Found(
                    f"{name} of {checked.log.names[j]}", message, Stretches(turns, turns + 1), {"count": len(turns)}
                )


# Motion.


@finds(
    "standstill", Message("keeps it; {prepare} trims it at both ends, since sign(qd) is noise there", prepare=_PREPARE)
)
def _standstill(checked: Checked) -> Iterator[Found]:
    still = checked.still
    if len(still):
        share = still.count / len(checked.log)
        yield Found("", f"no joint moves in {share:.1%} of the samples", still, {"share": share})


@finds("still", Message("keeps it; nothing about this joint's inertia can be identified"))
def _still(checked: Checked) -> Iterator[Found]:
    for joint, unit, span, _ in _travels(checked.log):
        if span <= rules.still_travel(unit):
            yield Found(f"q of {joint}", f"the joint moves by {span:.2g} {unit} in all", None, {"span": span})


@finds("one-way", Message("keeps it; its Coulomb friction and its offset cannot be separated"))
def _one_way(checked: Checked) -> Iterator[Found]:
    for joint, unit, span, back in _travels(checked.log):
        if span > rules.still_travel(unit) and back < rules.REVERSAL * span:
            message = f"the joint never reverses: it goes {span:.4g} {unit} one way and {back:.2g} back"
            yield Found(f"q of {joint}", message, None, {"span": span, "back": back})


def _travels(log: Log) -> Iterator[tuple[str, str, float, float]]:
    """Yield each joint's name, its unit, its range, and how far it goes against its main direction."""
    for j, (joint, unit) in enumerate(zip(log.names, log.units, strict=True)):
        yield joint, unit, *rules.travel(log.q[:, j])


@finds("unit", Message("keeps the numbers; if it is so, state the unit in a mapping: unit = '...'"))
def _unit(checked: Checked) -> Iterator[Found]:
    for found in units_found(checked.log, checked.joints):
        if not found.certain:  # one that follows from dq/dt is named where they disagree
            yield Found(found.channel, found.message, None, dict(found.values))


@finds("disagrees", Message("keeps it; {prepare} differentiates q itself and does not use it", prepare=_PREPARE))
def _disagrees(checked: Checked) -> Iterator[Found]:
    log = checked.log
    for low, high in (("q", "qd"), ("qd", "qdd"), ("theta", "thetad"), ("thetad", "thetadd")):
        if low not in log.signals or high not in log.signals:
            continue
        errors, slopes = rules.disagreement(log.time, log.signals[low], log.signals[high])
        bad = [j for j in range(log.n) if errors[j] > rules.DISAGREES]
        if not bad:
            continue
        worst = max(errors[j] for j in bad)
        message = f"differs from d({low})/dt by {worst:.0%} at worst"
        middle = float(np.median([slopes[j] for j in bad]))
        alike = all(abs(slopes[j] / middle - 1) < 0.1 for j in bad) and middle > 0
        factor = 1.0
        if alike and len(bad) == log.n and abs(np.log(middle)) > 0.2:
            factor = middle
            units = explained(middle, log, low, high) if high in ("qd", "thetad") else {}
            message += f"; it is {1 / middle:.4g} times too large, "
            if units:
                message += "as it is with " + " and ".join(f"{signal} in {unit}" for signal, unit in units.items())
            else:
                message += f"so a unit is wrong, or the rate, which would be {log.rate_hz / middle:.5g} Hz"
        names = ", ".join(log.names[j] for j in bad)
        yield Found(f"{high} of {names}", message, None, {"error": worst, "factor": factor})


@finds("limit", Message("keeps it; check units, joint order and offsets"))
def _limit(checked: Checked) -> Iterator[Found]:
    for j, joint in enumerate(checked.joints):
        limits, signals = joint.limits, checked.log.signals
        speed, effort = (np.inf if most is None else most for most in (limits.velocity, limits.effort))
        lower, upper = (
            -np.inf if limits.lower is None else limits.lower,
            np.inf if limits.upper is None else limits.upper,
        )
        for name, low, high in (("q", lower, upper), ("qd", -speed, speed), ("tau", -effort, effort)):
            x = signals[name][:, j] if name in signals else np.zeros(0)
            outside = (x < low) | (x > high)
            if outside.any():
                with np.errstate(invalid="ignore"):  # where there is neither a limit nor a number
                    beyond = max(float(np.nanmax(low - x)), float(np.nanmax(x - high)))
                message = f"{int(outside.sum())} samples are outside the limits {low:.4g} .. {high:.4g}, by up to {beyond:.3g}"
                yield Found(f"{name} of {joint.name}", message, Stretches.of(outside))


# Commands.


@finds(
    "computed",
    Message("keeps it; a fit refuses it: leave tau out of the mapping, and state [drive], to identify from commands"),
)
def _computed(checked: Checked) -> Iterator[Found]:
    law = torque_law(checked.log)
    if law is not None:
        table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in law.table.items())
        yield Found("", f"{law_sentence(law)}: {table}", None, {"explained": law.explained})


@finds("command-still", Message("keeps it; command a motion of this joint, or lock it"))
def _command_still(checked: Checked) -> Iterator[Found]:
    for joint, unit, _, wanted in commanded(checked.log):
        span = float(np.ptp(wanted)) if len(wanted) else 0.0
        if span <= rules.still_travel(unit):
            yield Found(f"qdes of {joint}", f"the command moves by {span:.2g} {unit} in all", None, {"span": span})


@finds("command-swapped", Message("keeps it; correct the order of the columns of qdes"))
def _command_swapped(checked: Checked) -> Iterator[Found]:
    log = checked.log
    for joint, other in swapped_commands(log).items() if log.qdes is not None else ():
        message = f"the joint follows the command of {log.names[other]}, not its own"
        yield Found(f"qdes of {log.names[joint]}", message, None, {"joint": joint, "other": other})


@finds("command-unit", Message("keeps it; state the unit, or the sign, of qdes in the mapping"))
def _command_unit(checked: Checked) -> Iterator[Found]:
    for joint, gain, sentence in wrong_scales(checked.log):
        yield Found(f"qdes of {joint}", sentence, None, {"gain": gain})


@finds(
    "command-late",
    Message("keeps it; state the delay in the mapping, qdes = {columns = ..., delay = ...}, if clocks differ"),
)
def _command_late(checked: Checked) -> Iterator[Found]:
    log, mean = checked.log, checked.mean_step
    if not mean > 0 or log.duration < 20 * rules.LATE:
        return
    for joint, unit, q, wanted in commanded(log):
        if np.ptp(q) <= rules.still_travel(unit) or np.ptp(wanted) <= rules.still_travel(unit):
            continue
        delay = estimate_delay(wanted, q, 1 / mean)
        if delay.correlation > 0.9 and (delay.seconds > rules.LATE or delay.seconds < -rules.LATE / 3):
            how = "after" if delay.seconds > 0 else "before"
            message = f"the joint moves {abs(delay.seconds):.3g} s {how} its command"
            yield Found(f"qdes of {joint}", message, None, {"delay_s": delay.seconds})


@finds(
    "command-rate",
    Message("keeps it; state drive.hold: whether the robot holds a command, or goes straight to the next"),
)
def _command_rate(checked: Checked) -> Iterator[Found]:
    log = checked.log
    if log.qdes is None:
        return
    new = np.concatenate([[False], (np.diff(log.qdes, axis=0) != 0).any(axis=1)])
    (changes,) = np.nonzero(new)
    if len(changes) < 10:
        return
    steps = np.diff(changes)
    every = float(np.median(steps))
    if every * rules.HELD >= 1:
        rate = log.rate_hz / every
        yield Found(
            "qdes", f"commands change every {every:g} samples: they were sent at {rate:.4g} Hz", None, {"rate_hz": rate}
        )


@finds(
    "gains",
    Message("keeps it; state kp and kd in N m/rad and N m s/rad, or, of a servo, in duty per rad, and torque_limit"),
)
def _gains(checked: Checked) -> Iterator[Found]:
    """The law asks for torques far beyond the joint's limit, or far below; a servo's duty is mostly at its limit."""
    log = checked.log
    if log.drive is None or log.qdes is None:
        return
    asked = np.abs(log.drive.per_joint("kp", log.n) * (log.qdes - log.q))
    if log.drive.law == "duty":
        share = np.nanmean(asked >= log.drive.per_joint("duty_limit", log.n), axis=0)
        for j in np.flatnonzero(share > rules.FULL_DUTY).tolist():
            message = f"asks for full duty in {share[j]:.0%} of the samples: is kp in duty per rad?"
            yield Found(f"drive of {log.names[j]}", message, None, {"share": float(share[j])})
        return
    stated = log.drive.per_joint("torque_limit", log.n)
    for j, joint in enumerate(checked.joints):
        limit, most = joint.limits.effort, float(np.nanpercentile(asked[:, j], 95))
        if not limit or np.isfinite(stated[j]) or rules.GAINS[0] * limit <= most <= rules.GAINS[1] * limit:
            continue
        message = f"kp (qdes - q) is up to {most:.3g} N m, and the limit of the joint {limit:.3g} N m"
        yield Found(f"drive of {joint.name}", message, None, {"torque": most, "limit": limit})


@finds("switch", Message("keeps it; where enabled is above 0.5 a motor is on"))
def _switch(checked: Checked) -> Iterator[Found]:
    log = checked.log
    if log.enabled is not None and not np.isin(log.enabled[np.isfinite(log.enabled)], (0.0, 1.0)).all():
        yield Found("enabled", "holds other numbers than 0 and 1", None, {"most": float(np.nanmax(log.enabled))})
