"""Bounds of links and the weight of a prior: in Python, from a file, and refused where they mean nothing."""

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError
from taupi.identification.physical.link_bounds import LinkBounds
from taupi.identification.physical.region import parameter_scales

ARM = tp.load("ur10").with_friction(viscous=0.5)
TERMS = ("viscous",)


def log_of(noise=2.0):
    t, w = np.arange(1500)[:, None] / 100, 1.0 + 0.35 * np.arange(6)
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    tau = tp.inverse_dynamics(ARM, terms=TERMS)(q, qd, qdd)
    return tp.Log(t[:, 0], q, tau=tau + np.random.default_rng(1).normal(0, noise, tau.shape), names=ARM.joint_names)


LOG = log_of()
LINKS = [name for name in ARM.link_names if name in {e.owner for e in ARM.parameters.layout.entries}]


def fitted(estimator="consistent", **settings):
    return tp.identify(ARM, LOG, estimator, TERMS, cutoff_hz=10, **settings)


def masses(fit):
    return dict(zip(LINKS, fit.parameters.values[: 10 * len(LINKS) : 10], strict=True))


BOUNDS = {
    "*": {"mass": (0.1, 15.0)},
    "forearm_link": {"mass": (3.0, 3.5)},
    "upper_arm_link": {"centre": [[-0.65, -0.1, 0.0], [0.05, 0.1, 0.25]]},
    "wrist_3_link": {"box": [[-0.08, -0.08, -0.1], [0.08, 0.08, 0.1]]},
    "wrist_2_link": {"ellipsoid": [[0, 0, 0], [0.3, 0.3, 0.3]]},
    "total_mass": (20.0, 24.0),
}
FILE = """
total_mass = [20.0, 24.0]

["*"]
mass = [0.1, 15.0]

[forearm_link]
mass = [3.0, 3.5]

[upper_arm_link]
centre = [[-0.65, -0.1, 0.0], [0.05, 0.1, 0.25]]

[wrist_3_link]
box = [[-0.08, -0.08, -0.1], [0.08, 0.08, 0.1]]

[wrist_2_link]
ellipsoid = [[0, 0, 0], [0.3, 0.3, 0.3]]
"""


def test_a_mapping_a_file_and_an_estimator_say_the_same(tmp_path):
    (tmp_path / "bounds.toml").write_text(FILE)
    settings = tp.estimators.Feasible(
        mass_bounds={"*": (0.1, 15.0), "forearm_link": (3.0, 3.5)},
        total_mass=(20.0, 24.0),
        boxes={"upper_arm_link": ((-0.65, -0.1, 0.0), (0.05, 0.1, 0.25))},
        shapes={
            "wrist_3_link": tp.estimators.Box((-0.08, -0.08, -0.1), (0.08, 0.08, 0.1)),
            "wrist_2_link": tp.estimators.Ellipsoid((0, 0, 0), (0.3, 0.3, 0.3)),
        },
    )
    want = fitted(settings)
    for estimator in ("feasible", "consistent"):
        for bounds in (BOUNDS, tmp_path / "bounds.toml", str(tmp_path / "bounds.toml"), LinkBounds.of(BOUNDS)):
            fit = fitted(estimator, bounds=bounds)
            assert np.allclose(fit.values, want.values, rtol=1e-6, atol=1e-9) and fit.estimator == estimator
    assert 3.0 <= masses(fit)["forearm_link"] <= 3.5 and 20 <= sum(masses(fit).values()) <= 24 + 1e-6
    assert not 3.0 <= masses(fitted())["forearm_link"] <= 3.5  # they matter here
    tp.write_fit(fit, tmp_path / "fit.json")
    assert tp.load_fit(tmp_path / "fit.json").settings["mass_bounds"]["forearm_link"] == [3.0, 3.5]


