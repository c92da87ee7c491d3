"""From where arms are seen on pages, and how finely: shared by pictures that need little and by films that need much."""

from __future__ import annotations

import math

AZIMUTH, ELEVATION = math.radians(-55), math.radians(22)
FINE = 2000  # integer steps from the middle of a picture to its edge
