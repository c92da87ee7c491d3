"""What is printed about base parameters."""

from __future__ import annotations

from taupi.identifiability.base_parameters import BaseParameters
from taupi.tables import table


def base_text(base: BaseParameters) -> str:
    """Return base parameters as text: what each stands for in full, and the classes of the standard parameters."""
    kind = ", elastic joints" if base.elastic else ""
    lines = [f"{base.robot.name}: {base.count} base parameters of {len(base.standard)}{kind}", ""]
    lines += table([("base parameter", "stands for"), *((e.name, str(e)) for e in base.expressions)])
    lines.append("")
    for group in ("independent", "combined", "unidentifiable"):
        names = [name for name, its_group in base.classes.items() if its_group == group]
        lines.append(f"{group} ({len(names)}): {', '.join(names) or '-'}")
    if base.sentence:
        lines += ["", base.sentence]
    return "\n".join(lines)
