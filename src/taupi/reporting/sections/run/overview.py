"""Runs at a glance: how well the motion is followed, with what torque, and whether V falls."""

from __future__ import annotations

import html
from typing import Any, ClassVar

from taupi.control.law_trial import SAMPLED, Trial
from taupi.reporting.run_content import RunContent
from taupi.reporting.sections.base import cell, figure, head, number

# Times by which an error has to differ between the first and the last fifth of the time to be called larger or smaller.
_CLEARLY = 1.2


class OverviewSection:
    """Key numbers of one trial; for several trials, one row each."""

    name: ClassVar[str] = "overview"
    title: ClassVar[str] = "Summary"

    def fields(self, content: RunContent) -> dict[str, str]:
        """Return figures or a table."""
        rows = [t.summary() for t in content.trials]
        unit = content.units("rad", "m")
        return {
            "verdict": _verdict(rows, unit),
            "figures": _figures(rows[0], unit, content.units("N m", "N")) if not content.several else "",
            "table": _table(content.trials, rows) if content.several else "",
            "meaning": html.escape(
                f"Tracking is the root mean square of |q - q_des| ({unit}) over the first and the last fifth of the time. "
                f"Torques are in {content.units('N m', 'N')}, V is in J."
            )
            if "rms_error_first" in rows[0]
            else "",
        }


def _verdict(rows: list[dict[str, Any]], unit: str) -> str:
    """Return in a sentence what became of the run, or of several which one followed most closely at the end."""
    if not any(row["complete"] for row in rows):
        return _boxed(
            "wrong", f"It diverges after {rows[0]['seconds']:.4g} s" if len(rows) == 1 else "All laws diverge"
        )
    complete = [row for row in rows if row["complete"] and "rms_error_last" in row]
    if not complete:
        return ""  # a run without a motion to follow
    best, *others = sorted(complete, key=lambda row: row["rms_error_last"])
    level, words = (
        _followed(best, unit) if len(rows) == 1 else ("good", f"follows most closely at the end: {_last(best, unit)}")
    )
    if others:
        words = f"{words}; next is {others[0]['law']} with {_last(others[0], unit)}"
    if best.get("V_largest_rise", 0.0) > SAMPLED:
        level, words = "doubtful", f"{words}, but V rises"
    return _boxed(level, f"{best['law']} {words}")


def _followed(row: dict[str, Any], unit: str) -> tuple[str, str]:
    """Return whether the motion of a run is followed more closely at the end than at the start, as a level and in words."""
    first, last = row["rms_error_first"], row["rms_error_last"]
    errors = f"from {number(first, 3)} to {_last(row, unit)}"
    if first > _CLEARLY * last:
        return "good", f"follows {first / last:.2g} times as closely at the end as at the start: {errors}"
    if last > _CLEARLY * first:
        return "doubtful", f"follows less closely at the end than at the start: {errors}"
    return "good", f"follows as closely at the end as at the start: {errors}"


def _last(row: dict[str, Any], unit: str) -> str:
    return f"{number(row['rms_error_last'], 3)} {unit}"


def _boxed(level: str, words: str) -> str:
    return f'<div class="verdict {level}"><p><b>{html.escape(words)}.</b></p></div>'


def _figures(row: dict[str, Any], unit: str, torque: str) -> str:
    tiles = []
    if "rms_error_first" in row:
        tiles.append(figure(number(row["rms_error_first"], 3), f"{unit}, tracking error at first"))
        tiles.append(figure(number(row["rms_error_last"], 3), f"{unit}, at last"))
    if "rms_error_held" in row:
        tiles.append(figure(number(row["rms_error_held"], 3), f"{unit}, at last with the estimate held"))
    tiles.append(figure(number(row["largest_torque"]), f"{torque}, largest torque"))
    if "payload_mass" in row:
        carried = f"kg, estimated payload at last; it is {number(row['payload_mass'], 3)} kg"
        tiles.append(figure(number(row["payload_estimate"], 3), carried))
    if "V_first" in row:
        tiles.append(figure(f"{number(row['V_first'], 3)} → {number(row['V_last'], 3)}", "V, from first to last"))
        tiles.append(
            figure(number(max(row["V_largest_rise"], 0.0), 2), "largest rise of V in a sample, as a share of V")
        )
    if not row["complete"]:
        tiles.append(figure(f"{row['seconds']:.4g} s", "then it diverged", "warn"))
    return f'<div class="figures">{"".join(tiles)}</div>'


def _table(trials: tuple[Trial, ...], rows: list[dict[str, Any]]) -> str:
    titles = ["law", "error, first fifth", "last fifth", "largest torque", "V, first", "last", "largest rise of V", ""]
    keys = ["rms_error_first", "rms_error_last", "largest_torque", "V_first", "V_last"]
    if any("rms_error_held" in row for row in rows):
        titles.insert(3, "last fifth, estimate held")
        keys.insert(2, "rms_error_held")
    if any("payload_estimate" in row for row in rows):
        titles.insert(-4, "payload, kg")
        keys.insert(-2, "payload_estimate")
    lines = []
    for k, (trial, row) in enumerate(zip(trials, rows, strict=True)):
        name = f'<td class="name"><span class="key n{k} c{k % 8}">{html.escape(trial.name)}</span></td>'
        cells = [cell(number(row[key], 3) if key in row else "-", "number") for key in keys]
        rise = f"{max(row['V_largest_rise'], 0.0):.1e}" if "V_largest_rise" in row else "-"
        ended = "" if row["complete"] else f"diverged after {row['seconds']:.4g} s"
        lines.append(f"<tr>{name}{''.join(cells)}{cell(rise, 'number')}{cell(ended)}</tr>")
    return f'<div class="wide"><table>{head(titles, range(1, len(titles) - 1))}<tbody>{"".join(lines)}</tbody></table></div>'
