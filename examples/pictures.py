"""Draw the pictures of the documents again: the arm of the how-to pages, and ellipses of operational mass."""

from __future__ import annotations

import math
from pathlib import Path

import taupi as tp

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def main() -> None:
    """Write docs/images/puma560.png, mass-ellipses.png and mass-ellipsoid.png."""
    tp.plot(tp.load("puma560"), [0.3, 0.6, -0.4, 0.3, 0.5, 0.0], path=IMAGES / "puma560.png", force=True)
    arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    flat = tp.operational.mass_ellipses(arm, [[0.0, math.pi / 2], [math.pi / 3, 2 * math.pi / 3], [2.4, -0.9]])
    tp.plot(flat, IMAGES / "mass-ellipses.png", force=True)
    round_ = tp.operational.mass_ellipses(tp.load("panda"), [0, -0.5, 0, -2, 0, 1.6, 0.8], task="position")
    tp.plot(round_, IMAGES / "mass-ellipsoid.png", force=True)


if __name__ == "__main__":
    main()
