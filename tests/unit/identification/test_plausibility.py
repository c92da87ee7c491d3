"""What speaks against a fit, one reason at a time."""

import dataclasses

import numpy as np
import pytest
from fits import friction_fit

import taupi as tp
from taupi.identification.physical.standard_parameters import Consistency
from taupi.identification.results.plausibility import reasons_of_fit


def conditioning_of_factor(relative=0.01, before=0.01, after=0.02, masses=1.0, prior=1.0, exact=False):
    """Return the doubts about a fit with these errors, and with masses a factor of the description's."""
    fit = friction_fit()
    joints = tuple(dataclasses.replace(j, rms=relative * j.rms / j.relative, relative=relative) for j in fit.joints)
    changed = dataclasses.replace(fit, joints=joints, prior=fit.prior * prior)
    values = fit.prior.copy()
    values[:20:10] *= masses
    changed.__dict__["consistency"] = Consistency(values, exact, before, after, 1.0)
    return reasons_of_fit(changed)


def test_a_good_fit_leaves_none():
    assert reasons_of_fit(friction_fit()) == () == conditioning_of_factor()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"relative": 0.6}, "The fit leaves 60 % of the torque it was fitted to unexplained"),
        ({"before": 0.01, "after": 0.2}, "with a relative error of 20 % instead of 1 %"),
        ({"masses": [1.0, 25.0]}, r"Link 'forearm' would weigh .* kg, but its description says"),
        ({"masses": 1e-3}, "2 of 2 links would weigh less than 3 % of what their description says"),
    ],
)
def test_each_reason_by_itself(change, words):
    import re

    (reason,) = conditioning_of_factor(**change)
    assert re.search(words, str(reason)) and "Check the logs' signs" in reason.remedy
    assert reason.level == ("good" if "links would weigh less" in words else "wrong")


@pytest.mark.parametrize(
    "change",
    [
        {"relative": 0.31},
        {"before": 0.3, "after": 0.39},  # a poor log, not made worse
        {"before": 0.01, "after": 0.5, "exact": True},
        {"masses": [1.0, 9.0]},
        {"masses": [1.0, 1e-4]},  # one of two: nothing hangs on it, perhaps
        {"masses": 1e-3, "prior": 0.0},  # a description without masses is no measure
    ],
)
def test_what_may_be_is_let_through(change):
    assert conditioning_of_factor(**change) == ()


def test_the_error_over_all_joints_is_that_of_the_torque():
    fit = friction_fit()
    left = sum(j.rms**2 * j.rows for j in fit.joints)
    power = sum((j.rms / j.relative) ** 2 * j.rows for j in fit.joints)
    assert fit.relative == pytest.approx(np.sqrt(left / power))


def test_a_log_without_samples_is_not_called_silent():
    with pytest.raises(tp.TaupiError) as caught:
        tp.identify(tp.load("elbow2r"), tp.Log([], np.zeros((0, 2)), tau=np.zeros((0, 2))))
    assert caught.value.argument == "log" and "0 samples" in str(caught.value)