def test_a_weight_pulls_to_the_prior_as_far_as_it_says():
    """The sum of squares grows by its share, no more, and the parameters come nearer."""
    other = ARM.with_parameters(1.3 * ARM.parameters.values)
    free = fitted("wls")
    r, scale = free.triangle, parameter_scales(other, free.basis.standard, fitted(prior=other).prior)
    least = float(np.sum((r @ np.append(free.values, -1.0)) ** 2))
    far = []
    for weight in (0.001, 0.01, 0.1, 1.0):
        fit = fitted("feasible", prior=other, prior_weight=weight)
        far.append(float(np.linalg.norm((fit.parameters.values[:60] - other.parameters.values) / scale[:60])))
        squares = float(np.sum((r @ np.append(fit.values, -1.0)) ** 2))
        assert squares == pytest.approx((1 + weight) * least, rel=0.01)
    assert far == sorted(far, reverse=True) and far[-1] < 0.8 * far[0]
    assert np.allclose(
        fitted(prior=other, prior_weight=0.1).values, fitted("feasible", prior=other, prior_weight=0.1).values
    )


def test_ridge_has_the_weight_as_its_own():
    assert np.array_equal(fitted("ridge", prior_weight=0.01).values, fitted(tp.estimators.Ridge(weight=0.01)).values)


@pytest.mark.parametrize("estimator", ["wls", "ols", "huber", "friction_shapes"])
@pytest.mark.parametrize("known", [{"bounds": {"*": {"mass": (0.1, 15)}}}, {"prior_weight": 0.1}])
def test_estimators_that_cannot_use_them_refuse_them(estimator, known):
    with pytest.raises(TaupiError, match=f"{next(iter(known))} has no meaning for the estimator {estimator}"):
        fitted(estimator, **known)
    with refused("bounds", resolved="ridge"):
        fitted("ridge", bounds={"*": {"mass": (0.1, 15)}})


def test_a_prior_that_is_no_numbers_is_refused_by_its_name():
    with refused("prior", got="heavy"):
        fitted(prior="heavy")


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"bounds": 3}, "bounds is 3, expected a mapping or the path"),
        ({"bounds": "missing.toml"}, "No file 'missing.toml'"),
        ({"bounds": {"forearm": {"mass": (3, 5)}}}, "No link 'forearm'. Did you mean 'forearm_link'"),
        ({"bounds": {"forearm_link": (3, 5)}}, r"bounds: forearm_link is \(3, 5\), expected a table with some of mass"),
        ({"bounds": {"forearm_link": {"weight": (3, 5)}}}, "No key 'weight' in bounds: forearm_link"),
        ({"bounds": {"forearm_link": {"mass": (5, 3)}}}, "expected 0 <= lower < upper"),
        ({"bounds": {"forearm_link": {"mass": 4}}}, r"forearm_link.mass is 4, expected \[lower, upper\], kg"),
        ({"bounds": {"forearm_link": {"centre": (1, 2)}}}, r"forearm_link.centre is \(1, 2\), expected \[\[lower"),
        ({"bounds": {"total_mass": 25}}, r"bounds: total_mass is 25, expected \[lower, upper\], kg"),
        ({"bounds": {"forearm_link": {"box": 3}}}, "bounds: forearm_link.box is 3, expected"),
        ({"bounds": {"forearm_link": {"box": [[0, 0, 0], [1, 1, 1]], "hull": []}}}, "has several shapes"),
        ({"bounds": {"*": {"mass": (1, 2)}, "total_mass": (50, 60)}}, "add up to another mass"),
        ({"prior_weight": -1}, "prior_weight is -1, expected a finite number above 0"),
        ({"prior_weight": "much"}, "prior_weight is 'much'"),
    ],
)
def test_bad_knowledge(known, message):
    with pytest.raises(TaupiError, match=message):
        fitted(**known)


def test_bounds_stated_twice_are_refused():
    with pytest.raises(TaupiError, match="bounds and total_mass of the estimator state the same twice"):
        fitted(tp.estimators.Feasible(total_mass=(20, 30)), bounds={"total_mass": (20, 30)})
