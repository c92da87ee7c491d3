"""What Zollo et al. (2014) print about the two studies, and the figures of our own reference runs, with their rules."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from taupi.papers.study import StudyRow, between


class Estimate(NamedTuple):
    """A line of Table 1: our name, the document's, its real and its estimated value as printed, unit."""

    name: str
    symbol: str
    real: str
    estimated: str
    unit: str


TABLE_1 = (
    Estimate("joint1.stiffness", "K1", "3000.00", "3000.79", "N m/rad"),
    Estimate("joint2.stiffness", "K2", "1800.00", "1799.79", "N m/rad"),
    Estimate("link1.mR", "m1 - 4 Izz1 + 4 Izz2", "-30.8333", "-30.8352", "kg"),
    Estimate("link2.mR", "m2 - 4 Izz2", "6.5667", "6.5670", "kg"),
    Estimate("link1.mxR", "cx1 + 2 Izz1", "22.6333", "22.6345", "kg m"),
    Estimate("link1.my", "cy1", "0.0000", "-1.04e-5", "kg m"),
    Estimate("link2.mxR", "cx2 + 2 Izz2", "-0.7833", "-0.7835", "kg m"),
    Estimate("link2.my", "cy2", "0.0000", "3.18e-6", "kg m"),
    Estimate("joint1.rotor_inertia", "rotor 1", "21.1800", "21.1446", "kg m^2"),
    Estimate("joint2.rotor_inertia", "rotor 2", "12.1000", "12.1036", "kg m^2"),
    Estimate("joint1.coulomb", "fs1", "0.3302", "0.1016", "N m"),
    Estimate("joint2.coulomb", "fs2", "0.3576", "0.1249", "N m"),
    Estimate("joint1.viscous", "fv1", "0.1434", "0.1288", "N m s/rad"),
    Estimate("joint2.viscous", "fv2", "0.1391", "0.1389", "N m s/rad"),
)
NME, NME_MOVING, NME_PUMA = "0.103", "0.00862", "0.123"
SAMPLES, DISCARDED = "8900", "1334"
DEFLECTIONS = ("0.39", "0.10")  # degrees
# Normalised mean error at a level of noise in dB, Table 2.
TABLE_2 = {20: "3.84e3", 70: "44.50", 80: "4.73", 100: "0.157", 200: "0.111"}


# What was tried for Table 2, and what came of it: `tools/zollo_table_2.py`.
SEARCH = (
    "of 146 settings on five motions each (where noise enters, the control loop included, what it is relative to, powers or "
    "amplitudes, decimation, size and posture of the motion, gains ten times stiffer) none has all levels; the nearest medians "
    "are 1/180 of the print at 20 dB, 1/2.4 at 70 dB and 1.04 times it at 80 dB, each by another setting"
)


class ReferenceFigure(NamedTuple):
    """A figure of our own reference runs, as printed, the range in which ours may lie, and why it is that wide."""

    text: str
    low: float
    high: float
    reason: str


def resembling(what: str, reference: ReferenceFigure, ours: float, because: str = "") -> StudyRow:
    """Return the row of a reference run's figure beside ours; `because` is why it differs, if it does."""
    text, low, high, reason = reference
    return between(what, text, ours, low, high, reason, because=because)


SPREAD = "it varies that much with motions and gains"
ROUNDING = 1e-10  # what errors of exact signals stay below


def times(text: str, factor: float, why: str = "motions and draws of noise differ") -> ReferenceFigure:
    """Return a figure that ours should meet within a factor."""
    return ReferenceFigure(text, float(text) / factor, float(text) * factor, f"a factor of {factor:g}, as {why}")


def at_most(text: str, most: float, why: str) -> ReferenceFigure:
    """Return a figure of which only the size matters: ours should stay below a limit."""
    return ReferenceFigure(text, 0.0, most, why)


def rounding(text: str) -> ReferenceFigure:
    """Return a figure that is only rounding."""
    return at_most(text, ROUNDING, "rounding")


