"""Placements: rotations orthogonal to the last digit, whatever they were made of."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taupi.errors import TaupiError
from taupi.model.placement import (
    IDENTITY3,
    Placement,
    matmul,
    placement_from,
    rotation_about,
    rotation_about_vector,
    rotation_from_matrix,
    rotation_from_quaternion,
    transpose,
)
from taupi.model.scalars import exact, unit_vector

angles = st.floats(-7, 7)
numbers = st.floats(-1, 1)
directions = st.lists(numbers, min_size=3, max_size=3).filter(lambda v: math.hypot(*v) > 1e-2)
quaternions = st.lists(numbers, min_size=4, max_size=4).filter(lambda v: math.hypot(*v) > 1e-2)
# Entries of a rotation whose angle a double states to 1e-15 or so.
ENTRY = 1e-14


def is_rotation(r) -> bool:
    return matmul(r, transpose(r)) == IDENTITY3 and round(np.linalg.det(np.array(r, dtype=float))) == 1


@given(angles, angles, angles)
def test_products_of_turns_are_orthogonal_exactly(a, b, c):
    x, y, z = (rotation_about(axis, v)[0] for axis, v in zip("xyz", (a, b, c), strict=True))
    assert is_rotation(matmul(z, matmul(y, x)))


@given(directions, angles)
def test_rodrigues_turns_about_any_axis(direction, angle):
    u = unit_vector(direction, snap=False)
    r, moved = rotation_about_vector(u, angle, snap=False)
    assert moved == 0
    assert is_rotation(r)
    assert tuple(sum(a * b for a, b in zip(row, u, strict=True)) for row in r) == u
    assert sum(r[i][i] for i in range(3)) == pytest.approx(1 + 2 * math.cos(angle), abs=ENTRY)


@given(quaternions)
def test_quaternions_of_any_length_and_back_by_the_matrix(q):
    r, moved = rotation_from_quaternion(*q, snap=False)
    assert moved < 1e-14
    assert is_rotation(r)
    again, _ = rotation_from_matrix([[float(v) for v in row] for row in r], snap=False)
    assert is_rotation(again)
    np.testing.assert_allclose(np.array(again, dtype=float), np.array(r, dtype=float), atol=ENTRY)


@given(directions, angles, directions)
def test_inverse_and_identity(direction, angle, shift):
    t = tuple(exact(v) for v in shift)
    a = Placement(rotation_about_vector(unit_vector(direction, snap=False), angle)[0], t)
    assert a @ a.inverse() == Placement() == a.inverse() @ a
    assert a @ Placement() == a == Placement() @ a


def test_symbols_stay_symbols_and_zeros_numbers():
    placed = Placement(rotation_about("z", "q1")[0]) @ placement_from(("l1", 0, 0))[0]
    assert [str(v) for v in placed.translation] == ["l1*cos(q1)", "l1*sin(q1)", "0"]
    assert placed.translation[2] == exact(0) and type(placed.translation[2]) is type(exact(0))


@pytest.mark.parametrize("off", [3e-6, -4e-6, 1e-7])
def test_how_far_a_rotation_was_snapped(off):
    """A right angle about x that is off by so much: said by the quaternion, the matrix and the placement."""
    half = math.pi / 4 + off / 2
    r, moved = rotation_from_quaternion(math.cos(half), math.sin(half), 0, 0)
    assert r[2][1] == 1 and moved == pytest.approx(abs(off), rel=1e-6)
    c, s = math.cos(math.pi / 2 + off), math.sin(math.pi / 2 + off)
    matrix = [[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]]
    placed, moved = placement_from(matrix)
    assert placed.rotation[2][1] == 1 and moved == pytest.approx(abs(off), rel=1e-6)
    assert placement_from(matrix, snap=False)[1] < 1e-14


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "abc",
        (1, 2),
        np.ones((4, 4)),
        np.diag([1, 1, -1, 1]),
        [[1, 0], [0, 1]],
        5,
        np.array(3.0),
        {"x": 1, "y": 2, "z": 3},
        {1, 2, 3},
    ],
)
def test_what_is_no_placement_is_refused(bad):
    with pytest.raises(TaupiError, match=r"expected a 4 x 4|not a rotation matrix|3 numbers"):
        placement_from(bad, "tool")
