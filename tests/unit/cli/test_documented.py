"""The command line's page, its help and its files say the same."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

import taupi as tp
from taupi import cli
from taupi.cli import commands
from taupi.cli.commands import COMMANDS
from taupi.cli.exit_codes import ExitCode
from taupi.cli.main import app

PAGE = (Path(__file__).parents[3] / "docs" / "api" / "cli.md").read_text(encoding="utf-8")


def test_every_file_is_a_command():
    files = {path.stem for path in Path(commands.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(COMMANDS) == set(get_command(app).commands) and len(COMMANDS) == len(files)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_on_the_page(name):
    command = get_command(app).commands[name]
    assert re.search(rf"^## taupi .*\b{name}\b", PAGE, re.MULTILINE)
    flags = [flag for p in command.params for flag in (*p.opts, *p.secondary_opts) if flag.startswith("--")]
    assert len(flags) == len(set(flags))
    assert [flag for flag in flags if not re.search(rf"`{flag}[` ]", PAGE)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help_and_every_command_examples(name):
    command = get_command(app).commands[name]
    assert f"taupi {name}" in command.help
    assert [p.name for p in command.params if p.name != "help" and not p.help] == []
    examples = [line for line in command.help.splitlines() if line.startswith(("taupi ", "  "))]
    assert [line for line in examples if len(line) > 78] == []  # two more are the indent: 80 columns


@pytest.mark.parametrize("code", ExitCode)
def test_every_exit_code_is_on_the_page(code):
    assert f"\n| {code.value} | " in PAGE.partition("## Exit codes")[2]


def test_commands_use_public_names_that_have_not_moved():
    files = Path(cli.__file__).parent.rglob("*.py")
    used = {name for file in files for name in re.findall(r"\btp\.(\w+)", file.read_text(encoding="utf-8"))}
    assert sorted(used - set(tp.__all__)) == []
