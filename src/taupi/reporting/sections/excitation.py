"""The page of an exciting motion: its content, sampled once, and its sections, in the order of EXCITATION_SECTIONS."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.dynamics.inverse import inverse_dynamics
from taupi.excitation.commands import CommandPlan
from taupi.excitation.excitation import Excitation
from taupi.excitation.geometry.arrangement import Pair
from taupi.excitation.limits.certificates import Certificate
from taupi.excitation.limits.sampled_rows import described_terms
from taupi.identification.results.command_fit import milli, position_units
from taupi.reporting.chart import Line, chart, coloured
from taupi.reporting.film import DrawnArm, film, strip
from taupi.reporting.page import page
from taupi.reporting.sections.base import ProvenanceSection, Section, figure, listed, number, percent, table

# Hz, and the largest number of moments at which a motion is drawn.
_RATE_HZ, _MOST = 100.0, 4000
_POINTS = 1200
GROUP = "excitation"  # the charts of a page zoom together
SPARE = "mm more than required"  # the unit of distances
_PAIRS, _FAR = 8, 150  # more lines than colours are unreadable, and pairs farther apart than this (mm) do not matter


@dataclass(frozen=True, eq=False)
class PlannedContent:
    """A planned motion on a page, sampled once."""

    plan: Excitation | CommandPlan

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do first, in sentences."""
        return ()

    @cached_property
    def time(self) -> np.ndarray:
        """The moments that are drawn, in s."""
        return np.linspace(0.0, self.plan.duration, min(_MOST, max(2, int(self.plan.duration * _RATE_HZ) + 1)))

    @cached_property
    def states(self) -> tuple[np.ndarray, ...]:
        """q, qd, qdd (N, n)."""
        return tuple(self.plan.motion(self.time))

    @cached_property
    def torque(self) -> np.ndarray:
        """The torque (N, n) of the description's parameters, friction included."""
        torque = inverse_dynamics(self.plan.robot, terms=described_terms(self.plan.robot, smooth=False)).compile(
            "numpy"
        )
        return np.asarray(torque(*self.states))

    @cached_property
    def spare(self) -> dict[Pair, np.ndarray]:
        """How much more (N,) than the required distance each pair keeps, in mm; empty if none is watched."""
        clearance = self.plan.clearance
        if clearance is None:
            return {}
        rows = 1000 * (clearance.distances(self.states[0]) - clearance.margins)
        pairs = clearance.pairs
        return {pair: rows[:, [p == pair for p in pairs]].min(axis=1) for pair in dict.fromkeys(pairs)}

    def distances(self) -> str:
        """Return charts of the least distance, and of the pairs that come nearest; empty if none is watched."""
        if not self.spare:
            return ""
        nearest = np.min(list(self.spare.values()), axis=0)
        pairs = sorted(self.spare.items(), key=lambda item: item[1].min())[:_PAIRS]
        lines = [coloured(str(p), k, np.where(v < _FAR, v, np.nan)) for k, (p, v) in enumerate(pairs)]
        asked = self.edge("asked", 0.0)
        return self.chart("nearest of all pairs", SPARE, [asked, coloured("least", 1, nearest)]) + self.chart(
            f"pairs that come nearest, up to {_FAR} mm", SPARE, [asked, *lines]
        )

    def positions_and_torques(self) -> str:
        """Return charts of the joints' positions and torques."""
        robot = self.plan.robot
        slides = np.array(robot.slides)
        turning, sliding = ("rad", "N m"), ("m", "N")
        units = sliding if slides.all() else turning if not slides.any() else ("rad or m", "N m or N")
        drawn = zip(("position", "torque"), units, (self.states[0], self.torque), strict=True)
        return "".join(
            self.chart(title, unit, [coloured(name, k, x[:, k]) for k, name in enumerate(robot.joint_names)])
            for title, unit, x in drawn
        )

    def edge(self, name: str, value: float) -> Line:
        """Return the line of a limit."""
        return Line(name, "limit", np.full(len(self.time), value))

    def shares(self, title: str, names: Sequence[str], values: np.ndarray, limits: np.ndarray) -> str:
        """Return a chart of values (N, k) as shares of their limits (k,), with the limits themselves; empty without any."""
        kept = np.isfinite(limits)
        if not kept.any():
            return ""
        drawn = [
            coloured(names[k], i, 100 * values[:, k] / limits[k]) for i, k in enumerate(np.flatnonzero(kept).tolist())
        ]
        return self.chart(title, "% of the limit", [self.edge("limit", 100.0), self.edge("", -100.0), *drawn])

    def chart(self, title: str, unit: str, lines: Sequence[Line]) -> str:
        """Return a chart of lines over the time of the motion."""
        return chart(title, unit, self.time, lines, GROUP, _POINTS)


