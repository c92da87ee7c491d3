"""The files that `taupi payload` writes: one by its ending, or all of them into a directory."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from taupi.errors import Argument, TaupiError, TaupiWarning
from taupi.files import refuse_to_overwrite, refuse_to_replace, write_folder, write_text

if TYPE_CHECKING:
    from taupi.identification.payloads.payload_estimate import PayloadEstimate
    from taupi.identification.results.fit import Fit

FILES = ("payload.json", "payload.txt", "report.html", "model.urdf")
_ENDINGS = (".json", ".txt", ".html", ".urdf", ".toml")


def refuse_payload_files(fit: Fit, output: Path, force: bool) -> None:
    """Refuse existing files and unknown suffixes before time is spent."""
    if not output.suffix or output.is_dir():
        refuse_to_replace(output, FILES, force)
        return
    if output.suffix not in _ENDINGS:
        raise TaupiError(
            Argument("output"), f" is {str(output)!r}, expected a directory, or a name ending in {', '.join(_ENDINGS)}."
        )
    if output.suffix == ".urdf" and fit.robot.source.format != "urdf":
        raise TaupiError(
            f"{fit.robot.name} comes from {fit.robot.source.format}, expected URDF: write a .toml instead."
        )
    refuse_to_overwrite(output, force)


def write_payload(load: PayloadEstimate, output: Path, force: bool) -> list[Path]:
    """Write a payload to a file in the format of its suffix, or everything to a directory; return the paths."""
    if output.suffix and not output.is_dir():
        _write(load, output, force)
        return [output]
    names = FILES if load.fit.robot.source.format == "urdf" else FILES[:-1]

    def fill(folder: Path) -> None:
        for name in names:
            _write(load, folder / name, force=False)

    write_folder(output, fill, force, own=FILES)
    return [output / name for name in names]


def _write(load: PayloadEstimate, path: Path, force: bool) -> None:
    import taupi as tp

    if path.suffix == ".json":
        write_text(path, json.dumps(load.to_dict(), indent=1) + "\n", force)
    elif path.suffix == ".txt":
        write_text(path, repr(load) + "\n", force)
    elif path.suffix == ".html":
        tp.report(load, path, force=force)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", TaupiWarning
            )  # the user saw what a description cannot hold when the fit was made
            (tp.write_urdf if path.suffix == ".urdf" else tp.write_toml)(load, path, force, anyway=True)
