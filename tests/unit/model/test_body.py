"""Bodies: the ten parameters from and to mass, centre of mass and inertia, moved and added."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taupi.errors import TaupiError
from taupi.model.body import add_bodies, body_from_com, body_to_com, move_body, pseudo_inertia, why_not_physical
from taupi.model.placement import Placement, rotation_about_vector
from taupi.model.scalars import exact, unit_vector

decimals = st.decimals(-2, 2, places=4)
masses = st.decimals("0.001", 30, places=3)
triples = st.tuples(decimals, decimals, decimals)
sixes = st.tuples(*[decimals] * 6)
points = st.lists(st.tuples(masses, triples), min_size=1, max_size=5)


def point_masses(points):
    """Each point mass about the origin, added: the independent way to a real body."""
    total = (Fraction(0),) * 10
    for m, p in points:
        total = add_bodies(total, body_from_com(exact(m), [exact(v) for v in p], [0] * 6))
    return total


@given(masses, triples, sixes)
def test_com_form_and_back_exactly(m, com, inertia):
    m, com, inertia = exact(m), tuple(map(exact, com)), tuple(map(exact, inertia))
    back = body_to_com(body_from_com(m, com, inertia))
    assert back[:2] == (m, com)
    assert tuple(back[2][i][j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))) == inertia


@given(points, triples, triples.filter(any), st.floats(-3, 3))
def test_moving_a_body_moves_its_points(points, shift, axis, angle):
    placed = Placement(rotation_about_vector(unit_vector(axis), angle)[0], tuple(map(exact, shift)))
    moved = [(m, (placed @ Placement(translation=tuple(map(exact, p)))).translation) for m, p in points]
    assert move_body(point_masses(points), placed) == point_masses(moved)


@given(points)
def test_real_bodies_are_physical(points):
    body = point_masses(points)
    assert why_not_physical(body) is None
    weights, places = np.array([float(m) for m, _ in points]), np.array([[float(v) for v in p] for _, p in points])
    expected = sum(w * np.outer([*p, 1], [*p, 1]) for w, p in zip(weights, places, strict=True))
    np.testing.assert_allclose(pseudo_inertia(body), expected, atol=1e-12 * max(1, abs(expected).max()))


def test_unreal_bodies_say_by_how_much():
    assert "eigenvalue -0.17" in why_not_physical(body_from_com(0, (0, 0, 0), (0, 0, 0, 0.35, 0, 0)))
    assert why_not_physical(body_from_com("m", (0, 0, 0), (0, 0, 0, 1, 0, 0))) is None  # symbols leave it open


@given(triples.filter(any), st.floats(-3, 3), st.floats(1e-6, 1e3))
def test_rounding_makes_no_inertia_asymmetric(axis, angle, scale):
    r = np.array(rotation_about_vector(unit_vector(axis), angle)[0], dtype=float)
    tensor = scale * (r @ np.diag([0.3, 0.2, 0.11]) @ r.T)
    six = body_from_com(1, (0, 0, 0), tensor)[4:]
    for value, (i, j) in zip(six, ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), strict=True):
        # The mean of the two decimals that print the doubles.
        assert value == (exact(tensor[i, j]) + exact(tensor[j, i])) / 2


def test_symbols_are_compared_exactly():
    rows = [["a", "b/2", 0], ["0.5*b", "c", 1e-12], [0, 0, 2]]
    assert str(body_from_com("m", (0, 0, 0), rows)[5]) == "b/2"
    with pytest.raises(TaupiError, match="not symmetric"):
        body_from_com("m", (0, 0, 0), [["a", "b", 0], [0, "c", 0], [0, 0, 2]])


def test_a_description_states_no_negative_mass():
    with pytest.raises(TaupiError, match=r"hand: mass is -0\.1, expected 0 or more"):
        body_from_com(-0.1, (0, 0, 0), [0] * 6, "hand")
    assert body_from_com("m", (0, 0, 0), [0] * 6)[0] == exact("m")


def test_asymmetric_or_misshapen_inertia_is_refused():
    with pytest.raises(TaupiError, match="link: inertia is not symmetric"):
        body_from_com(1, (0, 0, 0), [[1, 1e-8, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(TaupiError, match="link: inertia is not symmetric"):
        body_from_com(1, (0, 0, 0), [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(TaupiError, match="expected 3 x 3 or six"):
        body_from_com(1, (0, 0, 0), [1, 1])