@dataclass(frozen=True, eq=False)
class ExcitationContent(PlannedContent):
    """An excitation on a page."""

    plan: Excitation

    @property
    def advice(self) -> tuple[str, ...]:
        """To try it slowly first, unless it is slow."""
        return () if "speed" in self.plan.record else ("Try it at 30 % of the speed first (--speed 0.3).",)

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Exciting motion of {self.plan.robot.name}"

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        return f"{self.plan.duration:.4g} s, criterion {self.plan.criterion.upper()}, {self.plan.base.count} base parameters"

    @property
    def provenance(self) -> dict[str, object]:
        """Where it comes from, and the settings that are not None."""
        plan = self.plan
        subjects = {"course": plan.course, "goal": plan.goal, "margins": plan.margins, "search": plan.search}
        settings = {name: {k: v for k, v in s.to_dict().items() if v is not None} for name, s in subjects.items()}
        return {**plan.record, **settings}


@dataclass(frozen=True, eq=False)
class CommandsContent(PlannedContent):
    """Commands for a robot without torque sensors on a page."""

    plan: CommandPlan

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Commands for {self.plan.robot.name}"

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        return f"{self.plan.duration:.4g} s; {self.plan.drive}"

    @property
    def provenance(self) -> dict[str, object]:
        """Where they come from."""
        margins = {k: v for k, v in self.plan.margins.to_dict().items() if v is not None}
        return {**self.plan.record, "drive": self.plan.drive.table(), "margins": margins}


def _certainty(plan: Excitation | CommandPlan) -> tuple[str, str, str]:
    """Return whether limits are proven, of what, and how that is shown."""
    if not plan.certified:
        return "not proven", "limits at all times", "warn"
    if plan.unchecked:
        return "proven in part", f"limits at all times; not checked: {', '.join(plan.unchecked)}", "warn"
    return "proven", "limits at all times", ""


class PromiseSection:
    """The promise in numbers, and the expected standard error of each parameter."""

    name = "promise"
    title = "What it promises"
    template = """
$figures
<details><summary>The expected standard error of each parameter</summary>
<p class="soft">For the assumed noise of torques; errors of the measured motion are not included.</p>
$errors</details>
"""

    def fields(self, content: ExcitationContent) -> dict[str, str]:
        """Return figures and the table of errors."""
        plan, factor = content.plan, content.plan.std_factor
        how = "larger" if factor < 1 else "smaller"
        tiles = [
            figure(number(max(factor, 1 / factor), 3), f"times {how} standard deviations than random motions"),
            figure(f"{plan.conditioning.rank} of {plan.base.count}", "parameters determined"),
            figure(number(plan.conditioning.scaled_condition, 3), "condition number, columns of length one"),
            figure(*_certainty(plan)),
        ]
        parameters = plan.base.parameters
        rows = zip(plan.names, parameters.units, parameters.values, plan.expected, plan.base.expressions, strict=True)
        lines = (
            (
                name,
                unit,
                number(value, 5),
                number(error, 2),
                percent(error / abs(value)) if value else "",
                str(stands_for),
            )
            for name, unit, value, error, stands_for in rows
        )
        titles = ("base parameter", "unit", "description", "expected error", "relative", "stands for")
        return {
            "figures": f'<div class="figures">{"".join(tiles)}</div>',
            "errors": table(titles, "name unit number number number short", lines),
        }


class FilmSection:
    """The arm at seven moments, and in motion; beside it, how near it comes to itself and its surroundings.

    If no distances are watched, positions and torques are beside it.
    """

    name = "film"
    title = "The arm"
    template = """
<div class="wide">$strip</div>
<div class="arm"><div>$film</div><div>$beside</div></div>
"""

    def fields(self, content: PlannedContent) -> dict[str, str]:
        """Return pictures."""
        arms = [DrawnArm("motion", "c0", content.time, content.states[0])]
        robot, clearance = content.plan.robot, content.plan.clearance
        space = None if clearance is None else clearance.space
        return {
            "strip": strip(robot, arms, space=space),
            "film": film(robot, arms, space),
            "beside": content.distances() or content.positions_and_torques(),
        }


