"""The `taupi` command: thin, says the same words as the Python package."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from taupi import __version__
from taupi.cli.programs import PROGRAMS, built, next_step

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Robot dynamics that are linear in their parameters: tau = Y(q, qd, qdd) pi.

    \b
    taupi info puma560
    taupi regressor panda.urdf --lock panda_finger_joint1 --terms viscous,coulomb
    """,
)

RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A built-in robot, or a .urdf, .xml (MJCF) or .toml file.")
]
LockOption = Annotated[list[str] | None, typer.Option("--lock", help="Joint held at zero; may be repeated.")]
TipOption = Annotated[str | None, typer.Option("--tip", help="Link at the end of the chain.")]
SnapOption = Annotated[
    bool, typer.Option("--snap/--no-snap", help="Take near-right angles of the file as right angles.")
]
TermsOption = Annotated[str, typer.Option("--terms", help="Joint terms: viscous,coulomb,offset,rotor,stribeck.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def run() -> None:
    """Run the command line; what is wrong in the input is one sentence and exit code 3, never a traceback."""
    from taupi.errors import TaupiError

    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    try:
        app()
    except TaupiError as error:
        print(f"taupi: {str(error).replace('force=True', '--force')}", file=sys.stderr)
        raise SystemExit(3) from None
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
) -> None:
    """Show a robot's card: joints, limits, parameters, what the reader did.

    \b
    taupi info puma560
    taupi info panda.urdf --lock panda_finger_joint1 --json
    """
    import taupi as tp
    from taupi.cli.card import card, card_data

    if robot is None:
        print("\n".join(tp.catalogue()))
        return
    loaded = _load(robot, lock, tip, snap)
    print(json.dumps(card_data(loaded), indent=2) if as_json else card(loaded))


@app.command()
def regressor(
    robot: RobotArgument,
    form: Annotated[str, typer.Option("--form", help="classical or slotine-li.")] = "classical",
    terms: TermsOption = "",
    at: Annotated[
        str | None, typer.Option("--at", help="Evaluate at a state: JSON lists q, qd, qdd (or q, qd, qrd, qrdd).")
    ] = None,
    lock: LockOption = None,
    tip: TipOption = None,
    snap: SnapOption = True,
    as_json: JsonOption = False,
) -> None:
    """Show a regressor: its columns, which of them act, its cost; or its value at a state.

    \b
    taupi regressor puma560 --form slotine-li
    taupi regressor elbow2r --at '[[0.1,0.2],[0.3,0.4],[0.5,0.6]]' --json
    """
    import taupi as tp
    from taupi.cli.card import evaluate, regressor_data, regressor_text
    from taupi.errors import unknown

    builders = {"classical": tp.regressor, "slotine-li": tp.slotine_li_regressor}
    if form not in builders:
        raise unknown("form", form, builders)
    program = builders[form](_load(robot, lock, tip, snap), terms=_split(terms))
    if at is not None:
        print(evaluate(program, at, as_json))
    else:
        print(json.dumps(regressor_data(program), indent=2) if as_json else regressor_text(program))


@app.command()
def emit(
    robot: RobotArgument,
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help=f"What to emit: {', '.join(PROGRAMS)}.")],
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
) -> None:
    """Write a program of a robot as source: C99, Python, MATLAB/Octave or CUDA.

    \b
    taupi emit puma560 regressor --language c -o out --project
    taupi emit panda.urdf inverse-dynamics --language python -o out --terms viscous,coulomb
    """
    import taupi as tp

    made = built(program, _load(robot, lock, tip, snap), _split(terms))
    paths = tp.emit(made, language, directory, name, dtype, project, force)
    print("\n".join(map(str, paths)))
    print(f"wrote {len(paths)} files; next: {next_step(paths, language, project)}", file=sys.stderr)


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
