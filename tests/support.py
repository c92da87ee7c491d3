"""Random robots and states, and the tolerances that tests name."""

from __future__ import annotations

import warnings
from fractions import Fraction

import casadi as cs
import numpy as np
from hypothesis import strategies as st

from taupi.errors import TaupiWarning
from taupi.model.body import body_from_com
from taupi.model.placement import Placement, matmul, rotation_about
from taupi.model.robot import Frame, Friction, Joint, Link, Robot, Transmission
from taupi.model.scalars import exact, unit_vector
from taupi.program.program import Port, trace

# The spec's own acceptance: relative to max(1, largest entry); inverses lose digits with the condition of M or J.
SPEC = 1e-11
SPEC_INVERSE = 1e-9
# Two algorithms over doubles on a short chain: a few hundred roundings.
ROUNDING = 1e-11
# The acceptance against other libraries, relative to the largest entry.
PEER = 1e-10


def error(got, expected) -> float:
    """Largest difference relative to max(1, largest expected entry), as the spec measures it."""
    expected = np.asarray(expected, dtype=float)
    got = np.asarray(got)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    return float(np.abs(got - expected).max() / max(1.0, np.abs(expected).max())) if expected.size else 0.0


def random_placement(rng: np.random.Generator, plain: bool) -> Placement:
    angles = rng.choice([0, np.pi / 2, -np.pi / 2, np.pi], 3) if plain else rng.uniform(-np.pi, np.pi, 3)
    turns = [rotation_about(axis, float(a))[0] for axis, a in zip("zyx", angles, strict=True)]
    p = tuple(exact(round(float(v), 3)) for v in rng.uniform(-0.5, 0.5, 3))
    return Placement(matmul(matmul(turns[0], turns[1]), turns[2]), p)


def random_body(rng: np.random.Generator):
    """Ten parameters of a real body: a few point masses."""
    points, masses = rng.uniform(-0.3, 0.3, (4, 3)), rng.uniform(0.1, 2.0, 4)
    m = masses.sum()
    c = masses @ points / m
    d = points - c
    inertia = sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(masses, d, strict=True))
    rounded = np.round(inertia, 6)
    return body_from_com(round(float(m), 6), [round(float(v), 6) for v in c], rounded + 1e-5 * np.eye(3))


def random_robot(seed: int, joints: int | None = None, tree: bool = True, mimic: bool = False) -> Robot:
    """A random tree of turning and sliding joints about any axes, with friction and drives."""
    rng = np.random.default_rng(seed)
    n = joints or int(rng.integers(1, 6))
    parts, coordinate = [], 0
    for i in range(n):
        parent = int(rng.integers(-1, i)) if tree and i else i - 1
        plain = bool(rng.random() < 0.5)
        axis = unit_vector(np.eye(3)[rng.integers(3)] * rng.choice([-1, 1]) if plain else rng.normal(size=3))
        follows = mimic and i > 0 and rng.random() < 0.5
        ratio = exact(round(float(rng.uniform(-2, 2)), 2)) if follows else Fraction(1)
        f = [exact(round(float(v), 3)) for v in rng.uniform(0, 1, 6)]
        parts.append(
            Joint(
                name=f"j{i}",
                kind="prismatic" if rng.random() < 0.3 else "revolute",
                parent=parent,
                coordinate=int(rng.integers(coordinate)) if follows else coordinate,
                ratio=ratio,
                before=random_placement(rng, plain),
                axis=axis,
                after=random_placement(rng, plain) if rng.random() < 0.5 else Placement(),
                friction=Friction(f[0], f[1], f[2], f[3]),
                transmission=Transmission(gear_ratio=10 * f[4] + 1, rotor_inertia=f[5] / 100),
            )
        )
        coordinate += not follows
    links = tuple(Link(f"l{i}", random_body(rng)) for i in range(n))
    gravity = tuple(exact(round(float(v), 2)) for v in rng.uniform(-10, 10, 3))
    tip = Frame("tool", n - 1, random_placement(rng, False))
    base = random_placement(rng, True)
    return Robot(f"random{seed}", tuple(parts), links, gravity, base, frames=(tip,), tip="tool")


def random_states(robot: Robot, count: int, vectors: int, seed: int = 0) -> np.ndarray:
    """States of shape (vectors, count, n)."""
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (vectors, count, robot.n))


robots = st.builds(random_robot, st.integers(0, 10**6))
trees_with_mimic = st.builds(random_robot, st.integers(0, 10**6), mimic=st.just(True))

# Operations whose values stay moderate, for random programs.
UNARY = [
    cs.sin,
    cs.cos,
    cs.tan,
    cs.exp,
    cs.tanh,
    cs.sign,
    cs.fabs,
    cs.atan,
    lambda a: a * a,
    lambda a: -a,
    lambda a: 2 * a,
]
UNARY += [
    lambda a: cs.sqrt(a * a + 1),
    lambda a: cs.log(a * a + 1),
    lambda a: 1 / (a * a + 1),
    cs.logic_not,
]
UNARY += [lambda a: cs.asin(a / (1 + a * a)), lambda a: cs.acos(a / (1 + a * a))]
BINARY = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    cs.atan2,
    cs.fmin,
    cs.fmax,
    lambda a, b: a / (1 + b * b),
]
BINARY += [
    lambda a, b: cs.if_else(a < b, a, b),
    lambda a, b: cs.if_else(a <= b, b, 2 * a),
    lambda a, b: (1 + a * a) ** b,
]
BINARY += [
    lambda a, b: cs.if_else(cs.logic_and(a > 0, b > 0), a, b),
    lambda a, b: cs.if_else(cs.logic_or(a > 0, b > 0), a, b),
]
BINARY += [lambda a, b: cs.if_else(cs.eq(a, b), a, b), lambda a, b: cs.if_else(cs.ne(a, b), a + b, b)]


@st.composite
def programs(draw):
    """A random straight-line program of two inputs; values are squashed so that nothing overflows."""

    def body(x, y):
        values = [x[0], x[1], x[2], y[0], y[1], cs.SX(0.5)]
        for _ in range(draw(st.integers(1, 20))):
            if draw(st.booleans()):
                new = draw(st.sampled_from(UNARY))(draw(st.sampled_from(values)))
            else:
                new = draw(st.sampled_from(BINARY))(draw(st.sampled_from(values)), draw(st.sampled_from(values)))
            values.append(new / (1 + cs.fabs(new)) if draw(st.booleans()) else cs.sin(new))
        return cs.vertcat(*values[-4:]), cs.vertcat(*values[:6]) @ cs.vertcat(*values[-2:]).T

    return trace("random", body, [Port("x", (3,)), Port("y", (2,))], [Port("a", (4,)), Port("b", (6, 2))])


def quiet_urdf(robots_dir, path, **options) -> Robot:
    """A real file, without its reader's remarks on inertias that no body has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        return Robot.from_urdf(robots_dir / path, **options)