class LimitsSection:
    """A chart for each kind of limit, and the table of proofs."""

    name = "limits"
    title = "Limits"
    template = """
<p class="soft hint">Drag over a chart to zoom in on a span of time, in all charts. Double-click to see all of
it.</p>
<div class="charts">$charts</div>
<details><summary>Proven for all times</summary>
$proofs</details>
"""

    def fields(self, content: PlannedContent) -> dict[str, str]:
        """Return charts and the table."""
        plan, limits = content.plan, content.plan.limits
        q, qd, qdd = (state @ limits.spread.T for state in content.states)
        charts = [
            content.shares("position from mid-range", limits.joints, q - limits.middle, limits.half),
            content.shares("speed", limits.joints, qd, limits.velocity),
            content.shares("acceleration", limits.joints, qdd, limits.acceleration),
        ]
        if np.any(plan.robot.parameters.values):
            charts.append(content.shares("torque", plan.robot.joint_names, content.torque, limits.effort))
        proofs = [c for c in plan.certificates.values() if isinstance(c, Certificate)]
        rows = (
            (proof.quantity, joint, number(bound), number(limit), percent(used), proof.how)
            for proof in proofs
            for joint, bound, limit, used in zip(proof.joints, proof.bound, proof.limit, proof.used, strict=True)
        )
        titles = ("limit", "joint", "at most", "limit", "used", "by")
        return {"charts": "".join(charts), "proofs": table(titles, "text name number number number text", rows)}


class ClearanceSection:
    """What is proven about distances, what is not checked, the lowest point, and which pairs were left out, and why."""

    name = "clearance"
    title = "Clearance"
    template = """
<p>$sentence</p>
$unchecked
$left_out
"""

    def fields(self, content: PlannedContent) -> dict[str, str] | None:
        """Return sentences."""
        plan, clearance = content.plan, content.plan.clearance
        lowest = [] if plan.lowest is None else [plan.lowest.sentence]
        unchecked = [f"{name}: {reason}" for name, reason in plan.unchecked.items()]
        if clearance is None:
            sentences, left_out = lowest, []
        else:
            sentences = [plan.certificates["clearance"].sentence, clearance.floor.sentence, *lowest]
            left_out = [str(item) for item in clearance.left_out if str(item.pair) not in plan.unchecked]
        return {
            "sentence": html.escape(" ".join(sentences)),
            "unchecked": f"<p>Not checked:</p>{listed(unchecked)}" if unchecked else "",
            "left_out": f"<p>Left out:</p>{listed(left_out)}" if left_out else "",
        }


class RemarksSection:
    """Sentences."""

    name = "remarks"
    title = "Remarks"
    template = "$sentences\n"

    def fields(self, content: PlannedContent) -> dict[str, str]:
        """Return a list."""
        return {"sentences": listed((*content.plan.sentences, *content.advice))}


EXCITATION_SECTIONS: tuple[Section, ...] = (
    PromiseSection(),
    FilmSection(),
    LimitsSection(),
    ClearanceSection(),
    RemarksSection(),
    ProvenanceSection(),
)


def excitation_page(plan: Excitation, sections: Sequence[Section] | None = None) -> str:
    """Return the page of an excitation as the text of an HTML file."""
    return page(ExcitationContent(plan), EXCITATION_SECTIONS if sections is None else sections)


class OutlookSection:
    """What planned commands will show of each parameter, what they will not show, and what they will hardly tell apart."""

    name = "outlook"
    title = "What it will show"
    template = """
$figures
$hidden
$parameters
"""

    def fields(self, content: CommandsContent) -> dict[str, str]:
        """Return figures, sentences and the table of expected errors."""
        plan = content.plan
        count = len(plan.expected)
        tiles = [
            figure(f"{count - len(plan.hidden)} of {count}", "parameters will be seen", "warn" if plan.hidden else ""),
            figure(milli(plan.sigma, position_units(plan.robot)), "noise of the encoders, assumed"),
            figure(*_certainty(plan)),
        ]
        hidden = [f"This motion will not show {', '.join(plan.hidden)}."] if plan.hidden else []
        rows = (
            (p.name, p.unit, number(p.assumed, 4), number(p.stderr, 2) if p.shown else "not seen")
            for p in plan.expected
        )
        return {
            "figures": f'<div class="figures">{"".join(tiles)}</div>',
            "hidden": listed([*hidden, *plan.aliases]) if hidden or plan.aliases else "",
            "parameters": table(("parameter", "unit", "assumed", "expected error"), "name unit number number", rows),
        }


COMMANDS_SECTIONS: tuple[Section, ...] = (
    OutlookSection(),
    FilmSection(),
    LimitsSection(),
    ClearanceSection(),
    RemarksSection(),
    ProvenanceSection(),
)


def commands_page(plan: CommandPlan, sections: Sequence[Section] | None = None) -> str:
    """Return the page of planned commands as the text of an HTML file."""
    return page(CommandsContent(plan), COMMANDS_SECTIONS if sections is None else sections)
