"""Where a log moves faster than the fitted ones did, so that a fit extrapolates friction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from taupi.errors import warn
from taupi.identification.results.fit import Fit

# Friction is extrapolated where a joint moves faster than this many times its largest speed in the fitted logs.
FASTER = 1.2
# Terms that do not depend on speed.
_SPEEDLESS = ("rotor", "offset", "spring", "link_offset")


class Speeds(NamedTuple):
    """The largest speed of a joint in a log, and in the fitted logs, rad/s or m/s."""

    reached: float
    fitted: float


def faster_joints(fit: Fit, speeds: Mapping[str, float]) -> dict[str, Speeds]:
    """Return the rows of a log, by name, that move clearly faster than any fitted log did; none if the fit has no friction."""
    if all(term.name in _SPEEDLESS for term in fit.terms):
        return {}
    fitted = fit.speeds
    return {
        name: Speeds(float(speed), fitted[name])
        for name, speed in speeds.items()
        if fitted.get(name, 0.0) > 0 and speed > FASTER * fitted[name]
    }


def warn_if_faster(log: str, faster: Mapping[str, Speeds]) -> None:
    """Warn if a log, given by name, moves clearly faster than the fitted ones."""
    if faster:
        pairs = (f"{name} up to {s.reached:.3g}, fitted up to {s.fitted:.3g}" for name, s in faster.items())
        warn(
            f"{log} moves faster than the fitted logs, in rad/s or m/s: {'; '.join(pairs)}. Friction is extrapolated there."
        )
