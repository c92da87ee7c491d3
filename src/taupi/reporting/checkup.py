"""The state of the installation: versions, extras, processor, cache, and a few known results."""

from __future__ import annotations

import platform
import re
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata

import numpy as np

from taupi.version import __version__

# Extras for developers of the project.
_DEVELOPMENT = ("test", "dist", "bench", "lint", "docs")
# Features of processors that decide how fast compiled programs are.
_FEATURES = ("sse2", "avx", "avx2", "fma", "avx512f", "neon", "sve")
# Compiled and interpreted programs round differently, a few units in the last place of values up to 100.
_ROUNDED = 1e-9


@dataclass(frozen=True)
class Check:
    """One known result: its name, whether it was reproduced, a number or a sentence, and the seconds it took."""

    name: str
    passed: bool
    detail: str
    seconds: float


@dataclass(frozen=True)
class Checkup:
    """An installation.

    Attributes:
        version: Version of the package.
        python: Version of Python.
        system: Operating system and architecture.
        packages: Version of each required package, None for one that is missing.
        extras: For each extra, its packages with their versions, None for one that is missing.
        processor: The processor's name, as the compiler knows it.
        features: Which of its vector instructions are used.
        gpu: The graphics processor that programs can run on, or why there is none.
        compiler: The C compiler that emitted sources can be compiled with; None if there is none.
        cache: Where compiled programs are kept; None if they are not.
        cache_files: How many are kept there.
        cache_bytes: Their size.
        checks: Known results, computed again.
    """

    version: str
    python: str
    system: str
    packages: dict[str, str | None]
    extras: dict[str, dict[str, str | None]]
    processor: str
    features: tuple[str, ...]
    gpu: str
    compiler: str | None
    cache: str | None
    cache_files: int
    cache_bytes: int
    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether all required packages are installed, and every known result was reproduced."""
        return all(self.packages.values()) and all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {**asdict(self), "features": list(self.features), "healthy": self.healthy}


def checkup() -> Checkup:
    """Return the state of this installation, with a self-test that takes seconds."""
    needed, extras = _requirements()
    name, features = _processor()
    place, files, size = _cache()
    return Checkup(
        version=__version__,
        python=platform.python_version(),
        system=f"{platform.uname().system} {platform.machine()}",
        packages={package: _installed(package) for package in needed},
        extras={extra: {p: _installed(p) for p in packages} for extra, packages in extras.items()},
        processor=name,
        features=features,
        gpu=_gpu(),
        compiler=next((path for path in map(shutil.which, ("cc", "gcc", "clang")) if path), None),
        cache=place,
        cache_files=files,
        cache_bytes=size,
        checks=tuple(_tried(name, check) for name, check in _CHECKS.items()),
    )


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Return the packages that this version of Python needs, and the packages of each extra."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    try:
        lines = metadata.requires("taupi") or []
    except metadata.PackageNotFoundError:  # run from its sources
        lines = []
    for line in lines:
        requirement, _, marker = line.partition(";")
        name = re.split(r"[\s<>=!~\[(]", requirement.strip(), maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
        if extra is None:
            if "python_version" not in marker or sys.version_info < (3, 11):  # the only such marker: tomli's
                needed.append(name)
        elif extra.group(1) not in _DEVELOPMENT and name != "taupi":
            extras.setdefault(extra.group(1), []).append(name)
    return needed, extras


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> tuple[str, tuple[str, ...]]:
    import llvmlite.binding as llvm

    present = llvm.get_host_cpu_features()
    return llvm.get_host_cpu_name(), tuple(name for name in _FEATURES if present.get(name))


def _gpu() -> str:
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
        name = cupy.cuda.runtime.getDeviceProperties(0)["name"]
        return f"{count} x {name.decode() if isinstance(name, bytes) else name}"
    except ImportError:
        return "none: CuPy is not installed (extra 'gpu')"
    except Exception as error:  # a missing or outdated driver raises many kinds of errors
        return f"none: {error}"


def _cache() -> tuple[str | None, int, int]:
    from taupi.program.targets.simd.machine_code import folder

    place = folder()
    if place is None:
        return None, 0, 0
    sizes = [file.stat().st_size for file in place.glob("*.o")] if place.is_dir() else []
    return str(place), len(sizes), sum(sizes)


def _tried(name: str, check: Callable[[], tuple[bool, str]]) -> Check:
    start = time.perf_counter()
    try:
        passed, detail = check()
    except Exception as error:  # any failure is worth reporting here
        passed, detail = False, f"{type(error).__name__}: {error}"
    return Check(name, passed, detail, time.perf_counter() - start)


def _compiled_program() -> tuple[bool, str]:
    """The regressor of the Panda, as machine code and by NumPy."""
    from taupi.model.load import load
    from taupi.regressors.classical import regressor

    program, rng = regressor(load("panda")), np.random.default_rng(0)
    motion = rng.uniform(-1, 1, (3, 50, 7))
    difference = float(np.abs(program(*motion) - program.compile("numpy")(*motion)).max())
    return difference < _ROUNDED, f"Y of the Panda agrees with NumPy to {difference:.0e}"


def _exact_arithmetic() -> tuple[bool, str]:
    """The base parameters of the Panda: a known number."""
    from taupi.identifiability.base_parameters import base_parameters
    from taupi.model.load import load

    count = base_parameters(load("panda")).count
    return count == 43, f"{count} base parameters of the Panda, 43 expected"


def _identification() -> tuple[bool, str]:
    """A simulated arm, identified."""
    from taupi.dynamics.inverse import inverse_dynamics
    from taupi.identification.identify import identify
    from taupi.identification.results.fit import Fit
    from taupi.model.load import load
    from taupi.signals.log import Log

    arm, t, w = load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    tau = inverse_dynamics(arm)(q, qd, qdd) + np.random.default_rng(0).normal(0, 0.01, q.shape)
    fit = identify(arm, Log(t[:, 0], q, tau=tau), terms=("viscous",), cutoff_hz=10)
    assert isinstance(fit, Fit)
    far = float(np.abs((fit.values - fit.basis.project([*arm.parameters.values, 0, 0])) / fit.stderr).max())
    return far < 5, f"parameters of a simulated arm within {far:.1f} standard errors of the truth"


_CHECKS: dict[str, Callable[[], tuple[bool, str]]] = {
    "machine code": _compiled_program,
    "exact arithmetic": _exact_arithmetic,
    "identification": _identification,
}