FLOOR = ReferenceFigure("0.128", 0.120, 0.140, SPREAD)
MOVING = ReferenceFigure("0.0098", 0.008, 0.020, SPREAD)
BACKWARD = ReferenceFigure("0.167", 0.13, 0.24, SPREAD)
# Two joints: pipeline, normalised mean error, and without static friction.
PLANAR_PIPELINES: dict[str, tuple[str, ReferenceFigure, ReferenceFigure]] = {
    "exact": ("exact signals", FLOOR, MOVING),
    "backward": ("zero-phase, backward differences", BACKWARD, times("0.062", 2)),
    "causal": ("backward differences, causal filters", BACKWARD._replace(text="0.166"), times("0.062", 2)),
    "late": ("backward differences, causal filters, u not filtered", times("26", 3), times("18", 3)),
    "unfiltered": ("backward differences, no filters", times("17", 3), times("11", 3)),
    "central": (
        "zero-phase, central differences",
        FLOOR._replace(text="0.129"),
        MOVING._replace(text="0.0124"),
    ),
    "spline": ("quintic spline", FLOOR._replace(text="0.129"), MOVING._replace(text="0.0130")),
    "spline, Stribeck columns, WLS": ("quintic spline, Stribeck columns, WLS", times("0.0069", 3), times("5.8e-4", 3)),
    "exact, Stribeck columns": ("exact signals, Stribeck columns", rounding("1e-13"), rounding("5e-14")),
    "Coulomb plant, exact": ("Coulomb plant, exact signals", rounding("6e-14"), rounding("4e-14")),
    "Coulomb plant, spline, WLS": ("Coulomb plant, quintic spline, WLS", times("4.2e-4", 2), times("2.7e-4", 2)),
    "Coulomb plant, backward": ("Coulomb plant, backward differences", times("0.087", 2), times("0.057", 2)),
    "held": ("torque held 1 ms, as sampled", times("0.52", 2), times("0.40", 2)),
    "held, middle": ("torque held 1 ms, mid-interval", FLOOR, MOVING._replace(text="0.011")),
}
# The least part of friction in the normalised mean error without signs, by the slowest speed that counts, rad/s.
FRICTION_FLOOR = {0.5: "0.117", 0.1: "0.0985"}
# Errors against the line nearest to the friction curve, in place of f_2 and f_1.
PLANAR_LINE = {"central": times("0.0011", 2), "backward": times("0.27", 2)}
# Noise of positions, zero-phase filter, central differences; and of a motion 3.5 times smaller.
PLANAR_NOISE = {20: "5.2", 70: "1.5", 80: "0.17", 100: "0.129", 200: "0.129"}
PLANAR_NOISE_SMALL = {20: "3.2", 70: "9.5", 80: "1.4", 100: "0.165", 200: "0.155"}
PLANAR_NOISE_WLS = (70, "0.16")
PLANAR_NOISE_STRIBECK = {70: "5.7", 80: "1.0", 100: "0.11"}
# PUMA: pipeline, title, with 60 and with 62 base parameters; the medians below.
PUMA_PIPELINES: dict[str, tuple[str, ReferenceFigure, ReferenceFigure]] = {
    "exact": ("exact signals", rounding("4e-12"), rounding("7e-12")),
    "central": ("zero-phase, central differences", times("0.073", 2), times("0.093", 2)),
    "central, WLS": ("zero-phase, central differences, WLS", times("0.101", 2), times("0.119", 2)),
    "not counted": ("zero-phase, central differences, not counted", times("0.046", 2), times("0.043", 2)),
    "backward": ("zero-phase, backward differences", times("3.8", 2), times("3.7", 2)),
}
PUMA_MEDIAN = {60: times("5e-4", 3), 62: times("1.5e-4", 3)}
PUMA_COUNTS = ("8", "6", "0.1")  # largest deflection of the wrist's springs, in steps of the encoder
PUMA_DEFLECTION = "0.09"  # rad, mean over joints

# Tables 3 to 6: K, m, c (three per link), I (xx yy zz xy xz yz of each link), rotor inertia, f_s, f_v. One real value,
# which is 0, is misprinted as 2000 in Table 4.
_REAL = """
2000 2000 2000 2000 2000 2000  0.10 17.4 4.80 0.82 0.34 0.09
0 0 0  -6.3301 0.1044 3.9585  -0.0974 -0.0677 0.336  0 0.0156 0  0 0 0  0 0 0.0029
0 0.35 0.2e-4 0 0 0  1.031 3.727 2.842 0.037 1.440 -0.023  0.090 0.111 0.015 -0.0013 0.0068 0.0047
0.0021 0.0013 0.0021 0 0 0  0.3e-4 0.4e-4 0.3e-4 0 0 0  0.0002 0.0002 4e-5 0 0 0
0.0002 0.0002 0.0002 3.3e-5 3.3e-5 3.0e-5  0.395 0.126 0.132 0.0112 0.0093 0.0039
0.0014 0.0008 0.0014 7.12e-5 8.26e-5 3.67e-5
"""
_ESTIMATED = """
1999.3 1999.8 1999.6 1999.9 1999.3 2000.1  0.0985 17.41 4.7988 0.819 0.339 0.0889
-0.25e-4 -0.22e-4 -0.15e-5  -6.33087 0.10425 3.95835  -0.09769 -0.0679 0.33587  -0.00015 0.015 -0.12e-4
-0.21e-4 -0.15e-4 -0.25e-4  -0.18e-4 -0.25e-4 0.0026
-0.15e-5 0.34 -0.0015 -0.1e-4 -0.1e-5 -0.9e-5  1.016 3.714 2.838 0.033 1.435 -0.038
0.077 0.098 0.5e-3 -0.0026 0.0055 0.0034  0.0008 0 0.0008 -0.0013 -0.0013 -0.0013
0.1e-4 0.9e-4 0.9e-4 -0.1e-4 -0.1e-4 -0.1e-5  -0.0011 -0.0011 0.12e-4 0.13e-4 -0.13e-4 -0.11e-4
0.0252 0.0252 0.0252 0.25e-4 0.25e-4 0.15e-4  0.396 0.127 0.147 0.0118 0.0140 0.0040
0.0006 0.0005 0.0017 2.01e-5 5.95e-5 1.42e-5
"""
_MOMENTS = ("mx", "my", "mz")
_INERTIAS = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")


def puma_names() -> tuple[str, ...]:
    """Return our names of the 84 parameters in the order of Tables 3 to 6."""
    links, joints = [f"link{i}" for i in range(1, 7)], [f"joint{i}" for i in range(1, 7)]
    names = [f"{j}.stiffness" for j in joints] + [f"{link}.m" for link in links]
    names += [f"{link}.{c}" for link in links for c in _MOMENTS] + [f"{link}.{c}" for link in links for c in _INERTIAS]
    return (*names, *(f"{j}.{kind}" for kind in ("rotor_inertia", "coulomb", "viscous") for j in joints))


def puma_tables() -> tuple[np.ndarray, np.ndarray]:
    """Return the real and the estimated values (84,) of Tables 3 to 6."""
    return np.array(_REAL.split(), dtype=float), np.array(_ESTIMATED.split(), dtype=float)
