"""The system's C compiler, for the binary inside a unit."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from taupi.errors import Argument, TaupiError

_CANDIDATES = ("cc", "gcc", "clang")
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
_SYSTEMS = {  # by Python's name: FMI 3.0's, the ending of a library, FMI 2.0's
    "linux": ("linux", ".so", "linux64"),
    "darwin": ("darwin", ".dylib", "darwin64"),
    "win32": ("windows", ".dll", "win64"),
}


def platform_names() -> tuple[str, str, str]:
    """Return the names that FMI 3.0 and FMI 2.0 give to this machine's folder of binaries, and the suffix of a library."""
    machine = _MACHINES.get(platform.machine().lower(), platform.machine().lower())
    system, ending, old = _SYSTEMS.get(sys.platform, (sys.platform, ".so", sys.platform))
    return f"{machine}-{system}", old if machine == "x86_64" else f"{machine}-{system}", ending


def compile_library(folder: Path, sources: Sequence[str], library: Path) -> None:
    """Compile `sources` in a `folder` into a shared `library`; raise an error if there is no compiler, or if it fails."""
    command = [*_compiler(), "-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-shared"]
    command += [*sources, "-o", str(library), "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()
        raise TaupiError(
            f"{command[0]} cannot compile the unit: {last[0] if last else 'it says nothing'}.", remedy=_without()
        )


def _compiler() -> list[str]:
    """Return the compiler that the variable CC names, or one that is installed."""
    stated = shlex.split(os.environ.get("CC", ""))
    if stated:
        if shutil.which(stated[0]) is None:
            raise TaupiError(f"CC names the compiler {stated[0]!r}, which does not exist.", remedy=_without())
        return stated
    for name in _CANDIDATES:
        if shutil.which(name) is not None:
            return [name]
    raise TaupiError(f"No C compiler is installed (tried {', '.join(_CANDIDATES)}).", remedy=_without())


def _without() -> tuple[str | Argument, ...]:
    return (
        "Install one or name it in the variable CC, or write a unit with sources only: ",
        Argument("binary", False),
        ".",
    )
