"""What registries are told: links that lead somewhere, and the same requirements for pip and conda."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
SPECIFICATION = importlib.util.spec_from_file_location("repository", ROOT / "tools" / "repository.py")
repository = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(repository)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HOME = "https://github.com/someone/taupi"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"TAUPI_REPOSITORY": f"{HOME}.git"}, HOME),
        ({"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "someone/taupi"}, HOME),
        ({"GITHUB_REPOSITORY": "someone/taupi"}, None),
    ],
)
def test_the_address_is_what_the_environment_states(environment, expected):
    assert repository.address(environment) == expected


def test_what_is_no_address_is_refused():
    with pytest.raises(ValueError):
        repository.address({"TAUPI_REPOSITORY": "javascript:alert(1)"})


def test_every_link_of_the_readme_becomes_absolute_and_leads_to_a_file():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert repository.absolute(text, None) == text
    links = re.findall(r"\]\(([^)\s]+)", repository.absolute(text, HOME))
    own = [link for link in links if link.startswith(HOME)]
    assert len(own) > 20 and all(link.startswith("https://") for link in links)
    for link in [*own, *repository.addresses(HOME).values()]:
        kind, _, path = link.removeprefix(f"{HOME}/").partition("/main/")
        assert not path or (ROOT / path.partition("#")[0]).is_file(), link
        assert (kind == "raw") == path.endswith(".png")


def names_and_versions(requirements):
    return {tuple(re.match(r"([\w-]+) *(?:>=)? *([\d.]*)", text).groups()) for text in requirements}


def test_conda_has_the_requirements_of_pip():
    recipe = yaml.safe_load((ROOT / "packaging" / "recipe.yaml").read_text(encoding="utf-8"))
    wanted = names_and_versions(PROJECT["dependencies"]) | {("python", PROJECT["requires-python"].removeprefix(">="))}
    assert names_and_versions(recipe["requirements"]["run"]) == wanted
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert dict([entry.split(" = ")]) == PROJECT["scripts"]
    version = (ROOT / "src" / "taupi" / "version.py").read_text(encoding="utf-8")
    assert f'"{recipe["context"]["version"]}"' in version


def test_pixi_installs_this_folder_with_extras_that_exist():
    pixi = tomllib.loads((ROOT / "pixi.toml").read_text(encoding="utf-8"))
    parts = [pixi, *pixi["feature"].values()]
    for part in parts:
        taupi = part["pypi-dependencies"]["taupi"]
        assert taupi["path"] == "." and set(taupi["extras"]) <= set(PROJECT["optional-dependencies"])
    assert set(pixi["environments"]["test"]) <= set(pixi["feature"])
    assert (ROOT / pixi["tasks"]["demo"].split()[1]).is_file()
