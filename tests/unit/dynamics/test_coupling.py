"""Coupled drives: a robot in its motors' coordinates, and terms along combinations of coordinates."""

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError

A = np.array([[1.0, 0.0, 0.0], [-0.5, 1.0, 0.0], [0.25, -2.0, 1.0]])


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(0).uniform(-1, 1, (3, 20, 3))


def test_motor_torques_are_those_of_virtual_work(states):
    """tau_m = A^T tau(A theta), computed on the joints' side by the robot that knows no coupling."""
    arm = tp.load("planar3r")
    values = {name: 0.3 + 0.1 * k for k, (name, value) in enumerate(arm.symbols) if value is None}
    arm = arm.bind(**values)
    coupled = arm.with_coupling(A)
    joints = [x @ A.T for x in states]
    want = tp.inverse_dynamics(arm)(*joints) @ A
    assert np.allclose(tp.inverse_dynamics(coupled)(*states), want, atol=1e-12)
    Y = tp.regressor(coupled)
    assert np.allclose(Y(*states) @ Y.parameters.values, want, atol=1e-12)
    assert np.allclose(Y(*states), np.einsum("jk,njp->nkp", A, tp.regressor(arm)(*joints)), atol=1e-12)
    assert np.allclose(tp.mass_matrix(coupled)(states[0]), A.T @ tp.mass_matrix(arm)(joints[0]) @ A, atol=1e-12)
    assert np.allclose(tp.forward_dynamics(coupled)(states[0], states[1], want), states[2], atol=1e-8)
    assert tp.base_parameters(coupled).count == tp.base_parameters(arm).count  # a change of coordinates loses nothing


def test_what_cannot_be_coupled():
    arm = tp.load("elbow2r")
    for matrix, words in (
        ([[1, 0]], "expected 2 rows"),
        ([[1, 0], [0, 0]], "independent"),
        ([[1, 1], [1, 1]], "independent"),
        ("x", "expected 2 rows"),
    ):
        with pytest.raises(TaupiError, match=words):
            arm.with_coupling(matrix)
    with pytest.raises(TaupiError, match="matrix holds a, expected numbers"):
        arm.with_coupling([["a", 0], [0, 1]])


@pytest.mark.parametrize(
    ("name", "matrix"),
    [
        ("elbow2r", [[1, 0], [-1, 1]]),
        ("puma560", (np.eye(6) - np.eye(6, k=-1) * [0, 0, 0, 0, 1, 0]).tolist()),
        ("elbow2r", [["1/3"], [2]]),  # one motor for both, neither of them as it turns
        ("elbow2r", [[1], [2]]),
        ("ur10", np.diag([1, 1, 2, 1, 1, -1]).tolist()),
    ],
)
def test_a_coupled_robot_is_written_and_read_back(tmp_path, name, matrix):
    arm = tp.load(name).with_coupling(matrix)
    tp.write_toml(arm, tmp_path / "arm.toml")
    again = tp.load(tmp_path / "arm.toml")
    assert (again.joints, again.links, again.fingerprint) == (arm.joints, arm.links, arm.fingerprint)
    states = np.random.default_rng(0).uniform(-1, 1, (3, 5, arm.n))
    assert np.array_equal(tp.inverse_dynamics(again)(*states), tp.inverse_dynamics(arm)(*states))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("coupling = [[1, 0], [0, 0]]", "x.toml: coupling: matrix has motors that move the joints alike"),
        ("coupling = [[1, 0]]", "x.toml: coupling: matrix is .* expected 2 rows"),
        ('coupling = "x"', "x.toml: coupling: matrix is 'x', expected 2 rows"),
        ("coupling = [[1], [1]]\nMIMIC", "x.toml has coupling and mimic: use one of the two"),
    ],
)
def test_a_coupling_that_cannot_be_read_is_one_sentence(tmp_path, text, words):
    mimic = 'mimic = { joint = "a" }' if "MIMIC" in text else ""
    head = text.replace("MIMIC", "")
    (tmp_path / "x.toml").write_text(f'[robot]\n{head}\n[[joint]]\nname = "a"\n[[joint]]\nname = "b"\n{mimic}\n')
    with pytest.raises(TaupiError, match=words):
        tp.load(tmp_path / "x.toml")


def test_a_term_along_a_direction_is_the_term_in_turned_coordinates(states):
    """Friction of the motors on the joints' side: C^-T f(C^-1 qd)."""
    arm = tp.load("puma560")
    c = (0, 0, 0, 0, 1, "1/2")
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, 20, 6))
    y = tp.regressor(
        arm,
        terms=(
            "viscous",
            tp.terms.Along("motor6", tp.terms.Coulomb(0.2), c),
            tp.terms.Along("motor6", tp.terms.Rotor(), c),
        ),
    )
    direction = np.array([0, 0, 0, 0, 1, 0.5])
    columns = y(q, qd, qdd)
    assert np.allclose(columns[..., -2], np.tanh(qd @ direction / 0.2)[:, None] * direction)
    assert np.allclose(columns[..., -1], (qdd @ direction)[:, None] * direction)
    assert y.parameters.names[-2:] == ("motor6.coulomb", "motor6.rotor")
    for wrong, words in (((1, 1), "expected 6"), ((0,) * 6, "zero everywhere")):
        with pytest.raises(TaupiError, match=words):
            tp.regressor(arm, terms=(tp.terms.Along("m", tp.terms.Viscous(), wrong),))
    with pytest.raises(TaupiError, match="expected a term"):
        tp.terms.Along("m", "viscous", c)


def test_smooth_friction_and_springs():
    arm = tp.load("elbow2r")
    q, qd, qdd = np.random.default_rng(2).uniform(-1, 1, (3, 20, 2))
    y = tp.regressor(arm, terms=(tp.terms.Coulomb((0.1, 0.0)),))(q, qd, qdd)[..., 20:]
    assert np.allclose(y[:, 0, 0], np.tanh(qd[:, 0] / 0.1)) and np.allclose(y[:, 1, 1], np.sign(qd[:, 1]))
    r, h, rest, a = lever = (0.05, 0.2, 0.1, 0.4)
    Y = tp.regressor(arm, terms=(tp.terms.Spring(lever),))
    column = Y(q, qd, qdd)[:, 0, 20]
    assert Y.parameters.units[20] == "N/m"  # of a coil spring, though the joint turns
    # The spring's energy, differentiated: tau = d/dq (l - rest)^2 / 2 by central differences.
    ends = lambda x: np.hypot(h + r * np.cos(a - x), r * np.sin(a - x))  # noqa: E731
    energy = lambda x: (ends(x) - rest) ** 2 / 2  # noqa: E731
    step = 1e-6
    assert np.allclose(column, (energy(q[:, 0] + step) - energy(q[:, 0] - step)) / (2 * step), atol=1e-8)
    with refused("velocity"):
        tp.terms.Coulomb(-1.0)
    with refused("lever"):
        tp.terms.Spring((0.1, 0.1, 0.1, 0.0))
    with refused("velocity", got=1):
        tp.regressor(arm, terms=(tp.terms.Coulomb((0.1,)),))
