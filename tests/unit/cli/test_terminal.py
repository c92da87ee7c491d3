"""Commands on a terminal: sentences and tables that fit 80 columns, the time of long work, and what to type next."""

import errno
import io
import os
import select
import shlex
import subprocess
import sys
import time

import numpy as np
import pytest
from command_line import taupi

from taupi.cli.command import STEPS, ending, next_step
from taupi.cli.commands import COMMANDS
from taupi.cli.main import command_of, run
from taupi.cli.terminal import fitted, on_a_terminal
from taupi.progress import progress
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
        parameters = {p.name: [f"<{p.name}>"] for p in command_of(name).params}
        for step in steps:
            words = step.format_map(parameters).split()
            assert words[0] in ("taupi", "open") and (words[0] == "open" or words[1] in COMMANDS)


@pytest.mark.parametrize(
    ("typed", "following"),
    [
        ("payload out a.csv b.csv --at tool", "payload out a.csv b.csv -o tool --at tool"),
        ("log a.csv --robot panda", "identify panda a.csv -o out"),
        ("log 'my a.csv' --columns c.toml --from 2", "log 'my a.csv' --robot ROBOT --columns c.toml --from 2.0"),
        (
            "log a.csv --robot panda --rate-hz 100 --lock j1 --lock 'j 2' --no-snap --json --force",
            "identify panda a.csv -o out --rate-hz 100.0 --lock j1 --lock 'j 2' --no-snap",
        ),
        (
            "explicit planar3r operational-force --task planar --terms viscous --format latex -o f.tex",
            "emit planar3r operational-force --language c -o source --terms viscous --task planar",
        ),
        ("explicit planar3r --what mass-matrix", "emit planar3r mass-matrix --language c -o source"),
        ("explicit planar3r", "emit planar3r regressor --language c -o source"),
        ("bounds elbow2r --seed 3 --tip forearm", "control elbow2r -o control --tip forearm"),
        ("contacts out a.csv --thresholds t.json", "emit out observer -o observer --thresholds t.json"),
        ("contacts out a.csv --thresholds t.json -o n.json", "emit out observer --thresholds n.json -o observer"),
        ("validate out a.csv b.csv --cutoff 5", "report out --validate a.csv -o report.html --cutoff 5.0"),
        ("compare monday friday", "report monday -o report.html"),
        ("compare monday friday a.csv b.csv --rows 0:9", "validate monday a.csv b.csv --rows 0:9"),
        ("compare a.csv b.csv --robot panda --rate-hz 9", "identify panda a.csv -o out --rate-hz 9.0"),
        ("log a.csv --suggest c.toml", None),  # the command says it itself
        ("identify panda a.csv -o out", None),
    ],
)
def test_the_next_step_has_the_options_that_were_typed(typed, following):
    name, *words = shlex.split(typed)
    step = next_step(name, command_of(name).make_context(name, words).params)
    assert step == (following and f"taupi {following}")
    if step is not None:
        _, name, *words = shlex.split(step)
        command_of(name).make_context(name, words)  # the next command takes these options


def test_next_steps_run(tmp_path):
    rows = np.column_stack([np.sin(0.01 * np.outer(np.arange(3000), [1.1, 2.3])), np.zeros((3000, 2))])
    rows[:, 2:] = 3 * rows[:, :2] + np.random.default_rng(0).normal(size=(3000, 2))
    np.savetxt(tmp_path / "a.csv", rows, delimiter=",", header="q1,q2,tau1,tau2", comments="")
    for typed in (
        "explicit planar3r --what operational-mass --task planar",
        "log a.csv --robot elbow2r --rate-hz 100",
    ):
        name, *words = shlex.split(typed)
        step = next_step(name, command_of(name).make_context(name, words).params)
        done = taupi(*shlex.split(step)[1:], cwd=tmp_path)
        assert done.returncode in (0, 4), (step, done.stderr)  # 4: it ran, and its fit is not to be believed


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
    seen, deadline = b"", time.monotonic() + 600
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
    assert process.wait() == 0
    lines = [line.split("\x1b[K")[-1] for line in seen.decode().replace("\r\n", "\n").split("\n")]
    assert max(map(len, lines)) <= 80
    # On a busy machine, the line of progress is erased below it.
    assert [line for line in lines if line][-1] == "next: taupi excite puma560 --duration 10 -o motion"


