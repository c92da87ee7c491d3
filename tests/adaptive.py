"""The specification's vectors of adaptive control: its robots, and its order of parameters turned into ours."""

import json
from functools import cache
from pathlib import Path

import numpy as np

import taupi as tp

VECTORS = json.loads((Path(__file__).parent / "data" / "adaptive-and-elastic.json").read_text())


@cache
def robot(name):
    r = VECTORS["robots"][name]
    kinds = {"R": "revolute", "P": "prismatic"}
    rows = [
        {
            "a": r["a"][k],
            "alpha": r["alpha"][k],
            "d": r["d"][k],
            "theta": r["off"][k],
            "joint": kinds[r["joint_types"][k]],
        }
        for k in range(r["n"])
    ]
    pi = []
    for m, c, (xx, yy, zz, xy, xz, yz) in zip(r["m"], r["c"], r["I6"], strict=True):
        pi += [m, *c, xx, xy, xz, yy, yz, zz]
    return tp.Robot.from_dh(rows, gravity=r["g0"], parameters=pi)


def ours(arm, theirs):
    """Values in our order from theirs, the last axis."""
    order = arm.parameters.layout.order("kubozono")
    result = np.empty_like(np.asarray(theirs, dtype=float))
    result[..., order] = theirs
    return result
