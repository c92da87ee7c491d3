"""What `--help` shows: commands by job and options by panel, on lines that fit 80 columns."""

import re

import pytest
from typer.testing import CliRunner

from taupi.cli.command import ALL, EVERYDAY
from taupi.cli.commands import COMMANDS, JOBS
from taupi.cli.main import app, command_of


def shown(*words):
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "80"}, prog_name="taupi")
    assert result.exit_code == 0, result.output
    return result.output


def flags(text):
    return set(re.findall(r"--[a-z][a-z0-9-]*", text))


def test_commands_stand_under_their_jobs_on_one_line_each():
    lines = shown("--help").splitlines()
    for job, commands in JOBS.items():
        start = lines.index(f"{job}:") + 1
        rows = [line.split(maxsplit=1) for line in lines[start : start + len(commands)]]
        assert rows == [[name, line] for name, line in commands.items()]
    assert all(len(line) <= 80 for line in lines) and not any("..." in line for line in COMMANDS.values())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("identify", "ROBOT LOG..."),
        ("info", "[ROBOT]"),
        ("compare", "A B [LOG...]"),
        ("convert", "ROBOT OUTPUT"),
        ("fleet", "ROBOT [FLEET.toml]"),
        ("doctor", ""),
    ],
)
def test_the_usage_line_has_each_argument_in_brackets_at_most_once(name, arguments):
    assert shown(name, "--help").splitlines()[0].endswith(f" {name} [OPTIONS] {arguments}".rstrip())


def test_every_command_has_one_job():
    assert len(COMMANDS) == sum(map(len, JOBS.values()))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_shown_and_no_line_is_wider_than_the_terminal(name):
    text = shown(name, ALL if name in EVERYDAY else "--help")
    own = {flag for p in command_of(name).params for flag in (*p.opts, *p.secondary_opts) if flag.startswith("--")}
    assert own <= flags(text)
    # Examples under "\b" stay on their lines, however long.
    assert all(len(line) <= 80 for line in text.partition("Arguments:")[2].splitlines())


@pytest.mark.parametrize("name", EVERYDAY)
def test_everyday_options_come_first_and_the_others_are_named(name):
    text = shown(name, "--help")
    everyday, _, more = text.partition(f"More, explained by {ALL}:")
    params = {p.name: p for p in command_of(name).params}
    assert len(EVERYDAY[name]) <= 10
    for option in EVERYDAY[name]:
        assert max(params[option].opts, key=len) in flags(everyday)
    rest = [p for p in params.values() if p.name not in EVERYDAY[name] and p.param_type_name == "option"]
    assert flags(more) >= {next(flag for flag in p.opts if flag.startswith("--")) for p in rest}
    assert len(text.splitlines()) < len(shown(name, ALL).splitlines()) / 2


def test_every_option_is_asked_for_by_one_word_anywhere_but_behind_two_dashes():
    assert shown("identify", ALL) == shown("identify", "elbow2r", "run.csv", ALL)
    result = CliRunner().invoke(app, ["identify", "elbow2r", "-o", "out", "--", ALL])
    assert result.exit_code != 0 and "Preparing signals" not in result.output


# Options that stand for something else than a keyword of the same name, and what that is in Python.
NOT_A_KEYWORD = {
    "as_json": "printed as data: to_dict()",
    "browser": "nothing: taupi studio",
    "check": "another function: taupi.properties",
    "directory": "the third argument of taupi.emit",
    "ranges": "the keyword `range`",
    "show": "printed: Lumped.regressor",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_keyword_of_python_is_an_option(name):
    for param in command_of(name).params:
        if param.param_type_name == "option" and param.name not in NOT_A_KEYWORD:
            assert f"--{param.name.replace('_', '-')}" in (*param.opts, *param.secondary_opts), param.opts


def test_no_exception_outlives_its_option():
    assert set(NOT_A_KEYWORD) <= {param.name for name in COMMANDS for param in command_of(name).params}
