"""Shapes of friction found beside linear parameters, against simulated friction of a known shape."""

import numpy as np
import pytest
import sprung
from refusals import refused

import taupi as tp

ARM = tp.load("zollo2r").with_friction(stribeck=[4.0, 3.0])
TRUE = 0.4
TERMS = ("coulomb", "viscous")


def shapes(s):
    return (tp.terms.Stribeck(velocity=float(s[0])),)


@pytest.fixture(scope="module")
def log():
    return sprung.log_of(ARM, terms=(*TERMS, tp.terms.Stribeck(velocity=TRUE)), torque_noise=0.05, rate=1000.0)


def test_the_shape_and_the_heights_are_found(log):
    fit = tp.estimators.identify_shapes(ARM, log, shapes, [0.1], TERMS, preparation=tp.Preparation(cutoff_hz=60))
    assert fit.shapes[0] == pytest.approx(TRUE, rel=0.1)
    heights = [v for n, v in zip(fit.fit.names, fit.fit.values, strict=True) if n.endswith("stribeck")]
    assert np.allclose(heights, [4.0, 3.0], rtol=0.2)  # a filter makes peaks at standstill lower
    assert fit.after < fit.before and 0 < fit.stderr[0] < 0.1
    assert "shapes 0." in repr(fit)


def test_variable_projection_is_the_best_of_a_scan(log):
    """Another algorithm: a fit for each of many shapes; none is better than the one found."""
    preparation = tp.Preparation(cutoff_hz=60)
    fitted = tp.estimators.identify_shapes(ARM, log, shapes, [0.1], TERMS, preparation=preparation)

    def left(v):
        fit = tp.identify(ARM, log, "wls", (*TERMS, *shapes([v])), preparation=found_settings(fitted))
        return [j.rms for j in fit.joints][2:]

    best = np.array(left(fitted.shapes[0]))
    for v in (0.7, 1.5):
        assert (np.array(left(v * fitted.shapes[0])) >= best * (1 - 1e-6)).all()


def found_settings(fit):
    return tp.Preparation(**fit.fit.settings["preparation"])


@pytest.mark.parametrize("start", [[], [-1.0], [np.nan], [[0.1]]])
def test_bad_starts(start, log):
    with refused("start"):
        tp.estimators.identify_shapes(ARM, log, shapes, start, TERMS)
