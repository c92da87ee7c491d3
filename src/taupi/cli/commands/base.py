"""`taupi base`: base parameters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.options import CouplingOption, Description, JsonOption, RobotArgument, TermsOption
from taupi.cli.parsing import names
from taupi.tables import table

if TYPE_CHECKING:
    from taupi.identifiability.base_parameters import BaseParameters


def base(
    robot: RobotArgument,
    *,
    terms: TermsOption = "",
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Parameter to keep as a base parameter, or a pattern (*.m). May be repeated."),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            help="Which parameters are preferred as representatives: symoro (the default), taupi, pinocchio, ...",
        ),
    ] = None,
    symbolic: Annotated[
        bool, typer.Option("--symbolic", help="Keep the description's symbols in coefficients.")
    ] = False,
    elastic: Annotated[
        bool, typer.Option("--elastic", help="Base parameters of the robot with elastic joints.")
    ] = False,
    coupling: CouplingOption = True,
    as_json: JsonOption = False,
    description: Description,
) -> None:
    """Show the base parameters: how many there are, what each stands for, and which parameters can be identified.

    \b
    taupi base puma560 --symbolic
    taupi base zollo2r --elastic
    taupi base panda.urdf --lock panda_finger_joint1 --terms viscous --json
    """
    import taupi as tp

    arm = description.load(robot)
    parameters = tp.base_parameters(arm, names(terms) or None, order, tuple(keep or ()), symbolic, elastic, coupling)
    print(json.dumps(parameters.to_dict(), indent=2) if as_json else base_text(parameters))


def base_text(base: BaseParameters) -> str:
    """Return base parameters as text: what each stands for in full, and the classes of the standard parameters."""
    kind = f", {base.title}" if base.title else ""
    lines = [f"{base.robot.name}: {base.count} base parameters of {len(base.standard)}{kind}", ""]
    lines += table([("base parameter", "stands for"), *((e.name, str(e)) for e in base.expressions)])
    lines.append("")
    for group in ("independent", "combined", "unidentifiable"):
        names = [name for name, its_group in base.classes.items() if its_group == group]
        lines.append(f"{group} ({len(names)}): {', '.join(names) or '-'}")
    if base.sentence:
        lines += ["", base.sentence]
    return "\n".join(lines)
