"""Build the source distribution and the wheel, check their contents, and try each in a fresh environment: `make dist`.

The wheel is built from the source distribution, so that users who build from the archive get what we ship. Nothing but the
package registry is needed from outside.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
SMOKE = ROOT / "tools" / "smoke.py"
# What is needed to test, document and benchmark the package from the archive alone.
WHOLE_FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", "tools", "skills", "packaging", ".github")
ROOT_FILES = {
    "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md",
    "mkdocs.yml", "pixi.toml", "pyproject.toml", ".gitignore", ".pre-commit-config.yaml", "PKG-INFO",
}  # fmt: skip
JUNK = {"__pycache__", ".venv", ".pythons", "site", "out", ".hypothesis", ".mutants", ".git"}


def build(folder: Path) -> tuple[Path, Path]:
    """Return the source distribution and the wheel, built into the empty `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], check=True)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def is_junk(path: PurePosixPath) -> bool:
    """Return whether `path` is a leftover of development, which no archive should contain."""
    cache = any(part.startswith(".") and part.endswith("_cache") for part in path.parts)
    return cache or path.suffix in {".pyc", ".pyo", ".so"} or bool(JUNK & set(path.parts))


def tree(*folders: str) -> set[str]:
    """Return the files below `folders` of the checkout, without junk, as paths from its root."""
    files = (p.relative_to(ROOT) for folder in folders for p in (ROOT / folder).rglob("*") if p.is_file())
    return {p.as_posix() for p in files if not is_junk(PurePosixPath(p.as_posix()))}


def sdist_faults(names: set[str], expected: set[str]) -> list[str]:
    """Return what is wrong with a source distribution of the files `names`, which should contain `expected`."""
    faults = [f"the sdist lacks {name}" for name in sorted(expected - names)]
    faults += [f"the sdist has {name}, which is junk" for name in sorted(names) if is_junk(PurePosixPath(name))]
    strange = {n for n in names if n.split("/")[0] not in WHOLE_FOLDERS and n not in ROOT_FILES}
    return faults + [f"the sdist has {name}, which nobody asked for" for name in sorted(strange)]


def wheel_faults(names: set[str], expected: set[str]) -> list[str]:
    """Return what is wrong with a wheel of the files `names`, if the package's files are `expected`."""
    package = {n for n in names if n.startswith("taupi/")}
    faults = [f"the wheel lacks {name}" for name in sorted(expected - package)]
    faults += [f"the wheel has {name}, which the source has not" for name in sorted(package - expected)]
    strange = {n for n in names - package if not n.partition("/")[0].endswith(".dist-info")}
    return faults + [f"the wheel has {name} outside of the package" for name in sorted(strange)]


def check_contents(sdist: Path, wheel: Path) -> None:
    """Compare the contents of both archives with the checkout; exit with a list of what is missing or superfluous."""
    with tarfile.open(sdist) as archive:
        inside = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    with zipfile.ZipFile(wheel) as zipped:
        packed = set(zipped.namelist())
    package = {name.removeprefix("src/") for name in tree("src/taupi")}
    faults = sdist_faults(inside, tree(*WHOLE_FOLDERS) | ROOT_FILES) + wheel_faults(packed, package)
    if faults:
        sys.exit("\n".join(faults))
    print(f"{sdist.name}: {len(inside)} files; {wheel.name}: {len(packed)} files; nothing missing, nothing strange")


def try_out(artifact: Path, version: str) -> str:
    """Install `artifact` into a fresh environment outside of the checkout and run the smoke test in it."""
    with tempfile.TemporaryDirectory(prefix="taupi-dist-") as folder:
        venv.create(folder, with_pip=True)
        python = os.path.join(folder, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile", str(artifact)]
        for command in (pip, [python, "-I", str(SMOKE), version, str(ROOT)]):
            done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
            if done.returncode:
                return f"{artifact.name} failed at {' '.join(command[1:])}\n{done.stdout}{done.stderr}"
    print(f"{artifact.name}: installs and works")
    return ""


def main() -> None:
    """Build, check, install, run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outdir", type=Path, default=ROOT / "dist", help="where the archives go; emptied first")
    sdist, wheel = build(parser.parse_args().outdir)
    check_contents(sdist, wheel)
    version = wheel.name.split("-")[1]
    with ThreadPoolExecutor(2) as pool:
        failures = [text for text in pool.map(lambda a: try_out(a, version), (sdist, wheel)) if text]
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
