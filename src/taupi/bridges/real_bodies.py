"""Physically possible bodies, the only ones that other tools accept."""

from __future__ import annotations

import numpy as np

from taupi.bridges.identified import Identified
from taupi.errors import Argument, TaupiError
from taupi.model.body import why_not_physical
from taupi.model.scalars import exact


def unreal(body: np.ndarray) -> str:
    """Return why no real body has these ten parameters; nothing if one has.

    >>> import numpy as np
    >>> unreal(np.array([2.0, 0, 0, 0, 1, 0, 0, 1, 0, 1])), unreal(np.zeros(10))
    ('', 'it has no mass')
    """
    return why_not_physical(tuple(exact(float(v)) for v in body)) or ("" if body[0] > 0 else "it has no mass")


def refuse_unreal(taken: Identified, tool: str) -> None:
    """Refuse links that are no real bodies; a `tool` accepts links without any mass or inertia."""
    for link, body in zip(taken.robot.links, taken.bodies, strict=True):
        if body.any() and (why := unreal(body)):
            raise TaupiError(
                f"{tool} takes real bodies only, and {link.name} is not one: {why}.",
                remedy=(
                    "Identify it with ",
                    Argument("estimator", "feasible"),
                    ", or describe it with bodies that exist.",
                ),
            )
