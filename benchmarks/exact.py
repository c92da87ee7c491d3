"""Exact base parameters: cold, in a process of its own, from seven joints to more than a hundred."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import taupi as tp

TITLE = "Exact base parameters"
ONE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from exact import robot_of
import taupi as tp
robot = robot_of(sys.argv[2])
clocks = time.perf_counter(), time.process_time()
base = tp.base_parameters(robot)
seconds = [now - then for now, then in zip((time.perf_counter(), time.process_time()), clocks, strict=True)]
import hashlib
text = repr((base.names, base.columns, base.rows)).encode()
print(json.dumps({"wall": seconds[0], "cpu": seconds[1], "joints": robot.n, "columns": len(base.standard),
                  "base": base.count, "digest": hashlib.sha256(text).hexdigest()[:12]}))
"""
# A body with twelve limbs of nine joints: as many joints as the largest model of MuJoCo Menagerie, a fly.
LIMBS, JOINTS = 12, 9


def robot_of(name: str) -> tp.Robot:
    """Return a robot of the catalogue, or the body with limbs."""
    if name != "limbs":
        return tp.load(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "limbs.urdf")
        path.write_text(limbs(), encoding="utf-8")
        return tp.Robot.from_urdf(path)


def limbs() -> str:
    """Return the URDF of a body with limbs, whose axes and lengths have few digits, as those of models have."""
    lines = ['<robot name="limbs"><link name="body">' + _inertial(0) + "</link>"]
    for i in range(LIMBS):
        for j in range(JOINTS):
            k, parent = JOINTS * i + j, "body" if j == 0 else f"link{i}_{j - 1}"
            axis = ("0 0 1", "0 1 0", "1 0 0")[(i + j) % 3]
            place = f"{(k % 7 - 3) / 50:.2f} {(k % 5 - 2) / 40:.3f} {(k % 3 + 1) / 20:.2f}"
            turn = f"{(k % 4) * 0.125:.3f} 0 {(i % 6) * 0.25:.2f}" if j == 0 else "0 0 0"
            lines.append(
                f'<link name="link{i}_{j}">{_inertial(k + 1)}</link><joint name="joint{i}_{j}" type="revolute">'
                f'<parent link="{parent}"/><child link="link{i}_{j}"/><origin xyz="{place}" rpy="{turn}"/>'
                f'<axis xyz="{axis}"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
            )
    return "\n".join([*lines, "</robot>"])


def _inertial(k: int) -> str:
    mass, size = 0.1 + k % 5 / 20, 0.001 * (1 + k % 3)
    return (
        f'<inertial><origin xyz="0.01 0 {k % 4 / 100}"/><mass value="{mass:.2f}"/><inertia ixx="{size}" ixy="0" ixz="0" '
        f'iyy="{size}" iyz="0" izz="{size}"/></inertial>'
    )


def alone(name: str) -> dict[str, Any]:
    """Return what a process of its own measures, with nothing on disk."""
    here, source = str(Path(__file__).parent), str(Path(tp.__file__).parents[1])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]),
        "TAUPI_CACHE": "off",
    }
    command = [sys.executable, "-W", "ignore", "-c", ONE, here, name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure(short: bool) -> dict[str, Any]:
    """Return seconds of robots of growing size; the largest of all only if there is time."""
    results = {}
    for name in ("puma560", "panda", "ur10", *(() if short else ("limbs",))):
        runs = [alone(name) for _ in range(1 if short or name == "limbs" else 5)]
        assert len({run["digest"] for run in runs}) == 1, f"{name}: another base in another process"
        results[name] = min(runs, key=lambda run: run["wall"])
    return results


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the page's section."""
    rows = [
        [
            f"a body with {LIMBS} limbs" if name == "limbs" else name,
            *(str(r[k]) for k in ("joints", "columns", "base")),
            *(f"{r[k]:.2f}" for k in ("wall", "cpu")),
            f"`{r['digest']}`",
        ]
        for name, r in results.items()
    ]
    return [
        f"## {TITLE}",
        "",
        "`tp.base_parameters(robot)`, names and coefficients as fractions, in a new process after its imports, with no cache.",
        "The hash is that of names, columns and coefficients.",
        "",
        *table(["robot", "joints", "parameters", "base parameters", "s", "s of processor", "hash"], rows),
    ]
