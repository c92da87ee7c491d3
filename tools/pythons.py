"""Run the tests on every Python that this machine has, each in its own environment: `make pythons`.

Interpreters are those on the PATH (python3.10, ...) and those that pyenv keeps. Extras without a wheel for one of them are left
out, and the tests that need them are skipped, as pytest says.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
# What tests require; peers and frameworks that some tests compare with are in the extra `test`.
NEEDED = (
    *("pytest>=8", "pytest-xdist>=3.5", "hypothesis>=6.100", "cloudpickle>=3", "pandas>=2.2", "pyyaml>=6"),
    *("fsspec>=2024.2", "aiohttp>=3.9", "coverage>=7.6", "mypy>=1.13", "example-robot-data>=4.3"),
)
PARTS = "mjcf,plot,meshes,cluster"


def interpreters(versions: Sequence[str]) -> dict[str, Path]:
    """Return the installed interpreters of these versions, by version."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    result: dict[str, Path] = {}
    for version in versions:
        kept = sorted(
            (p for p in pyenv.glob(f"{version}.*/bin/python") if re.fullmatch(r"[\d.]+", p.parents[1].name)),
            key=lambda p: [int(part) for part in p.parents[1].name.split(".")],
        )
        on_path = shutil.which(f"python{version}")
        if kept or on_path:
            result[version] = kept[-1] if kept else Path(str(on_path))
    return result


def environment(version: str, python: Path, folder: Path, extra: bool) -> Path:
    """Return the Python of an environment with taupi and its tests' packages, created if it is missing."""
    inside = folder / version / "bin" / "python"
    if not inside.exists():
        subprocess.run([str(python), "-m", "venv", str(folder / version)], check=True)
        subprocess.run([str(inside), "-m", "pip", "install", "-q", "--upgrade", "pip"], check=True)
    install = [str(inside), "-m", "pip", "install", "-q", "--editable"]
    if not extra or subprocess.run([*install, f"{ROOT}[test]"], check=False).returncode:
        subprocess.run([*install, f"{ROOT}[{PARTS}]", *NEEDED], check=True)
    return inside


def main(words: list[str] | None = None) -> int:
    """Run; return 1 if the tests failed on one of them."""
    parser = argparse.ArgumentParser(description="Run the tests on every installed Python.")
    parser.add_argument("--versions", nargs="+", default=list(VERSIONS), metavar="3.X")
    parser.add_argument("--folder", type=Path, default=ROOT / ".pythons", help="for the environments")
    parser.add_argument("--small", action="store_true", help="without the extra `test`: no peers, no frameworks")
    parser.add_argument("--jobs", default="2", help="processes of pytest at a time")
    parser.add_argument("tests", nargs="*", default=["tests"], help="what to run")
    options = parser.parse_args(words)
    outcomes = {}
    for version, python in interpreters(options.versions).items():
        inside = environment(version, python, options.folder.resolve(), not options.small)
        run = [str(inside), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", options.jobs, *options.tests]
        done = subprocess.run(run, cwd=ROOT, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, check=False)
        outcomes[version] = done.returncode
    missing = [version for version in options.versions if version not in outcomes]
    print("\n".join(f"Python {version}: {'passed' if code == 0 else 'failed'}" for version, code in outcomes.items()))
    if missing:
        print(f"not on this machine: {', '.join(missing)}")
    return 1 if not outcomes or any(outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
