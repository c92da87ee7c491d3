"""Every snippet of the README and of the documents runs as printed, and prints what is printed below it.

In each page, in order and in one temporary folder: a fence with `title="name"` is written to that file; a `python` fence is
run, all of a page in one namespace; a line `taupi ...` of a `shell` fence is run. A `text` fence that follows one of the
latter two directly is what it printed (`...` stands for anything). Other fences are left alone.
"""

import contextlib
import doctest
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import taupi as taupi_command

import taupi
from taupi.cli.main import command_of

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
SKILL = ROOT / "skills" / "taupi" / "SKILL.md"
PAGES = [README, SKILL, *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([\w.-]+)"')
NEEDS = re.compile(r"<!-- needs: ([\w, ]+) -->")  # what a page's snippets import beyond the package's own dependencies
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Fence:
    language: str
    title: str | None
    text: str
    line: int
    printed: str | None  # what the page says it prints


def fences(page: Path) -> list[Fence]:
    source = page.read_text(encoding="utf-8")
    blocks = list(FENCE.finditer(source))
    result = []
    for k, match in enumerate(blocks):
        after = blocks[k + 1] if k + 1 < len(blocks) else None
        directly = after is not None and after[1] == "text" and not source[match.end() : after.start()].strip()
        title = TITLE.search(match[2])
        line = source.count("\n", 0, match.start()) + 2
        result.append(Fence(match[1], title and title[1], match[3], line, after[3] if after and directly else None))
    return result


def run_python(fence: Fence, page: Path, namespace: dict) -> str:
    code = compile("\n" * (fence.line - 1) + fence.text, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, namespace)
    return out.getvalue()


def run_shell(fence: Fence, page: Path, folder: Path) -> str:
    printed = ""
    for line in fence.text.splitlines():
        if not line.startswith("taupi "):
            continue
        done = taupi_command(*shlex.split(line)[1:], cwd=folder)
        assert done.returncode == 0, f"{page}:{fence.line}: {line}\n{done.stderr}"
        printed += done.stdout
    return printed


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_snippets_run_and_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for names in NEEDS.findall(page.read_text(encoding="utf-8")):
        for name in names.split(", "):
            pytest.importorskip(name)
    namespace = {"__name__": "__main__"}
    for fence in fences(page):
        if fence.language == "python":
            printed = run_python(fence, page, namespace)
        elif fence.language == "shell":
            printed = run_shell(fence, page, tmp_path)
        else:
            if fence.title:
                (tmp_path / fence.title).write_text(fence.text, encoding="utf-8")
            continue
        if fence.printed is not None:
            same = doctest.OutputChecker().check_output(fence.printed, printed, ALIKE)
            assert same, f"{page.relative_to(ROOT)}:{fence.line} printed\n{printed}\nand not\n{fence.printed}"


def test_readme_has_eight_lines_of_python_and_three_of_shell():
    counts = {"python": 0, "shell": 0}
    for fence in fences(README):
        lines = [line for line in fence.text.splitlines() if line.strip()]
        if fence.language == "shell":
            lines = [line for line in lines if line.startswith("taupi ")]
        if fence.language in counts:
            counts[fence.language] += len(lines)
    assert counts == {"python": 8, "shell": 3}


@pytest.mark.parametrize("page", [README, ROOT / "CHANGELOG.md", *PAGES[1:]], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_point_at_something(page):
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(prose):
        path = target.partition("#")[0]
        if path and "://" not in target:
            assert (page.parent / path).exists(), f"{page.relative_to(ROOT)} links to {target}, which does not exist"


def test_every_row_of_the_capability_table_has_evidence():
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8").partition("\n## ")[0]
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 60
    for row in rows:
        evidence = re.findall(r"`(tests/[\w./-]+)`", row)
        assert evidence, f"no test is named for: {row}"
        for path in evidence:
            assert (ROOT / path).exists(), f"{path} does not exist"


def test_the_readme_is_short():
    assert len(README.read_bytes()) <= 6000


def test_errata_and_equations_name_tests_that_exist():
    tests = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("test_*.py"))
    for page in (ROOT / "docs" / "concepts").glob("*.md"):
        for name in re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8")):
            assert f"def {name}(" in tests, f"{page.name} names {name}, which does not exist"


def test_equations_name_functions_that_exist():
    page = (ROOT / "docs" / "concepts" / "equations.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"`tp\.(\w+)", page)):
        assert hasattr(taupi, name), f"equations.md names taupi.{name}, which does not exist"


def test_the_skill_says_when_to_use_it_and_names_commands_and_options_that_exist():
    text = SKILL.read_text(encoding="utf-8")
    head = text.split("---\n")[1]
    assert re.match(r"name: taupi\ndescription: .{80,1000}\n$", head)
    lines = [shlex.split(line) for line in re.findall(r"`(taupi \w[^`]*)`", text) if not line.startswith("taupi --")]
    assert len(lines) > 6
    for _, command, *words in lines:
        flags = {flag for parameter in command_of(command).params for flag in parameter.opts}
        assert {word for word in words if word.startswith("-")} - {"--json", "--anyway"} <= flags, command
    for path in re.findall(r"docs/[\w/-]+\.md", text):
        assert (ROOT / path).exists(), path
