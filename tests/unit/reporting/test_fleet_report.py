"""The page and the picture of a fleet: dots and intervals of arms, and what is said about them."""

import dataclasses
import json
import re

import numpy as np
import pytest
from runs_of_arms import arm, recorded

import taupi as tp
from taupi.identification.fleet import fleet_fit
from taupi.reporting.dots import arm_dots
from taupi.reporting.sections import fleet as fleet_page
from taupi.reporting.sections.fleet import ArmsSection, FindingsSection, FleetContent, arm_values

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


def changing(fleet, z):
    """The fleet with logs of its first arm in which the first own parameters change by these multiples of the slope's error."""
    estimate = fleet.estimates["arm-0"]
    by_log, variance = estimate.by_log.copy(), np.ones_like(estimate.by_log_variance)
    by_log[0], by_log[1] = 1.0, 1.0 + np.sqrt(2) * np.resize([*z, *[0.0] * len(fleet.own)], len(fleet.own))
    changed = dataclasses.replace(estimate, by_log=by_log, by_log_variance=variance)
    return dataclasses.replace(fleet, estimates={**fleet.estimates, "arm-0": changed})


def test_changes_over_time_are_in_every_form_of_the_result(fleet):
    result = changing(fleet, [5.5, -8.0])
    assert [round(each.z, 6) for each in result.changes()] == [-8.0, 5.5]
    assert [(each["arm"], round(each["z"], 6), each["first"]) for each in result.to_dict()["changes"]] == [
        ("arm-0", -8.0, 1.0),
        ("arm-0", 5.5, 1.0),
    ]
    json.dumps(result.to_dict(), allow_nan=False)
    text = repr(result)
    assert "changed over an arm's own logs" in text and "-8.0" in text and "+5.5" in text
    assert "changed" not in repr(fleet) and fleet.to_dict()["changes"] == []
    page = FindingsSection().fields(FleetContent(result))["sentences"]
    assert "not by chance (z = -8.0)" in page and "not by chance (z = +5.5)" in page and "certainly" not in page


def test_arms_that_are_not_drawn_are_named_beside_the_others(fleet):
    assert ArmsSection().fields(FleetContent(fleet))["left_out"] == ""
    result = dataclasses.replace(fleet, odd_arms={"arm-<0>": 5.0})
    assert "arm-&lt;0&gt;" in ArmsSection().fields(FleetContent(result))["left_out"]


def test_a_fleet_too_small_to_compare_says_so(fleet):
    assert fleet.too_few and fleet.outliers(0.1, 1.0) == []
    words = "4 arms are too few to tell whether one of them stands out"
    assert words in repr(fleet) and any(words in note for note in fleet.notes)
    page = FindingsSection().fields(FleetContent(fleet))["sentences"]
    assert words in page and "Good" not in page


def test_changes_that_are_not_described_are_counted(fleet, monkeypatch):
    monkeypatch.setattr(fleet_page, "MOST_CHANGES", 1)
    monkeypatch.setattr(fleet_fit, "MOST_CHANGES", 1)
    result = changing(fleet, [9.0, 8.0, 7.0])
    page = FindingsSection().fields(FleetContent(result))["sentences"]
    assert "<b>3 findings:</b>" in page and page.count("not by chance") == 1 and "2 more changes" in page
    assert "and 2 more" in repr(result)
