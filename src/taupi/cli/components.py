"""Components that run beside a robot, by their names on the command line: for a fit, or for a robot with its own parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from taupi.cli.description import Description
from taupi.errors import TaupiError

if TYPE_CHECKING:
    from taupi.identification.online.component import Component
    from taupi.identification.online.contacts import ContactDetector
    from taupi.identification.results.fit import Fit
    from taupi.model.robot import Robot


def build_component(
    name: str, source: str, terms: tuple[str, ...], thresholds: Path | None, description: Description
) -> Component:
    """Return a component by its name, for the fit or the robot that `source` names; `terms` are those of a robot."""
    import taupi as tp

    fit = fit_of(source)
    if thresholds is not None and name != "observer":
        raise TaupiError(f"--thresholds go with the observer, got {name}.")
    if fit is not None and terms:
        raise TaupiError("--terms are those of the fit: leave them out.")
    if name == "observer":
        subject = description.load(source) if fit is None else fit
        own_terms = terms if fit is None else None
        if thresholds is not None:
            return read_detector(subject, thresholds, own_terms)
        return tp.momentum_observer(subject, terms=own_terms)
    if fit is None:
        raise TaupiError(f"The {name} needs a fit, got {source!r}: the fit.json of taupi identify, or its directory.")
    return fit.tracker() if name == "tracker" else fit.recursive_estimator()


def read_detector(source: Fit | Robot, path: Path, terms: tuple[str, ...] | None = None) -> ContactDetector:
    """Return the detector for a fit, or a robot with `terms`: the thresholds in the file at `path`, and their observer."""
    import taupi as tp
    from taupi.identification.online.contacts import ContactDetector
    from taupi.identification.online.thresholds_file import read_thresholds

    thresholds = read_thresholds(path, source if isinstance(source, tp.Robot) else source.robot)
    observer = tp.momentum_observer(source, thresholds.bandwidth_hz, terms, thresholds.tracked)
    return ContactDetector(observer, thresholds)


def fit_of(source: str) -> Fit | None:
    """Return the fit in a file or directory, or None if `source` names a robot."""
    import taupi as tp

    path = Path(source)
    return tp.load_fit(path) if path.suffix == ".json" or path.is_dir() else None
