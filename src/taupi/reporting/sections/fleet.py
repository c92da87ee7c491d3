"""The page of a fleet, which arm, which joint, since when and how certain: its content, and its sections in order."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.terms import kind_of
from taupi.identification.fleet.drift import Drift
from taupi.identification.fleet.fleet_fit import MOST_CHANGES, TOO_FEW, Fleet, Outlier
from taupi.model.parameters import printed_unit
from taupi.reporting.chart import ChartAxis, chart, coloured
from taupi.reporting.dots import ArmValues, arm_dots
from taupi.reporting.page import page
from taupi.reporting.sections.base import ProvenanceSection, Section, listed, number, percent, table
from taupi.tables import with_error

_NORMAL_95 = 1.96  # standard errors of a 95 % interval


def arm_values(fleet: Fleet, limit: float = 4.0) -> list[ArmValues]:
    """Return what each arm's own logs say about each own parameter, arms with |z| above the `limit` marked as standing out.

    Arms that do not have the links of the others are left out: their friction was fitted with other links.
    """
    outside = {(each.arm, each.parameter) for each in fleet.outliers(limit)}
    estimates = {arm: estimate for arm, estimate in fleet.estimates.items() if arm not in fleet.odd_arms}
    arms, parameters = tuple(estimates), next(iter(fleet.values())).basis.parameters
    drawn = []
    for i, (name, spread) in enumerate(fleet.spread.items()):
        values = np.array([estimate.own[i] for estimate in estimates.values()])
        half = _NORMAL_95 * np.sqrt([estimate.variance[i] for estimate in estimates.values()])
        out = np.array([(arm, name) in outside for arm in arms])
        unit = printed_unit(parameters.units[parameters.names.index(name)])
        drawn.append(ArmValues(name, unit, arms, values, np.where(np.isfinite(half), half, np.nan), out, spread.centre))
    return drawn


@dataclass(frozen=True, eq=False)
class FleetContent:
    """A fleet on a page; parameters with |z| above the `limit` stand out."""

    fleet: Fleet
    limit: float = 4.0

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"{self.fleet.record.get('robot', 'A robot')}: a fleet of {len(self.fleet)} arms"

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        logs = sum(len(fit.logs) for fit in self.fleet.values())
        return f"{logs} logs, {len(self.fleet.shared)} shared parameters, {len(self.fleet.own)} of each arm's own"

    @property
    def provenance(self) -> dict[str, object]:
        """Facts by name."""
        return self.fleet.record


def fleet_page(fleet: Fleet, limit: float = 4.0, sections: Sequence[Section] | None = None) -> str:
    """Return the page of a fleet as the text of an HTML file."""
    return page(FleetContent(fleet, limit), FLEET_SECTIONS if sections is None else sections)


class FindingsSection:
    """Arms that do not belong, and parameters that stand out, the farthest first."""

    name = "findings"
    title = "Arms to look at"
    template = '$sentences\n$table\n<p class="soft">$meaning</p>'

    def fields(self, content: FleetContent) -> dict[str, str]:
        """Return sentences on arms, and a table of parameters."""
        fleet, outliers = content.fleet, content.fleet.outliers(content.limit)
        sentences = [
            f"{arm} does not have the links of the others: its misfit with them is {ratio:.3g} times the expected one. It may "
            "carry a load or another tool, or its log may be wrong. It was fitted alone."
            for arm, ratio in fleet.odd_arms.items()
        ]
        sentences += [sentence(each) for each in outliers]
        changes = fleet.changes()
        sentences += [_change(each) for each in changes[:MOST_CHANGES]]
        return {
            "sentences": _verdict(fleet, sentences, max(len(changes) - MOST_CHANGES, 0)),
            "table": _table(outliers) if outliers else "",
            "meaning": "z is the distance from what the other arms predict, in standard deviations (between arms, and the "
            f"error of the estimate). An arm is listed if it is more than {content.limit:g} away and at most 2 % of fleets "
            "without faults have anything as far out, among all arms and parameters. “First seen” is the first log that shows it "
            "on its own; “at” and “since” say when that log was recorded, as given, or its number among the arm's logs, from 0.",
        }


def sentence(each: Outlier) -> str:
    """Return what stands out, in words."""
    joint, _, kind = each.parameter.rpartition(".")
    if each.fleet > 0 and each.value > 0 and kind != "offset":
        how = f"{each.value / each.fleet:.2g} times that of a typical arm"
    else:
        how = f"{each.value:.3g} where a typical arm has {each.fleet:.3g}"
    since = f", first seen in {each.first_seen}{_when(each)}" if each.first_seen else ", in no single log alone"
    certainty = f"very likely not by chance (z = {each.z:+.1f}; as far out {_rarity(each.chance)} without faults)"
    return f"{each.arm}, {joint}: {kind_of(kind).label or kind} is {how}{since}; {certainty}."


def _rarity(chance: float) -> str:
    """Return in how many fleets something happens: one of two hundred, say."""
    if chance < 1e-6:
        return "in less than one of a million fleets"
    return f"in one of {float(f'{1 / chance:.1g}'):.0f} fleets"


def _verdict(fleet: Fleet, sentences: list[str], more: int) -> str:
    """Return the verdict on the fleet: all is well, or what is not; `more` changes are counted and not described."""
    if not sentences and fleet.too_few:
        return f'<div class="verdict doubtful"><b>{TOO_FEW.format(count=fleet.compared)}.</b></div>'
    if not sentences:
        return '<div class="verdict"><b>Good: no arm stands out.</b></div>'
    count = f"{len(sentences) + more} findings" if len(sentences) + more > 1 else "One finding"
    unsaid = (
        [f"{more} more {'changes' if more > 1 else 'change'} over an arm's own logs, less clear ones."] if more else []
    )
    return f'<div class="verdict doubtful"><b>{count}:</b>{listed([*sentences, *unsaid])}</div>'


def _change(each: Drift) -> str:
    """Return how a parameter of an arm changed, in words."""
    joint, _, kind = each.parameter.rpartition(".")
    since = "" if each.since is None else f" since {each.since:g}"
    return (
        f"{each.arm}, {joint}: {kind_of(kind).label or kind} changed from {each.first:.3g} to {each.last:.3g}{since}, "
        f"compared with the arm's own earlier logs; very likely not by chance (z = {each.z:+.1f})."
    )


def _when(each: Outlier) -> str:
    """Return when the first log that shows it was recorded: files of different days may have the same name."""
    return "" if each.when is None else f" (at {each.when:g})"


def _table(outliers: list[Outlier]) -> str:
    titles = ("arm", "parameter", "value", "± standard error", "typical arm", "z", "first seen")
    rows = (
        (o.arm, o.parameter, *with_error(o.value, o.stderr), number(o.fleet, 3), number(o.z, 3), o.first_seen or "-")
        for o in outliers
    )
    return table(titles, "name name number number number number text", rows)


class ArmsSection:
    """One picture per parameter, first those in which an arm stands out, the farthest first."""

    name = "arms"
    title = "Arms side by side"
    template = """
