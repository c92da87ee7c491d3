"""The project's own files: one version, workflows that name what the package supports, promises that the source keeps."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from distribution import sdist_faults, wheel_faults

import taupi

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
SUPPORTED = [
    line.rpartition(" ")[2]
    for line in PROJECT["project"]["classifiers"]
    if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def read_yaml(path: str) -> dict:
    return yaml.safe_load(text(path))


# --- one version ---


def test_the_version_has_one_home():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/taupi/version.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc|\.dev)\d+)?", taupi.__version__)


def test_places_where_people_read_the_version_agree():
    assert read_yaml("CITATION.cff")["version"] == taupi.__version__
    assert re.search(r"version\s*=\s*\{(.+?)\}", text("README.md"))[1] == taupi.__version__
    assert f"\n## {taupi.__version__}" in text("CHANGELOG.md")


def test_the_citation_has_what_the_format_asks_for():
    citation = read_yaml("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["keywords"] == PROJECT["project"]["keywords"]
    assert all("name" in author or "family-names" in author for author in citation["authors"])


def test_types_are_shipped():
    assert (Path(taupi.__file__).parent / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]


# --- what is supported, said in several places ---


def test_python_versions_agree():
    assert SUPPORTED[0] == PROJECT["project"]["requires-python"].removeprefix(">=")
    assert SUPPORTED[0] == PROJECT["tool"]["mypy"]["python_version"]
    assert PROJECT["tool"]["ruff"]["target-version"] == "py" + SUPPORTED[0].replace(".", "")
    assert [int(v.partition(".")[2]) for v in SUPPORTED] == list(range(10, 10 + len(SUPPORTED)))


def test_the_workflow_tests_every_python_on_three_systems():
    jobs = read_yaml(".github/workflows/ci.yml")["jobs"]
    assert {"lint", "test", "docs", "dist"} <= jobs.keys()
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix["python"] == SUPPORTED
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_the_install_page_has_every_extra_and_is_linked_where_people_begin():
    page = text("docs/howto/install.md")
    of_developers = {"test", "dist", "bench", "lint", "docs"}
    named = {name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert named == PROJECT["project"]["optional-dependencies"].keys() - of_developers
    for place in ("README.md", "docs/index.md", "docs/tutorials/first-steps.md", "docs/tutorials/identify-a-robot.md"):
        assert "howto/install.md" in text(place), place


def test_systems_are_classified_as_the_install_page_says():
    classified = [line for line in PROJECT["project"]["classifiers"] if line.startswith("Operating System")]
    assert classified == ["Operating System :: POSIX :: Linux"]
    assert "| macOS, Windows | a workflow is written and has not been run yet" in text("docs/howto/install.md")


def test_the_workflow_is_well_formed():
    workflow = read_yaml(".github/workflows/ci.yml")
    assert workflow[True].keys() >= {"push", "pull_request"}  # YAML 1.1 reads `on` as a truth value
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])


def test_make_has_every_target_that_is_named_and_says_what_each_does():
    if sys.platform == "win32":
        pytest.skip("make is for Linux and macOS")
    listing = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    targets = {line.split()[0] for line in listing.splitlines()}
    phony = re.search(r"^\.PHONY: (.*)$", text("Makefile"), re.MULTILINE)[1].split()
    assert targets == set(phony)
    pages = [".github/workflows/ci.yml", "CONTRIBUTING.md", "README.md", "docs/mutants.md"]
    named = re.findall(r"(?:^|`|run: )make ([a-z-]+)", "\n".join(map(text, pages)), re.MULTILINE)
    assert set(named) - {"lint test"} <= targets


def test_workflow_and_makefile_name_extras_that_exist():
    extras = PROJECT["project"]["optional-dependencies"]
    for path in (".github/workflows/ci.yml", "Makefile", "CONTRIBUTING.md"):
        for group in re.findall(r'"\.\[([\w,]+)\]"', text(path)):
            assert set(group.split(",")) <= extras.keys(), path


def test_hooks_run_what_lint_runs():
    (repository,) = read_yaml(".pre-commit-config.yaml")["repos"]
    hooks = {hook["entry"].split()[0] for hook in repository["hooks"]}
    lint = text("Makefile").partition("\nlint:")[2].partition("\n\n")[0]
    assert hooks == set(re.findall(r"\$\(BIN\)/([\w-]+)", lint))


@pytest.mark.parametrize("name", ["bug", "wrong-number", "feature"])
def test_issue_forms_ask_questions(name):
    form = read_yaml(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert form["name"]
    assert form["description"]
    questions = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in questions}) == len(questions)
    assert any(part.get("validations", {}).get("required") for part in questions)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md"])
def test_what_the_pages_name_is_there(page):
    for target in LINK.findall(text(page)):
        assert "://" in target or (ROOT / target.partition("#")[0]).exists(), f"{page} links to {target}"
    for path in re.findall(r"`((?:src|tests|docs|tools)/[\w./-]+)`", text(page)):
        assert (ROOT / path).exists(), f"{page} names {path}"


# --- promises of SECURITY.md ---

FORBIDDEN_MODULES = {
    "pickle",
    "cPickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
    "socket",
    "urllib.request",
    "requests",
}
FORBIDDEN_CALLS = {"eval", "exec", "execfile", "__import__", "system", "popen", "sympify", "read_pickle"}
# Formulas of published studies, which are part of the package.
EXCEPTIONS = {("papers/formulas.py", "sympify")}


def names_of(node: ast.AST) -> set[str]:
    match node:
        case ast.Import(names=names):
            return {name.name for name in names}
        case ast.ImportFrom(module=str() as module):
            return {module}
    return set()


def called(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name
    return ""


def test_nothing_is_unpickled_evaluated_or_fetched():
    package = Path(taupi.__file__).parent
    for path in package.rglob("*.py"):
        place = path.relative_to(package).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not names_of(node) & FORBIDDEN_MODULES, f"{place}:{node.lineno}"
            name = called(node)
            assert name not in FORBIDDEN_CALLS or (place, name) in EXCEPTIONS, f"{place}:{node.lineno} calls {name}"
            if name == "load" and ast.unparse(node.func) == "np.load":
                assert "allow_pickle=False" in ast.unparse(node), f"{place}:{node.lineno}"


# --- what is in a distribution ---


def test_what_is_missing_from_a_distribution_is_named():
    expected = {"src/taupi/a.py", "tests/test_a.py", "README.md"}
    assert sdist_faults(expected, expected) == []
    assert sdist_faults({"README.md"}, {"README.md", "src/taupi/a.py"}) == ["the sdist lacks src/taupi/a.py"]
    assert "junk" in sdist_faults(expected | {"src/taupi/__pycache__/a.pyc"}, expected)[0]
    assert "nobody asked for" in sdist_faults(expected | {"notes.txt"}, expected)[0]


def test_what_is_missing_from_a_wheel_is_named():
    package = {"taupi/a.py", "taupi/report/page.html"}
    assert wheel_faults(package | {"taupi-1.dist-info/METADATA"}, package) == []
    assert wheel_faults({"taupi/a.py"}, package) == ["the wheel lacks taupi/report/page.html"]
    assert wheel_faults(package | {"taupi/old.py"}, package) == ["the wheel has taupi/old.py, which the source has not"]
    assert wheel_faults(package | {"tests/test_a.py"}, package) == [
        "the wheel has tests/test_a.py outside of the package"
    ]
