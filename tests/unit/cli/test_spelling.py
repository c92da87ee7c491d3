"""Errors and warnings in the words of a command's own options."""

import warnings

import pytest
import typer
from typer.testing import CliRunner

from taupi.cli.command import TRACEBACK, Command, spelling_in
from taupi.cli.exit_codes import ExitCode
from taupi.errors import Argument, InPython, Message, NotIdentifiedError, TaupiError, TaupiWarning


def said(action):
    """Return how a command with some options ends that does this, and what it says."""
    app = typer.Typer(rich_markup_mode=None)

    def command(
        columns: str = typer.Option("", "--columns", metavar="FILE"),
        cutoff_hz: float = typer.Option(1.0, "-c", "--cutoff"),
        elastic: bool = typer.Option(True, "--elastic/--rigid"),
        torque_limit: str = typer.Option("", "--torque-limit"),
        force: bool = typer.Option(False, "--force"),
    ) -> None:
        action()

    app.command("command", cls=Command)(command)
    result = CliRunner().invoke(app, [])
    return result.exit_code, result.output.strip()


def refusing(error):
    def action():
        raise error

    return action


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Argument("cutoff_hz"), "--cutoff"),
        (Argument("cutoff_hz", ...), "--cutoff VALUE"),
        (Argument("cutoff_hz", 5), "--cutoff 5"),
        (Argument("columns", ...), "--columns FILE"),
        (Argument("columns", "my file"), "--columns 'my file'"),
        (
            Argument("columns", {"q": {"unit": "deg"}, "time": ...}),
            "--columns FILE with {'q': {'unit': 'deg'}, 'time': ...}",
        ),
        (Argument("columns", {...}), "--columns FILE with {...}"),
        (Argument("force", True), "--force"),
        (Argument("force", False), "no --force"),
        (Argument("elastic", False), "--rigid"),
        (Argument("torque_limits"), "--torque-limit"),
        (Argument("map.toml: rate_hz"), "map.toml: rate_hz"),
        (Argument("limit", 5), "limit=5"),
        (InPython("call log.segments()", "cut the log"), "cut the log"),
    ],
)
def test_arguments_are_flags(part, text):
    assert said(refusing(TaupiError("Wrong.", remedy=Message("Use {part}.", part=part)))) == (
        3,
        f"taupi: Wrong. Use {text}.",
    )


def test_what_is_not_identified_ends_with_4():
    assert said(refusing(NotIdentifiedError("No."))) == (ExitCode.NOT_ACHIEVED, "taupi: No.")


def test_warnings_are_spelled_alike_and_the_filters_put_back():
    before = warnings.showwarning

    def action():
        warnings.warn(TaupiWarning("Doubtful:", remedy=Message("try {force=True}")), stacklevel=1)
        warnings.warn("Plain.", TaupiWarning, stacklevel=1)

    assert said(action) == (0, "warning: Doubtful: try --force\nwarning: Plain.")
    assert warnings.showwarning is before


@pytest.mark.parametrize(
    "error", [KeyError("us"), RuntimeError("slice.cpp:80: Assertion failed:\nSlice out of bounds")]
)
def test_an_error_of_a_library_is_a_sentence_that_asks_for_a_report(error, monkeypatch):
    monkeypatch.delenv(TRACEBACK, raising=False)
    code, text = said(refusing(error))
    assert code == ExitCode.BUG and text.count("\n") == 0
    assert type(error).__name__ in text and "report" in text and "Traceback" not in text
    monkeypatch.setenv(TRACEBACK, "1")
    assert "Traceback" in said(refusing(error))[1]


def test_a_file_that_cannot_be_written_is_no_bug():
    error = PermissionError(13, "Permission denied", "out/fit.json")
    assert said(refusing(error)) == (ExitCode.BAD_INPUT, "taupi: out/fit.json: Permission denied.")


def test_wrong_usage_keeps_its_status():
    assert said(refusing(typer.BadParameter("no")))[0] == ExitCode.USAGE
    assert said(refusing(typer.Exit(5)))[0] == 5


def test_a_file_to_write_is_the_option_that_names_it():
    wrong = Argument("path")
    assert [spelling_in(command)(wrong) for command in ("report", "emit", "info")] == ["--output", "--fmu", "path"]
