"""The `taupi` command: thin, says the same words as the Python package."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from taupi import __version__
from taupi.cli import control, reproduce, simulate
from taupi.cli.fits import fits
from taupi.cli.programs import CONTROLLER, PROGRAMS, TASK_PROGRAMS, built, next_step
from taupi.cli.words import spelled

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Robot dynamics that are linear in their parameters: tau = Y(q, qd, qdd) pi.

    \b
    taupi info puma560
    taupi identify panda.urdf run1.csv run2.csv --validate run3.csv -o out
    """,
)
app.add_typer(fits)

RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A built-in robot, or a .urdf, .xml (MJCF) or .toml file.")
]
LockOption = Annotated[list[str] | None, typer.Option("--lock", help="Joint held at zero; may be repeated.")]
TipOption = Annotated[str | None, typer.Option("--tip", help="Link at the end of the chain.")]
SnapOption = Annotated[
    bool, typer.Option("--snap/--no-snap", help="Take near-right angles of the file as right angles.")
]
TermsOption = Annotated[str, typer.Option("--terms", help="Joint terms: viscous,coulomb,offset,rotor,stribeck.")]
CouplingOption = Annotated[
    bool,
    typer.Option("--coupling/--no-coupling", help="Of elastic joints: whether rotors turn the links that carry them."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def run() -> None:
    """Run the command line; what is wrong in the input is one sentence and exit code 3, never a traceback."""
    from taupi.errors import NotIdentifiedError, TaupiError

    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    try:
        app()
    except TaupiError as error:
        print(f"taupi: {spelled(error)}", file=sys.stderr)
        raise SystemExit(4 if isinstance(error, NotIdentifiedError) else 3) from None
    except BrokenPipeError:
        raise SystemExit(0) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Robot dynamics that are linear in their parameters."""


def _load(robot: str, lock: list[str] | None, tip: str | None, snap: bool) -> Any:
    import taupi as tp

    options: dict[str, Any] = {}
    if lock:
        options["lock"] = lock
    if tip:
        options["tip"] = tip
    if not snap:
        options["snap"] = False
    return tp.load(robot, **options)


def _split(terms: str) -> tuple[str, ...]:
    return tuple(t.strip() for t in terms.split(",") if t.strip())


@app.command()
def info(
    robot: Annotated[
        str | None, typer.Argument(metavar="[ROBOT]", help="Leave it out to list the built-in robots.")
    ] = None,
    lock: LockOption = None,
    tip: TipOption = None,
    snap: SnapOption = True,
    as_json: JsonOption = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw the robot into this .png, .svg or .pdf file.")
    ] = None,
    at: Annotated[str | None, typer.Option("--at", help="Where it stands in the picture: JSON list q.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the picture.")] = False,
) -> None:
    """Show a robot's card: joints, limits, parameters, what the reader did; and its picture.

    \b
    taupi info puma560
    taupi info panda.urdf --lock panda_finger_joint1 --json
    taupi info puma560 --picture puma.png --at '[0,0.7,-0.4,0,0.5,0]'
    """
    import taupi as tp
    from taupi.cli.card import card, card_data, configuration
    from taupi.errors import TaupiError

    if picture is None and (at is not None or force):
        raise TaupiError("--at and --force are for the picture: name its file by --picture.")
    if robot is None and picture is not None:
        raise TaupiError("--picture needs a robot: name one, such as puma560.")

    if robot is None:
        print("\n".join(tp.catalogue()))
        return
    loaded = _load(robot, lock, tip, snap)
    if picture is not None:
        tp.plot(loaded, q=configuration(at), path=picture, force=force)
        print(f"wrote {picture}", file=sys.stderr)
    print(json.dumps(card_data(loaded), indent=2) if as_json else card(loaded))


@app.command()
def regressor(
    robot: RobotArgument,
    form: Annotated[str, typer.Option("--form", help="classical, slotine-li or elastic.")] = "classical",
    terms: TermsOption = "",
    at: Annotated[
        str | None, typer.Option("--at", help="Evaluate at a state: JSON lists q, qd, qdd (or q, qd, qrd, qrdd).")
    ] = None,
    coupling: CouplingOption = True,
    lock: LockOption = None,
    tip: TipOption = None,
    snap: SnapOption = True,
    as_json: JsonOption = False,
) -> None:
    """Show a regressor: its columns, which of them act, its cost; or its value at a state.

    \b
    taupi regressor puma560 --form slotine-li
    taupi regressor zollo2r --form elastic
    taupi regressor elbow2r --at '[[0.1,0.2],[0.3,0.4],[0.5,0.6]]' --json
    """
    from taupi.cli.card import evaluate, regressor_data, regressor_text

    program = built("regressor", _load(robot, lock, tip, snap), _split(terms), form, coupling=coupling)
    if at is not None:
        print(evaluate(program, at, as_json))
    else:
        print(json.dumps(regressor_data(program), indent=2) if as_json else regressor_text(program))


@app.command()
def base(
    robot: RobotArgument,
    terms: TermsOption = "",
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Parameter to keep as it is, or a pattern (*.m); may be repeated."),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option("--order", help="Which parameters are preferred: symoro (default), taupi, pinocchio ..."),
    ] = None,
    symbolic: Annotated[
        bool, typer.Option("--symbolic", help="Keep the description's symbols in coefficients.")
    ] = False,
    elastic: Annotated[bool, typer.Option("--elastic", help="Of the robot with elastic joints.")] = False,
    coupling: CouplingOption = True,
    lock: LockOption = None,
    tip: TipOption = None,
    snap: SnapOption = True,
    as_json: JsonOption = False,
) -> None:
    """Show the base parameters: how many, what each stands for, what can be known of each parameter.

    \b
    taupi base puma560 --symbolic
    taupi base zollo2r --elastic
    taupi base panda.urdf --lock panda_finger_joint1 --terms viscous,coulomb --json
    """
    import taupi as tp
    from taupi.cli.card import base_text

    loaded = _load(robot, lock, tip, snap)
    chosen = _split(terms) or None
    found = tp.base_parameters(loaded, chosen, order, tuple(keep or ()), symbolic, elastic, coupling)
    print(json.dumps(found.to_dict(), indent=2) if as_json else base_text(found))


@app.command()
def bounds(
    robot: RobotArgument,
    spans: Annotated[
        list[str] | None,
        typer.Option("--range", help="lo:hi for all joints, or joint=lo:hi; may be repeated. Default: the limits."),
    ] = None,
    tolerance: Annotated[float, typer.Option("--tolerance", help="Relative gap that is small enough.")] = 1e-6,
    boxes: Annotated[int, typer.Option("--boxes", help="How many boxes a bound may cost.")] = 20_000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random points.")] = 0,
    check: Annotated[
        bool, typer.Option("--properties", help="Check symmetry, positivity, passivity, power balance instead.")
    ] = False,
    lock: LockOption = None,
    tip: TipOption = None,
    snap: SnapOption = True,
    as_json: JsonOption = False,
) -> None:
    """Show bounds of M, c and g over a joint range, certain, with their gap; or the properties of the robot.

    \b
    taupi bounds lecture2r --range -1.5708:1.5708 --tolerance 1e-9
    taupi bounds puma560 --range joint2=-1:1 --range joint3=0:2 --json
    """
    import taupi as tp
    from taupi.cli.spans import joint_spans

    loaded = _load(robot, lock, tip, snap)
    if check:
        if spans:
            from taupi.errors import TaupiError

            raise TaupiError("--properties draws its own states: leave --range out.")
        report = tp.properties(loaded, seed=seed)
        print(json.dumps(report.to_dict(), indent=2) if as_json else report)
        raise typer.Exit(0 if report.holds else 4)
    found = tp.bounds(loaded, joint_spans(loaded, spans or []), tolerance, boxes, seed)
    print(json.dumps(found.to_dict(), indent=2) if as_json else found)


@app.command()
def emit(
    robot: RobotArgument,
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help=f"What to emit: {', '.join((*PROGRAMS, CONTROLLER))}.")
    ],
    directory: Annotated[Path, typer.Option("--output", "-o", help="Directory to write in; made if missing.")],
    language: Annotated[str, typer.Option("--language", help="c, python, matlab or cuda.")] = "c",
    name: Annotated[str | None, typer.Option("--name", help="Name of the function and of its files.")] = None,
    terms: TermsOption = "",
    dtype: Annotated[str, typer.Option("--dtype", help="float64 or float32.")] = "float64",
    project: Annotated[bool, typer.Option("--project", help="Add a CMake project and a call from Python.")] = False,
    lock: LockOption = None,
    tip: TipOption = None,
    snap: SnapOption = True,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files.")] = False,
    law: Annotated[str | None, typer.Option("--law", help="Law of a controller: slotine-li, walker, ...")] = None,
) -> None:
    """Write a program of a robot, or a controller, as source: C99, Python, MATLAB/Octave or CUDA.

    \b
    taupi emit puma560 regressor --language c -o out --project
    taupi emit puma560 controller --law slotine-li --language c -o out
    """
    import taupi as tp

    if program == CONTROLLER or law is not None:
        from taupi.cli.controlling import emit_law

        plain = (program, law, dtype, project)
        print(emit_law(_load(robot, lock, tip, snap), plain, _split(terms), language, directory, name, force))
        return
    made = built(program, _load(robot, lock, tip, snap), _split(terms))
    paths = tp.emit(made, language, directory, name, dtype, project, force)
    print("\n".join(map(str, paths)))
    print(f"wrote {len(paths)} files; next: {next_step(paths, language, project)}", file=sys.stderr)


WhatOption = Annotated[str, typer.Option("--what", help=f"A program: {', '.join((*PROGRAMS, *TASK_PROGRAMS))}.")]
FormatOption = Annotated[str, typer.Option("--format", help="text, latex, markdown, html or sympy.")]
FormOption = Annotated[
    str | None,
    typer.Option("--form", help="classical, slotine-li or elastic; of the Coriolis matrix: christoffel, ..."),
]
TaskOption = Annotated[
    str | None, typer.Option("--task", help="Task of an operational program: planar, xy, position, ...")
]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="File to write instead of printing.")]


@app.command()
def explicit(
    robot: RobotArgument,
    what: WhatOption = "regressor",
    form: FormOption = None,
    format: FormatOption = "text",
    link: Annotated[str | None, typer.Option("--link", help="Show X, W, Z of this link of the regressor.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Keep the columns that vanish for every motion.")] = False,
    values: Annotated[bool, typer.Option("--values", help="Put numbers for the symbols that have some.")] = False,
    names: Annotated[bool, typer.Option("--names", help="Name the sums that repeat.")] = False,
    short: Annotated[bool, typer.Option("--short", help="Write c12 for cos(q1 + q2).")] = False,
    digits: Annotated[int | None, typer.Option("--digits", help="Round numbers to so many digits.")] = None,
    intermediates: Annotated[
        int | None,
        typer.Option("--intermediates", help="Name intermediate terms, so that none has more parts than this."),
    ] = None,
    terms: TermsOption = "",
    task: TaskOption = None,
    output: OutputOption = None,
    lock: LockOption = None,
    tip: TipOption = None,
    snap: SnapOption = True,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a regressor or any other program of a robot as formulas.

    \b
    taupi explicit elbow2r --what regressor --form slotine-li --format latex
    taupi explicit lecture2r --what coriolis-matrix --short
    """
    from taupi.cli.explicit import explicit_form, written

    settings = {"values": values, "names": names, "short": short, "digits": digits, "intermediates": intermediates}
    loaded = _load(robot, lock, tip, snap)
    made = explicit_form(loaded, what, form, link, full, _split(terms), task, settings)
    _give(written(made, format), output, force)


@app.command()
def lump(
    robot: RobotArgument,
    unknown: Annotated[str, typer.Option("--unknown", help="Symbols that are not known: m1,m2,L1 or '*.m'.")],
    what: WhatOption = "inverse-dynamics",
    into: Annotated[str | None, typer.Option("--into", help="Prescribed parameters, separated by ';'.")] = None,
    independent: Annotated[bool, typer.Option("--independent", help="Keep independent columns only.")] = False,
    show: Annotated[bool, typer.Option("--regressor", help="Print the regressor as well.")] = False,
    form: FormOption = None,
    terms: TermsOption = "",
    task: TaskOption = None,
    lock: LockOption = None,
    tip: TipOption = None,
    snap: SnapOption = True,
    as_json: JsonOption = False,
) -> None:
    """Make the dynamics linear in the parameters you choose: f = known + Y Theta, exactly.

    \b
    taupi lump lecture2r --unknown m1,m2,L1,L2
    taupi lump planar3r --what operational-force --task planar --unknown 'm?,I?,l?,lc?' --json
    """
    import taupi as tp
    from taupi.cli.explicit import lump_data, lump_text

    program = built(what, _load(robot, lock, tip, snap), _split(terms), form, task)
    prescribed = [e.strip() for e in into.split(";") if e.strip()] if into else None
    lumped = tp.lump(program, _split(unknown), into=prescribed)
    lumped = lumped.independent() if independent else lumped
    print(json.dumps(lump_data(lumped), indent=2) if as_json else lump_text(lumped, show))


def _give(text: str, output: Path | None, force: bool) -> None:
    """Print a text, or write it to a file."""
    if output is None and force:
        from taupi.errors import TaupiError

        raise TaupiError("--force is for a file: name it by --output.")
    if output is None:
        print(text)
        return
    from taupi.files import write_text

    write_text(output, text + "\n", force=force)
    print(f"wrote {output}", file=sys.stderr)


@app.command()
def convert(
    robot: RobotArgument,
    output: Annotated[Path, typer.Argument(help="The .toml file to write.")],
    lock: LockOption = None,
    tip: TipOption = None,
    snap: SnapOption = True,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a robot in the project's own TOML, exactly.

    \b
    taupi convert panda.urdf panda.toml --lock panda_finger_joint1
    """
    import taupi as tp
    from taupi.errors import TaupiError

    if output.suffix != ".toml":
        raise TaupiError(f"output is {str(output)!r}, expected a file ending in .toml.")
    tp.write_toml(_load(robot, lock, tip, snap), output, force=force)
    print(f"wrote {output}; next: taupi info {output}", file=sys.stderr)


@app.command()
def log(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV (.gz), Parquet, NPZ, MAT, ROS bag or MCAP.")],
    columns: Annotated[Path | None, typer.Option("--columns", help="A column mapping, .toml.")] = None,
    robot: Annotated[
        str | None, typer.Option("--robot", help="Bring joints into its order, and check its limits.")
    ] = None,
    rate_hz: Annotated[
        float | None, typer.Option("--rate-hz", help="Samples a second, where there is no time.")
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Which topic of a bag.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a log: what it holds, what is wrong with it, and what cleaning does about it.

    \b
    taupi log run.csv --robot puma560
    taupi log run.mcap --topic /joint_states --json
    """
    import taupi as tp
    from taupi.cli.card import log_data, log_text

    arm = tp.load(robot) if robot else None
    read = tp.read_log(file, arm, columns, rate_hz=rate_hz, topic=topic)
    report = tp.check_log(read, arm)
    print(json.dumps(log_data(read, report), indent=2) if as_json else log_text(read, report))


simulate.register(app, _load)
control.register(app, _load)
reproduce.register(app)
