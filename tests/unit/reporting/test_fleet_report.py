"""The page and the picture of a fleet: dots and intervals of arms, and what is said about them."""

import dataclasses
import re

import numpy as np
import pytest
from runs_of_arms import arm, recorded

import taupi as tp
from taupi.reporting.arm_dots import arm_dots
from taupi.reporting.arm_values import arm_values

PARAMETER = "elbow.coulomb"


@pytest.fixture(scope="module")
def fleet():
    robot = arm((0.5, 0.5), (0.4, 0.4), (0.0, 0.0))
    logs = {f"arm-{k}": [recorded(2 * k + i, robot, noise=0.05) for i in range(2)] for k in range(4)}
    return tp.identify_fleet(tp.load("elbow2r"), logs, cutoff_hz=10, slow=0.02)


@pytest.fixture(scope="module")
def partly_unknown(fleet):
    """The logs of arm-1 do not determine its Coulomb friction at the elbow, and their estimate of it is far off."""
    estimate, i = fleet.estimates["arm-1"], fleet.own.index(PARAMETER)
    own, variance = estimate.own.copy(), estimate.variance.copy()
    own[i], variance[i] = 700.0, np.inf
    changed = dataclasses.replace(estimate, own=own, variance=variance)
    return dataclasses.replace(fleet, estimates={**fleet.estimates, "arm-1": changed})


def panel_of(fleet):
    return next(panel for panel in arm_values(fleet) if panel.name == PARAMETER)


def test_what_logs_do_not_determine_is_not_drawn_as_exact(partly_unknown):
    panel = panel_of(partly_unknown)
    assert panel.determined.tolist() == [True, False, True, True]
    text = arm_dots(panel)
    assert "arm-1: not determined by its logs" in text and "; not determined: arm-1" in text
    assert "± 0 " not in text and "700" not in text and "nan" not in text
    assert text.count("<path d=") == 3 and text.count("<circle") == 4  # bars are of those that are known
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', text)]
    assert np.ptp(heights) > 20  # the unknown value does not squeeze the others together


def test_the_picture_has_no_interval_where_nothing_is_known(partly_unknown):
    figure = tp.plot(partly_unknown)
    axes = figure.axes[partly_unknown.own.index(PARAMETER)]
    drawn = sorted(x for container in axes.containers for x in container.lines[0].get_xdata())
    assert drawn == [0, 2, 3] and axes.get_ylim()[1] < 10
    (hollow,) = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
    assert hollow.get_xdata().tolist() == [1]