<p class="soft">A dot is the value from one arm's own logs, with its 95 % interval; point at it for the numbers. The
dashed line is a typical arm. Red dots are the arms listed above. A hollow dot on that line is an arm whose logs do not
determine the value.</p>
$left_out
<div class="charts">$charts</div>"""

    def fields(self, content: FleetContent) -> dict[str, str]:
        """Return the pictures."""
        farthest = [each.parameter for each in content.fleet.outliers(content.limit)]
        panels = sorted(
            arm_values(content.fleet, content.limit),
            key=lambda panel: farthest.index(panel.name) if panel.name in farthest else len(farthest),
        )
        odd = html.escape(", ".join(content.fleet.odd_arms))
        words = f"Not drawn, since they were fitted with links of their own: {odd}." if odd else ""
        return {
            "left_out": f'<p class="soft">{words}</p>' if words else "",
            "charts": "\n".join(arm_dots(panel) for panel in panels),
        }


# Slopes that are drawn: at least this many standard errors, and at most this many charts.
_CLEAR, _MOST = 4.0, 6


class DriftSection:
    """Lines over time of parameters with a clear slope, or a jump."""

    name = "drift"
    title = "Drift"
    template = "$charts"

    def fields(self, content: FleetContent) -> dict[str, str] | None:
        """Return the charts; None if no arm has several logs, or nothing drifts."""
        fleet = content.fleet
        rows = [
            each for name in fleet.own for each in fleet.drift(name) if abs(each.z) > _CLEAR or each.since is not None
        ]
        if not rows:
            return None
        charts: list[str] = []
        for each in sorted(rows, key=lambda row: -abs(row.z))[:_MOST]:
            when, values = np.array(each.when), np.array(each.values)
            typical = np.full(len(when), fleet.spread[each.parameter].centre)
            since = "" if each.since is None else f", changed since {each.since:g}"
            title = f"{each.arm}: {each.parameter}, {each.slope:+.3g} per unit of time (z = {each.z:+.1f}){since}"
            walk = np.array(each.smoothed) if each.smoothed else values
            lines = [
                coloured("each log", 0, values),
                coloured("the walk behind them", 1, walk),
                coloured("a typical arm", 2, typical),
            ]
            charts.append(chart(title, "", when, lines, f"drift{len(charts)}", across=ChartAxis("when")))
        return {"charts": "\n".join(charts)}


class SpreadSection:
    """A table of parameters, and one of arms."""

    name = "spread"
    title = "The fleet"
    template = "$parameters\n$arms"

    def fields(self, content: FleetContent) -> dict[str, str]:
        """Return the two tables."""
        fleet = content.fleet
        spread = zip(arm_values(fleet), fleet.spread.values(), strict=True)
        return {
            "parameters": table(
                ("parameter", "unit", "typical arm", "deviation between arms", "compared by"),
                "name unit number number text",
                (
                    (
                        v.name,
                        v.unit,
                        number(v.typical, 3),
                        number(s.deviation, 2),
                        "ratios" if s.logarithmic else "differences",
                    )
                    for v, s in spread
                ),
            ),
            "arms": table(
                ("arm", "logs", "torque left unexplained"),
                "name number number",
                ((name, str(len(fit.logs)), percent(fit.relative)) for name, fit in fleet.items()),
            ),
        }


FLEET_SECTIONS: tuple[Section, ...] = (
    FindingsSection(),
    ArmsSection(),
    DriftSection(),
    SpreadSection(),
    ProvenanceSection(),
)
