"""Commands on a terminal: sentences and tables that fit 80 columns, the time of long work, and what to type next."""

import io
import os
import select
import subprocess
import sys
import time

import pytest

from taupi.cli.commands import COMMANDS
from taupi.cli.main import _command
from taupi.cli.next_steps import SAID, STEPS, next_step
from taupi.cli.terminal import Terminal, Waiting, fitted
from taupi.tables import table

WIDE = [
    ("law", "rms error, first fifth", "rms error, last fifth", "largest torque", "what it means for the arm"),
    ("slotine-li", "1.2e-3", "4.5e-4", "45.06", "it follows the reference and learns what it carries"),
    ("held", "0.1", "0.2", "45", "it does not"),
]


def test_sentences_are_folded_at_words():
    text = "wrote out/fit.json, out/fit.txt, out/report.html; next: open out/report.html in a browser, and look at it there"
    folded = fitted(text, 60)
    assert all(len(line) <= 60 for line in folded.split("\n")) and " ".join(folded.split()) == text
    assert fitted("short", 60) == "short" and fitted("", 60) == "" and fitted("a\n\nb\n", 60) == "a\n\nb\n"
    long_word = "x" * 90
    assert fitted(long_word, 60) == long_word  # a path is not cut


def test_tables_are_folded_by_column():
    lines = table(WIDE)
    folded = fitted("\n".join(["before", *lines, "", "after"]), 80).split("\n")
    assert max(map(len, lines)) > 110 and max(map(len, folded)) <= 80
    assert folded[0] == "before" and folded[-2:] == ["", "after"]
    words = sorted(word for row in WIDE for cell in row for word in cell.split())
    rule = next(k for k, line in enumerate(folded) if set(line) <= {"-", " "} and line)
    assert sorted(w for k, line in enumerate(folded[1:-2], 1) if k != rule for w in line.split()) == words
    starts = [folded[rule].index("-", k) for k in range(len(folded[rule])) if folded[rule][k - 1 : k + 1] in (" -",)]
    assert any(line[starts[0] :].startswith("1.2e-3") for line in folded)  # still below its heading
    assert fitted("\n".join(lines), 200) == "\n".join(lines)


def test_next_steps_are_of_commands_that_exist_and_name_their_parameters():
    for name, steps in STEPS.items():
        assert name in COMMANDS
        parameters = {p.name: f"<{p.name}>" for p in _command(name).params if p.name != SAID.get(name)}
        assert next_step(name, parameters) == steps[0].format_map({k: f"'{v}'" for k, v in parameters.items()})
        for step in steps:
            words = step.format_map(parameters).split()
            assert words[0] in ("taupi", "open") and (words[0] == "open" or words[1] in COMMANDS)
    assert next_step("payload", {"fit": "out", "logs": ["a.csv"], "output": None}) == "taupi payload out a.csv -o tool"
    assert next_step("identify", {"robot": "panda"}) is None
    assert next_step("log", {"file": "a.csv", "suggest": "c.toml"}) is None  # it has said so itself
    assert next_step("log", {"file": "a.csv", "robot": "panda"}) == "taupi identify panda a.csv -o out"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_on_a_terminal_of_80_columns(tmp_path):
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    command = [sys.executable, "-m", "taupi", "base", "puma560"]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, cwd=tmp_path, env=environment)
    os.close(theirs)
    seen, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.5)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not data:
                break
            seen += data
    os.close(ours)
    assert process.wait(timeout=30) == 0
    lines = [line.split("\x1b[K")[-1] for line in seen.decode().replace("\r\n", "\n").split("\n")]
    assert max(map(len, lines)) <= 80 and lines[-2] == "next: taupi excite puma560 --duration 10 -o motion"


def test_nothing_that_is_printed_steers_the_terminal():
    """Names come from files; bars on standard error place themselves."""
    waiting = Waiting(io.StringIO(), None)
    out, err = io.StringIO(), io.StringIO()
    name = "\x1b]0;title\x07 \x9b2J \u202eelbow"
    Terminal(out, waiting).write(f"{name}\nnext\tline\n")
    assert out.getvalue() == "\\x1b]0;title\\x07 \\x9b2J \\u202eelbow\nnext\tline\n"
    Terminal(err, waiting, bars=True).write("\r\x1b[Kbar")
    assert err.getvalue() == "\r\x1b[Kbar"
    waiting.end()


def test_tables_have_a_line_for_each_row():
    lines = table([("joint", "unit"), ("a\nb\x1b[2J", "rad"), ("\u2028c", "m")])
    assert lines == ["joint        unit", "-----------  ----", "a\\nb\\x1b[2J  rad", "\\u2028c      m"]
