"""Find what is wrong with a log: each finding with its rows, and what `clean_log` does about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.errors import Argument, Part, Spelling, TaupiError, shown
from taupi.model.robot import Joint, Robot
from taupi.signals.checking import rules
from taupi.signals.log import Log
from taupi.signals.log_text import summary
from taupi.signals.mapping.columns import recorded_joints
from taupi.signals.stretches import Stretches, mean_step


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a log, or worth knowing.

    Attributes:
        kind: What it is, such as "gap" or "dead"; `taupi.signals.checking.rules.RULES` lists all kinds.
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
    remedy: tuple[Part, ...]
    rows: tuple[tuple[int, int], ...] = ()
    count: int = 0
    values: tuple[tuple[str, float], ...] = ()

    @property
    def rule(self) -> str:
        """What `taupi.clean_log` does about it."""
        return self.spelled_rule(str)

    def spelled_rule(self, spelling: Spelling) -> str:
        """Return what is done about it, with arguments written by the function `spelling`."""
        return "".join(part if isinstance(part, str) else spelling(part) for part in self.remedy)

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

    def data(self, spelling: Spelling = str) -> dict[str, Any]:
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
        rate = self.rate_hz if np.isfinite(self.rate_hz) else None
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
        """Return two lines for each finding; `spelling` writes the arguments that rules name, by default as Python does."""
        lines = [] if self.findings else ["no problems found"]
        for f in self.findings:
            message = f"{f.channel}: {f.message}" if f.channel else f.message
            lines += [f"{f.kind}: {message}", f"    clean: {f.spelled_rule(spelling)}"]
        return lines

    def __repr__(self) -> str:
        return "\n".join([self.summary, *self.lines()])


def check_log(log: Log, robot: Robot | None = None) -> LogReport:
    """Return what is wrong with a `log`, or worth knowing, with row numbers; each finding says what `clean_log` does about it.

    Time: jitter, gaps, duplicates, steps backwards. Values: missing values, samples that repeat the previous one, dead channels,
    saturation, recorded derivatives that disagree with the signal. Motion: standstill, joints that never move or never reverse.
    If a `robot` is given, its joint limits are checked as well. The thresholds are in `taupi.signals.checking.rules`.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(200) / 100
    >>> t[100:] += 0.3
    >>> report = tp.check_log(tp.Log(t, np.sin(t)[:, None]))
    >>> report.kinds, report.of("gap")[0].rows
    (('gap',), ((99, 100),))
    """
    if not isinstance(log, Log):
        raise TaupiError(Argument("log"), f" is {shown(log)}, expected a Log.")
    joints = () if robot is None else _joints(log, robot)
    if len(log) < 3:
        raise TaupiError(Argument("log"), f" has {len(log)} samples, expected at least 3.")
    steps = rules.good_steps(log.time)
    mean = mean_step(log.time) or float("nan")
    std = float(steps.std()) if len(steps) else float("nan")
    largest = float(np.abs(steps - mean).max()) if len(steps) else float("nan")
    still = rules.standstills(log)
    findings = _time_findings(log, mean, std, largest)
    findings += _repeat_findings(log, still)
    findings += _value_findings(log, still)
    findings += _motion_findings(log, still)
    findings += _derivative_findings(log)
    findings += _limit_findings(log, joints)
    rate = 1.0 / mean if mean > 0 else float("nan")
    return LogReport(summary(log), len(log), log.names, rate, std, largest, tuple(findings))


def _finding(kind: str, channel: str, message: str, stretches: Stretches | None = None, **values: float) -> Finding:
    rows, count = (tuple(stretches.pairs()), stretches.count) if stretches is not None else ((), 0)
    where = f", {stretches}" if stretches is not None else ""
    return Finding(kind, channel, message + where, rules.RULES[kind], rows, count, tuple(values.items()))


def _time_findings(log: Log, mean: float, std: float, largest: float) -> list[Finding]:
    findings = []
    for kind, message, mask in (
        ("time-missing", "time stamps are missing", ~np.isfinite(log.time)),
        ("time-reversed", "time steps backwards", np.concatenate(([False], np.diff(log.time) < 0))),
        ("time-duplicate", "time does not advance: equal stamps", np.concatenate(([False], np.diff(log.time) == 0))),
    ):
        if mask.any():
            findings.append(_finding(kind, "", f"{message} {int(mask.sum())} times", Stretches.of(mask)))
    gaps = rules.gaps(log.time)
    if len(gaps):
        longest = float(np.diff(log.time)[gaps].max())
        stretches = Stretches(gaps, gaps + 2)
        message = f"{len(gaps)} gaps in time, the longest {longest:.4g} s"
        findings.append(_finding("gap", "", message, stretches, count=len(gaps), longest_s=longest))
    if mean > 0 and std > rules.JITTER * mean:
        message = f"time stamps jitter about {1 / mean:.5g} Hz: step {mean:.4g} s, std {std:.2g} s, at most {largest:.2g} s off"
        findings.append(_finding("jitter", "", message, None, rate_hz=1 / mean, std_s=std, max_s=largest))
    return findings


def _repeat_findings(log: Log, still: Stretches) -> list[Finding]:
    """Return a finding if samples in motion repeat the previous one: the file was written faster than the robot measures."""
    moving = ~still.mask(len(log))
    moving[0] = False
    repeated = rules.repeats(log) & moving
    share = float(repeated.sum() / max(moving.sum(), 1))
    if share <= rules.REPEATED:
        return []
    message = f"{share:.1%} of the samples in motion repeat the one before"
    if share > 0.4 and np.isfinite(log.rate_hz):
        message += (
            f", so that the robot measures at {log.rate_hz * (1 - share):.3g} Hz rather than {log.rate_hz:.3g} Hz"
        )
    return [_finding("repeated", "", message, Stretches.of(repeated), share=share)]


def _value_findings(log: Log, still: Stretches) -> list[Finding]:
    findings = []
    moving = ~still.mask(len(log))
    for name, value in log.signals.items():
        for j, joint in enumerate(log.names):
            x, channel = value[:, j], f"{name} of {joint}"
            missing = ~np.isfinite(x)
            if missing.all():
                findings.append(_finding("dead", channel, "no number at all", None, share=1.0))
                continue
            if missing.any():
                findings.append(
                    _finding("missing", channel, f"{int(missing.sum())} values are missing", Stretches.of(missing))
                )
            if name in rules.EFFORTS:
                findings += _effort_findings(x, moving & ~missing, channel)
    return _without_repeats(findings)


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    """Leave out what is already reported for tau: a dead current makes a dead torque."""
    reported = {(f.kind, f.channel) for f in findings}
    derived = ("current of ", "tau_m of ")
    return [
        f
        for f in findings
        if not (f.kind in ("dead", "saturated") and f.channel.startswith(derived))
        or (f.kind, "tau of " + f.channel.split(" of ", 1)[1]) not in reported
    ]


def _effort_findings(x: np.ndarray, usable: np.ndarray, channel: str) -> list[Finding]:
    value, share = rules.most_common(x[usable])
    if share > rules.DEAD:
        return [
            _finding(
                "dead", channel, f"{value:g} in {share:.1%} of the samples in motion", None, share=share, value=value
            )
        ]
    stretches = rules.saturation(x)
    if not len(stretches):
        return []
    levels = sorted({float(x[a]) for a, _ in stretches})
    extremes = " and ".join(f"{v:g}" for v in levels)
    message = f"stays at its extreme {extremes} for {stretches.count} samples"
    return [_finding("saturated", channel, message, stretches, level=levels[-1])]


def _motion_findings(log: Log, still: Stretches) -> list[Finding]:
    findings = []
    if len(still):
        share = still.count / len(log)
        findings.append(_finding("standstill", "", f"no joint moves in {share:.1%} of the samples", still, share=share))
    for j, joint in enumerate(log.names):
        span, back = rules.travel(log.q[:, j])
        if span <= rules.still_travel(log.units[j]):
            findings.append(
                _finding("still", f"q of {joint}", f"the joint moves by {span:.2g} {log.units[j]} in all", span=span)
            )
        elif back < rules.REVERSAL * span:
            message = f"the joint never reverses: it goes {span:.4g} {log.units[j]} one way and {back:.2g} back"
            findings.append(_finding("one-way", f"q of {joint}", message, None, span=span, back=back))
    return findings


def _derivative_findings(log: Log) -> list[Finding]:
    findings = []
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
            message += f"; it is {1 / middle:.4g} times too large, so a unit is wrong, or the rate, which would be"
            message += f" {log.rate_hz / middle:.5g} Hz"
        names = ", ".join(log.names[j] for j in bad)
        findings.append(_finding("disagrees", f"{high} of {names}", message, None, error=worst, factor=factor))
    return findings


def _joints(log: Log, robot: Robot) -> tuple[Joint, ...]:
    """Return the robot's joint for each column of a log; only the motors of a robot with loops may have been recorded."""
    joints = dict(zip(recorded_joints(robot), (robot.driving_joints[k] for k in robot.actuated), strict=True))
    if robot.loops and set(log.names) < set(joints):
        return tuple(joints[name] for name in log.names)
    if len(joints) != log.n:
        raise TaupiError(Argument("log"), f" has {log.n} joints, expected {len(joints)}: {', '.join(joints)}.")
    return tuple(joints.values())


