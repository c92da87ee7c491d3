"""The page of a payload: its picture is that of a body with the same mass and inertia."""

import re

import numpy as np
import pytest
from loads import ARM, LOAD, carried, recorded

import taupi as tp
from taupi.reporting.ellipsoids import VIEWS, body_views, equivalent_ellipsoid


@pytest.fixture(scope="module")
def load():
    return carried(recorded(ARM.with_payload(**LOAD), 200, drift=1.15))


def test_the_ellipsoid_has_the_inertia_of_the_payload(load):
    """Points spread evenly over the ellipsoid have, as a cloud of masses, the payload's inertia."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=(200_000, 3))
    u *= (rng.random(len(u)) ** (1 / 3) / np.linalg.norm(u, axis=1))[:, None]
    x = u @ equivalent_ellipsoid(load).T
    inertia = load.mass * (np.mean(np.sum(x**2, axis=1)) * np.eye(3) - x.T @ x / len(x))
    assert np.allclose(inertia, load.inertia, atol=0.01 * np.trace(load.inertia))


def test_views_show_the_centre_where_it_is(load):
    svg = body_views(load)
    centres = [
        (float(x), float(y)) for x, y in re.findall(r'<ellipse class="body-shape" cx="([\d.]+)" cy="([\d.]+)"', svg)
    ]
    origins = [
        (float(x), float(y)) for x, y in re.findall(r'<line class="body-axis c\d" x1="([\d.]+)" y1="([\d.]+)"', svg)
    ]
    assert len(centres) == len(VIEWS) and len(origins) == 2 * len(VIEWS)
    z_up = [
        origins[2][1] - centres[1][1],
        origins[4][1] - centres[2][1],
    ]  # pixels that z of the centre is above the origin
    x_right = [centres[0][0] - origins[0][0], centres[1][0] - origins[2][0]]
    assert z_up[0] == pytest.approx(z_up[1], abs=0.2) and x_right[0] == pytest.approx(x_right[1], abs=0.2)
    assert z_up[0] / x_right[0] == pytest.approx(load.com[2] / load.com[0], rel=0.05)


def test_the_page_has_the_numbers_of_the_result(load, tmp_path):
    tp.report(load, tmp_path / "load.html")
    page = (tmp_path / "load.html").read_text(encoding="utf-8")
    for row in load.rows()[1:]:
        assert f">{row[1]}</td>" in page and f">{row[3]}</td>" in page
    assert "The ellipsoid is solid" in page


def test_a_body_that_the_log_does_not_tell_is_dashed():
    slow = carried(recorded(ARM.with_payload(**LOAD), 203, still=(3, 4, 5), pace=0.1))
    assert body_views(slow).count('class="body-shape guess"') == 3


def test_a_body_that_is_only_likely_is_left_out_where_it_would_dwarf_what_is_known(tmp_path):
    """A planar arm tells nothing across its plane: the likeliest body is far longer than its centre is away."""
    planar = tp.load("elbow2r")

    def log(robot, seed):
        t = np.arange(0, 12, 0.01)
        q, qd, qdd = tp.BSpline.random([0.0, 0.0], [1.6, 1.6], count=20, duration=12.0, seed=seed)(t)
        tau = tp.inverse_dynamics(robot)(q, qd, qdd)
        return tp.Log(t, q, tau=tau + 0.1 * np.random.default_rng(seed).normal(size=q.shape), names=robot.joint_names)

    fit = tp.identify(planar, log(planar, 1), terms=())
    load = tp.identify_payload(fit, log(planar.with_payload(1.2, (0.05, 0.02, 0.0)), 3), gain_uncertainty=0)
    assert np.linalg.norm(equivalent_ellipsoid(load), axis=1).max() > 0.5
    assert "<ellipse" not in body_views(load) and "body-centre" in body_views(load)
    tp.report(load, tmp_path / "load.html")
    page = (tmp_path / "load.html").read_text(encoding="utf-8")
    assert "so no body is drawn" in page and "where it lies along z" in page
    assert "z not determined; its inertia" in load.summary and " mm, z not" in load.summary
