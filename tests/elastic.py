"""The specification's elastic robots, and what elastic tests share."""

from __future__ import annotations

import re
from functools import cache

import adaptive
import numpy as np

VECTORS = adaptive.VECTORS
# The specification compares entry by entry, relative to max(1, largest entry); its numbers have 13 digits.
VECTOR = 1e-10
_KINDS = {"Ups": "rotor_inertia", "fs": "coulomb", "fv": "viscous", "K": "stiffness"}


@cache
def arm(name, **overrides):
    """A robot of the specification with its transmissions."""
    r = VECTORS["robots"][name]
    return adaptive.robot(name).with_transmissions(
        stiffness=r["K"],
        rotor_inertia=r["Ups"],
        gear_ratio=r["km"],
        motor_axis=r["zm"],
        viscous=r["fv"],
        coulomb=r["fs"],
    )


def ours(name):
    """Our name of a parameter of the document: m1, cx1, Ixx1, Ups1, fs1, fv1, K1."""
    kind, index = re.fullmatch(r"([A-Za-z]+?)(\d+)", name).groups()
    if kind in _KINDS:
        return f"joint{index}.{_KINDS[kind]}"
    return f"link{index}." + (kind.replace("c", "m") if kind.startswith("c") else kind)


def state(vector, *names):
    """Entries of a vector as arrays."""
    return [np.array(vector[n]) for n in names]
