"""Write the table of targets into docs/howto/take-it-away.md, from what the targets declare."""

from __future__ import annotations

from pathlib import Path

from taupi.bridges.makers import MAKERS
from taupi.bridges.targets.target import QUANTITIES, TARGETS, Place, Target

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "take-it-away.md"
_ORDER = ("mujoco", "mjlab", "isaaclab", "usd", "newton", "urdf", "sdf", "drake", "genesis")


def targets_table() -> str:
    """Return what each target can say of a joint as a Markdown table: a row per target, a column per quantity."""
    names = [*_ORDER, *sorted(set(TARGETS) - set(_ORDER))]
    head = ["target", "version", *(quantity.label for quantity in QUANTITIES.values()), "checked"]
    rows = [_row(TARGETS[name]) for name in names]
    return _markdown(head, rows)


def payloads_table() -> str:
    """Return the interfaces of robots' makers as a Markdown table."""
    head = ["`--for`", "robot", "call", "units, order, axes", "checked"]
    words = {"run": "signature in the package", "read": "manual", "names": "names in its ROS driver; units not"}
    return _markdown(head, [[f"`{n}`", m.title, f"`{m.call}`", m.units, words[m.checked]] for n, m in MAKERS.items()])


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def targets_notes() -> str:
    """Return what a user of each target should know, as a Markdown list."""
    remarks = ((TARGETS[name], remark) for name in _ORDER for remark in TARGETS[name].remarks)
    return "\n".join(f"- **{target.title}**: {remark}" for target, remark in remarks)


def _row(target: type[Target]) -> list[str]:
    cells = [_cell(target.places.get(quantity)) for quantity in QUANTITIES]
    checked = (
        f"by running {target.engine}" if target.engine else {"run": "read back", "read": "field names"}[target.checked]
    )
    return [f"[`{target.name}`]({target.link})", ", ".join(target.versions), *cells, checked]


def _cell(place: Place | None) -> str:
    if place is None:
        return "-"
    words = [f"`{name}`" for name in place.name.split(", ")]
    notes = [*(["per degree"] if place.per_degree else []), *([place.note] if place.note else [])]
    return " ".join(words) + (f" ({'; '.join(notes)})" if notes else "")


PARTS = {"targets": targets_table, "notes": targets_notes, "payloads": payloads_table}


def with_tables(text: str) -> str:
    """Return the page with the parts between their markers written anew."""
    for name, table in PARTS.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}\n{table()}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {PAGE}")
