"""What an installed taupi must do, in a minute at most: run by the Python of a fresh environment, outside of the checkout.

    python -I tools/smoke.py VERSION CHECKOUT

It imports the package, asks the command line three things, builds a regressor and identifies a small arm from a log.
"""

import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from pathlib import Path

COMMAND = Path(sysconfig.get_path("scripts")) / "taupi"
VISCOUS = 0.5  # N m s/rad, of both joints


def shell(*arguments: str, folder: str) -> str:
    """Return what `taupi arguments` prints; a failure ends the test."""
    return subprocess.run([COMMAND, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def check_place(expected: str, checkout: Path) -> None:
    """Check that the installed package is imported, has its type marker, and reports the version that was built."""
    import taupi

    place = Path(taupi.__file__).resolve()
    assert not place.is_relative_to(checkout.resolve()), f"taupi came from the checkout: {place}"
    assert (place.parent / "py.typed").is_file()
    assert taupi.__version__ == version("taupi") == expected, (taupi.__version__, version("taupi"), expected)


def check_numbers(folder: str) -> None:
    """Check one regressor against the torque, and find the friction of a simulated arm again."""
    import numpy as np

    import taupi as tp

    arm = tp.load("elbow2r")
    t, w = np.arange(0, 20, 0.01)[:, None], np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)
    torque = tp.inverse_dynamics(arm)(q, qd, qdd)
    difference = tp.regressor(arm)(q, qd, qdd) @ arm.parameters.values - torque
    assert np.abs(difference).max() < 1e-12 * np.abs(torque).max()
    tp.write_log(tp.Log(t[:, 0], q, tau=torque + VISCOUS * qd, names=arm.joint_names), Path(folder) / "run.csv")
    fit = tp.identify(arm, Path(folder) / "run.csv", terms=("viscous",))
    friction = dict(zip(fit.names, fit.values, strict=True))["elbow.viscous"]
    assert abs(friction - VISCOUS) < 1e-3, f"elbow.viscous = {friction}"


def main(expected: str, checkout: str) -> None:
    """Run every check; an exception is the failure."""
    check_place(expected, Path(checkout))
    with tempfile.TemporaryDirectory() as folder:
        assert shell("--version", folder=folder).strip() == expected
        assert "puma560" in shell("info", "puma560", folder=folder)
        check_numbers(folder)
        shell("identify", "elbow2r", "run.csv", "--terms", "viscous", "-o", "out", folder=folder)
        assert (Path(folder) / "out" / "report.html").stat().st_size > 10_000  # its templates were installed, too
    print(f"taupi {expected}: the installed package works")


if __name__ == "__main__":
    main(*sys.argv[1:])