def test_a_command_that_ends_well_says_what_comes_next(monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, OnATerminal())
    monkeypatch.setattr(sys, "argv", ["taupi", "bounds", "elbow2r", "--properties"])
    err = sys.stderr
    with pytest.raises(SystemExit) as end:
        run()
    assert not end.value.code and err.getvalue().splitlines()[-1].endswith("next: taupi control elbow2r -o control")


NAME = "\x1b]0;title\x07 \x9b2J \u202eelbow"
SHOWN = "\\x1b]0;title\\x07 \\x9b2J \\u202eelbow"


class OnATerminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("out", "err"), [(a, b) for a in (io.StringIO, OnATerminal) for b in (io.StringIO, OnATerminal)]
)
def test_nothing_that_is_printed_steers_the_terminal(monkeypatch, out, err):
    """Names come from files; each stream is filtered, wherever the other one goes."""
    streams = {"stdout": out(), "stderr": err()}
    monkeypatch.setattr("taupi.cli.terminal.PATIENCE", 3600.0)  # no time is shown between two parts of a line
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    with on_a_terminal("taupi"):
        for stream in (sys.stdout, sys.stderr):
            print(f"{NAME}\nnext\tline", file=stream)
        with progress("reading", 2) as step:
            for stream in (sys.stdout, sys.stderr):
                print(NAME, "[b]", file=stream)
            step(f"{NAME}[/b].csv")
            print(NAME, file=sys.stderr)
    both = "".join(stream.getvalue() for stream in streams.values())  # on one terminal, lines go above the bar
    assert both.count(SHOWN) >= 5
    for stream in streams.values():
        assert f"{SHOWN}\nnext\tline\n" in stream.getvalue()
        assert not {"\x07", "\x9b", "\u202e"} & set(stream.getvalue()) and "\x1b]0" not in stream.getvalue()
    assert ("\x1b" in streams["stderr"].getvalue()) is (err is OnATerminal)  # the bar, which places itself
    assert "\x1b" not in streams["stdout"].getvalue()


def test_names_of_a_file_reach_no_stream_of_a_command(tmp_path):
    columns = [*(f"q_{NAME}{k}" for k in range(2)), *(f"tau_{NAME}{k}" for k in range(2))]
    rows = "".join(f"{k / 100},{k},{k},{k},{k}\n" for k in range(50))
    (tmp_path / "a.csv").write_text(f"t,{','.join(columns)}\n{rows}", encoding="utf-8")
    for words in (("log", "a.csv"), ("log", "a.csv", "--robot", "puma560"), ("log", f"{NAME}.csv"), (NAME,)):
        done = taupi(*words, cwd=tmp_path)
        assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(done.stdout + done.stderr), words


def test_tables_have_a_line_for_each_row():
    lines = table([("joint", "unit"), ("a\nb\x1b[2J", "rad"), ("\u2028c", "m")])
    assert lines == ["joint        unit", "-----------  ----", "a\\nb\\x1b[2J  rad", "\\u2028c      m"]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 7 TiB"),
        ImportError("_arpacklib.so: failed to map segment from shared object"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
    ],
)
def test_too_little_memory_is_a_sentence(monkeypatch, error):
    """Libraries that are loaded late, and threads, say it in words of their own."""

    def load(*_):
        raise error

    monkeypatch.setattr("taupi.cli.options.Description.load", load)
    done = taupi("info", "puma560")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"taupi: Not enough memory: {error}. Ask for less")


def test_a_disk_from_which_nothing_may_run_is_no_lack_of_memory():
    words = "lib.so: failed to map segment from shared object"
    sentences = [ending(ImportError(error))[1] for error in (f"{words}: Operation not permitted", words)]
    assert ["Not enough memory" in sentence for sentence in sentences] == [False, True]
