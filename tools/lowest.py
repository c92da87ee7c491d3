"""Run every command once with the lowest version of each direct dependency that pyproject.toml allows: `make lowest`.

A bound is a promise: what it names has to work, not only what is newest. Extras that commands need are included.
"""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("mjcf", "plot", "view", "cluster", "meshes")
_BOUND = re.compile(r"(?P<name>[A-Za-z0-9_-]+)(\[[^]]*\])?>=(?P<version>[0-9.]+)\s*(?:;(?P<when>.*))?")

# Every command, in an order in which each finds what those before it wrote.
COMMANDS = """
info puma560
info arm.xml
view --help
convert elbow2r arm.toml
regressor elbow2r
base elbow2r
bounds elbow2r
emit elbow2r controller --law slotine-li -o controller
emit elbow2r plant --fmu arm.fmu --no-binary
explicit elbow2r --what gravity-torque
lump --help
simulate elbow2r --duration 1 -o run
log a/run.csv --robot elbow2r
identify elbow2r a/run.csv b/run.csv --terms viscous -o out
validate out c/run.csv
compare out c/run.csv
report out -o page.html
export out --help
payload out c/run.csv
gains --help
contacts out c/run.csv
compress out a/run.csv -o a.piece
combine out a.piece -o later
fleet elbow2r --by {arm}/run.csv --terms viscous --own viscous -o fleet
worker --help
excite elbow2r --duration 2 --starts 1 --budget 2 --limits limits.toml -o motion
control elbow2r --duration 0.5 -o control
study robustness elbow2r --roll-outs 3 --duration 0.3
reproduce --help
doctor
init elbow2r -o project
"""
LIMITS = "shoulder.velocity = 3\nshoulder.effort = 100\nelbow.velocity = 3\nelbow.effort = 100\n"
MJCF = '<mujoco><worldbody><body><joint name="a" axis="0 0 1"/><geom size="0.1"/></body></worldbody></mujoco>'
LOGS = """
import numpy as np, taupi as tp
arm, t = tp.load("elbow2r"), np.arange(1500)[:, None] / 100
for k, name in enumerate("abc"):
    w = np.array([1.0 + 0.3 * k, 1.7 - 0.2 * k])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    noise = 0.05 * np.random.default_rng(k).normal(size=q.shape)
    tau = tp.inverse_dynamics(arm)(q, qd, qdd) + 0.5 * qd + noise
    tp.write_log(tp.Log(t[:, 0], q, tau=tau, names=arm.joint_names), f"{name}/run.csv")
"""
USABLE = (0, 4)  # 4: it ran, and its result is not to be believed


def lowest(project: dict[str, Any], extras: Iterable[str]) -> list[str]:
    """Return the pins name==version of the lowest versions that a project allows, with those of some extras.

    >>> lowest({"dependencies": ["a>=1.2", "b[x]>=3; python_version < '3.11'"], "optional-dependencies": {"c": ["d>=4"]}}, ["c"])
    ['a==1.2', "b==3; python_version < '3.11'", 'd==4']
    """
    wanted = [*project["dependencies"], *(d for e in extras for d in project["optional-dependencies"][e])]
    pins = []
    for requirement in wanted:
        match = _BOUND.match(requirement)
        if match is None:
            raise SystemExit(f"{requirement} has no lower bound")
        pins.append(f"{match['name']}=={match['version']}" + (f";{match['when']}" if match["when"] else ""))
    return pins


def environment(folder: Path) -> Path:
    """Return the Python of an environment with taupi and the lowest versions, created if it is missing."""
    tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    inside = folder / "bin" / "python"
    if not inside.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = folder / "lowest.txt"
    pins.write_text("\n".join(lowest(project, EXTRAS)) + "\n", encoding="utf-8")
    place = f"{ROOT}[{','.join(EXTRAS)}]"
    subprocess.run([str(inside), "-m", "pip", "install", "-q", "-c", str(pins), "--editable", place], check=True)
    return inside


def failures(python: Path) -> list[str]:
    """Return what went wrong when every command was run once by a Python."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        for name in "abc":
            (folder / name).mkdir()
        (folder / "limits.toml").write_text(LIMITS, encoding="utf-8")
        (folder / "arm.xml").write_text(MJCF, encoding="utf-8")
        subprocess.run([str(python), "-c", LOGS], cwd=folder, check=True)
        for line in COMMANDS.strip().splitlines():
            words = [str(python), "-m", "taupi", *shlex.split(line)]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
            print(f"{done.returncode}  taupi {line}")
            if done.returncode not in USABLE or not done.stdout + done.stderr:
                wrong.append(f"taupi {line}: {done.stderr.strip()[-500:]}")
            elif done.stdout.strip() == done.stdout.strip().partition(" ")[0] and line.startswith("info"):
                wrong.append(
                    f"taupi {line} prints {done.stdout!r}"
                )  # an old typer prints the version for every command
    return wrong


def main(words: list[str] | None = None) -> int:
    """Run; return 1 if a command failed."""
    parser = argparse.ArgumentParser(description="Run every command with the lowest versions that are allowed.")
    parser.add_argument("--folder", type=Path, default=ROOT / ".lowest", help="for the environment")
    parser.add_argument("--python", type=Path, help="a Python that has the packages already")
    options = parser.parse_args(words)
    wrong = failures(options.python or environment(options.folder.resolve()))
    print("\n".join(wrong) if wrong else "every command works")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
