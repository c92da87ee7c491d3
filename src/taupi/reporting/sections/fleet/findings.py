"""What a maintenance engineer reads first: which arm, which joint, since when, and how certain that is."""

from __future__ import annotations

from typing import Any, ClassVar

from taupi.identification.fleet.drift import Drift
from taupi.identification.fleet.fleet_fit import MOST_CHANGES, Outlier
from taupi.reporting.sections.base import cell, head, listed, number

# Beyond this, chance is no explanation in a fleet of any size.
_SURE = 6.0
# Names of the parameters of terms in sentences.
_KINDS = {
    "viscous": "viscous friction",
    "coulomb": "Coulomb friction",
    "rotor": "rotor inertia",
    "load": "friction by load",
    "curve": "the curve of friction",
    "offset": "the offset",
}


class FindingsSection:
    """Arms that do not belong, and parameters that stand out, the farthest first."""

    name: ClassVar[str] = "findings"
    title: ClassVar[str] = "Arms to look at"
    template: ClassVar[str] = '$sentences\n$table\n<p class="soft">$meaning</p>'

    def fields(self, content: Any) -> dict[str, str]:
        """Return sentences on arms, and a table of parameters."""
        fleet, outliers = content.fleet, content.fleet.outliers(content.limit)
        sentences = [
            f"{arm} does not have the links of the others: its misfit with them is {ratio:.3g} times the expected one. It may "
            "carry a load or another tool, or its log may be wrong. It was fitted alone."
            for arm, ratio in fleet.strangers.items()
        ]
        sentences += [sentence(each) for each in outliers]
        changes = fleet.changes()
        sentences += [_change(each) for each in changes[:MOST_CHANGES]]
        return {
            "sentences": _verdict(sentences, max(len(changes) - MOST_CHANGES, 0)),
            "table": _table(outliers) if outliers else "",
            "meaning": "z is the distance from a typical arm in standard deviations (between arms, and the error of the "
            f"estimate); above {content.limit:g} an arm is listed. “First seen” is the first log that shows it on its own; "
            "“at” and “since” say when that log was recorded, as given, or its number among the arm's logs, from 0.",
        }


def sentence(each: Outlier) -> str:
    """Return what stands out, in words."""
    joint, _, kind = each.parameter.rpartition(".")
    if each.fleet > 0 and each.value > 0 and kind != "offset":
        how = f"{each.value / each.fleet:.2g} times that of a typical arm"
    else:
        how = f"{each.value:.3g} where a typical arm has {each.fleet:.3g}"
    since = f", first seen in {each.first_seen}{_when(each)}" if each.first_seen else ", in no single log alone"
    return f"{each.arm}, {joint}: {_KINDS.get(kind, kind)} is {how}{since}; {_certainty(each.z)}."


def _certainty(z: float) -> str:
    return f"{'certainly' if abs(z) > _SURE else 'very likely'} not by chance (z = {z:+.1f})"


def _verdict(sentences: list[str], more: int) -> str:
    """Return the verdict on the fleet: all is well, or what is not; `more` changes are counted and not described."""
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
        f"{each.arm}, {joint}: {_KINDS.get(kind, kind)} changed from {each.first:.3g} to {each.last:.3g}{since}, "
        f"compared with the arm's own earlier logs; {_certainty(each.z)}."
    )


def _when(each: Outlier) -> str:
    """Return when the first log that shows it was recorded: files of different days may have the same name."""
    return "" if each.when is None else f" (at {each.when:g})"


def _table(outliers: list[Outlier]) -> str:
    titles = ("arm", "parameter", "value", "± standard error", "typical arm", "z", "first seen")
    lines = "".join(
        f"<tr>{cell(o.arm, 'name')}{cell(o.parameter, 'name')}"
        + "".join(cell(number(v, 3), "number") for v in (o.value, o.stderr, o.fleet, o.z))
        + f"{cell(o.first_seen or '-')}</tr>"
        for o in outliers
    )
    return f'<div class="wide"><table>{head(titles, range(2, 6))}<tbody>{lines}</tbody></table></div>'
