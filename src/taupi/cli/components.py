"""What runs beside a robot, by its name on the command line: for a fit, or for a robot with its own parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from taupi.cli.description import Description
from taupi.errors import TaupiError

if TYPE_CHECKING:
    from taupi.identification.online.component import Component
    from taupi.identification.results.fit import Fit


def build_component(
    name: str, source: str, terms: tuple[str, ...], thresholds: Path | None, description: Description
) -> Component:
    """Return a component by its name, for the fit or the robot that `source` names; `terms` are those of a robot."""
    import taupi as tp

    fit = _fit(source)
    if thresholds is not None and name != "observer":
        raise TaupiError(f"--thresholds go with the observer, got {name}.")
    if fit is None:
        if name != "observer":
            raise TaupiError(
                f"The {name} needs a fit, got {source!r}: the fit.json of taupi identify, or its directory."
            )
        observer = tp.momentum_observer(description.load(source), terms=terms)
    elif terms:
        raise TaupiError("--terms are those of the fit: leave them out.")
    elif name == "tracker":
        return fit.tracker()
    elif name == "estimator":
        return fit.recursive_estimator()
    else:
        observer = tp.momentum_observer(fit)
    if thresholds is None:
        return observer
    from taupi.identification.online.contacts import ContactDetector
    from taupi.identification.online.thresholds_file import read_thresholds

    return ContactDetector(observer, read_thresholds(thresholds, observer.robot))


def _fit(source: str) -> Fit | None:
    """Return the fit in a file or directory, or None where `source` names a robot."""
    import taupi as tp

    path = Path(source)
    return tp.load_fit(path) if path.suffix == ".json" or path.is_dir() else None