def _limit_findings(log: Log, joints: Sequence[Joint]) -> list[Finding]:
    findings = []
    for j, joint in enumerate(joints):
        limits = joint.limits
        for name, low, high in (
            ("q", limits.lower, limits.upper),
            ("qd", _negative(limits.velocity), limits.velocity),
            ("tau", _negative(limits.effort), limits.effort),
        ):
            value = log.signals.get(name)
            if value is None:
                continue
            x = value[:, j]
            mask = np.zeros(len(x), dtype=bool)
            for bound, over in ((low, low is not None and x < low), (high, high is not None and x > high)):
                if bound is not None:
                    mask |= over
            if mask.any():
                span = f"{low if low is not None else -np.inf:.4g} .. {high if high is not None else np.inf:.4g}"
                message = (
                    f"{int(mask.sum())} samples are outside the limits {span}, by up to {_beyond(x, low, high):.3g}"
                )
                findings.append(_finding("limit", f"{name} of {joint.name}", message, Stretches.of(mask)))
    return findings


def _negative(limit: float | None) -> float | None:
    return None if limit is None else -limit


def _beyond(x: np.ndarray, low: float | None, high: float | None) -> float:
    below = float(np.nanmax(low - x)) if low is not None else -np.inf
    above = float(np.nanmax(x - high)) if high is not None else -np.inf
    return max(below, above)
