"""The viewpoint and resolution of arms on pages, shared by pictures and films."""

from __future__ import annotations

import math

AZIMUTH, ELEVATION = math.radians(-55), math.radians(22)
FINE = 2000  # integer steps from the middle of a picture to its edge
