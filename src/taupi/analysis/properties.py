"""Properties that the dynamics of every rigid robot have, such as symmetry and passivity, checked at random states."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.analysis.joint_range import magnitude, require_numbers
from taupi.checks import whole_number
from taupi.dynamics.coriolis import FORMS, coriolis_matrix
from taupi.dynamics.energy import kinetic_energy, potential_energy
from taupi.dynamics.inverse import gravity_torque, inverse_dynamics
from taupi.dynamics.mass_matrix import mass_matrix, mass_matrix_derivative
from taupi.errors import unknown
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.tables import html_table, table

# Two algorithms over doubles differ by about a hundred roundings, relative to the largest entry.
ROUNDING = 1e-9
# The forms with which dM/dt - 2C is skew-symmetric; with the textbook's two others only qd^T (dM/dt - 2C) qd vanishes.
SKEW = ("christoffel", "body")
# Points around a closed loop: with a smooth periodic integrand the sum converges faster than any power of their number.
LOOP = 256


@dataclass(frozen=True)
class PropertyCheck:
    """One property of a robot and whether it `holds`.

    `name` and `text` say which property, `residual` is its largest violation, relative unless `note` says otherwise, `tolerance`
    the violation allowed, `note` a remark, and `at` the configuration of the largest violation.
    """

    name: str
    text: str
    residual: float
    tolerance: float
    holds: bool
    note: str = ""
    at: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        numbers = {"residual": self.residual, "tolerance": self.tolerance, "holds": self.holds}
        return {"name": self.name, "text": self.text, **numbers, "note": self.note, "at": list(self.at)}


@dataclass(frozen=True)
class Properties:
    """The properties of the robot called `robot`: `checks` at `samples` random states drawn with `seed`; `holds` sums them up."""

    robot: str
    samples: int
    seed: int
    checks: tuple[PropertyCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether every property holds."""
        return all(c.holds for c in self.checks)

    def __getitem__(self, name: str) -> PropertyCheck:
        """Return the check of the property called `name`."""
        by_name = {c.name: c for c in self.checks}
        if name not in by_name:
            raise unknown("property", name, by_name, f"the properties of {self.robot}")
        return by_name[name]

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain data for JSON."""
        facts = {"robot": self.robot, "samples": self.samples, "seed": self.seed, "holds": self.holds}
        return {**facts, "checks": [c.to_dict() for c in self.checks]}

    def _title(self) -> str:
        failed = sum(not c.holds for c in self.checks)
        result = "all hold" if not failed else f"{failed} of {len(self.checks)} fail"
        return f"Properties of {self.robot} on {self.samples} random states: {result}"

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("name", "property", "residual", "allowed", "holds", "note")]
        for c in self.checks:
            numbers = (f"{c.residual:.1e}", f"{c.tolerance:.0e}")
            rows.append((c.name, c.text, *numbers, "yes" if c.holds else "NO", c.note))
        return rows

    def __repr__(self) -> str:
        return "\n".join([self._title(), "", *table(self._rows())])

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._rows())


@dataclass(frozen=True)
class _Samples:
    """A robot at random states, and its terms there."""

    robot: Robot
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray

    @cached_property
    def mass(self) -> np.ndarray:
        return _run(mass_matrix(self.robot), self.q)

    @cached_property
    def rate(self) -> np.ndarray:
        """dM/dt by differentiating M along qd, which no form of the Coriolis matrix does."""
        return _run(mass_matrix(self.robot).jvp("q"), self.q, self.qd)

    @cached_property
    def coriolis(self) -> dict[str, np.ndarray]:
        return {form: _run(coriolis_matrix(self.robot, form=form), self.q, self.qd) for form in FORMS}

    def check(
        self,
        name: str,
        text: str,
        difference: np.ndarray,
        scale: np.ndarray,
        note: str = "",
        tolerance: float = ROUNDING,
    ) -> PropertyCheck:
        """Return a check of a difference that should vanish, relative to the largest entry of `scale`, its parts."""
        axes = tuple(range(1, np.ndim(difference)))
        each = np.abs(difference).max(axis=axes, initial=0.0) if axes else np.abs(difference)
        # A quantity that vanishes entirely, up to rounding, is compared with the robot's numbers and not with itself.
        size = max(float(np.abs(scale).max(initial=0.0)), 1e-3 * magnitude(self.robot))
        worst = int(each.argmax())
        residual = float(each[worst]) / size
        return PropertyCheck(
            name, text, residual, tolerance, residual <= tolerance, note, tuple(map(float, self.q[worst]))
        )


def _run(program: Program, *x: np.ndarray) -> np.ndarray:
    """Return a program's value, interpreted: compiling a dozen programs for one call each would take longer."""
    return program.compile("numpy")(*x)


def _transposed(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, -1, -2)


def _symmetric(s: _Samples) -> list[PropertyCheck]:
    return [s.check("symmetric", "M = M^T", s.mass - _transposed(s.mass), s.mass)]


def _positive(s: _Samples) -> list[PropertyCheck]:
    values = np.linalg.eigvalsh((s.mass + _transposed(s.mass)) / 2)
    worst = int(values[:, 0].argmin())
    least, at = float(values[worst, 0]), tuple(map(float, s.q[worst]))
    # The sign is certain unless the eigenvalue is as small as the rounding of M.
    holds = least > 1e-14 * float(np.abs(values).max())
    note = f"smallest eigenvalue {least:.3g} at q = ({', '.join(f'{v:.3f}' for v in at)})"
    return [PropertyCheck("positive", "M positive definite", max(0.0, -least), 0.0, holds, note, at)]


def _passive(s: _Samples) -> list[PropertyCheck]:
    checks = []
    for form, c in s.coriolis.items():
        along = np.einsum("bi,bij,bj->b", s.qd, s.rate - 2 * c, s.qd)
        sizes = np.einsum("bi,bij,bj->b", np.abs(s.qd), np.abs(s.rate) + 2 * np.abs(c), np.abs(s.qd))
        checks.append(s.check(f"passive_{form}", f"qd^T (dM/dt - 2C) qd = 0, C {form}", along, sizes))
    return checks


def _skew(s: _Samples) -> list[PropertyCheck]:
    """Return the checks that dM/dt - 2C is skew-symmetric; for the textbook's two factors only passivity is expected."""
    checks, passive = [], {c.name: c for c in _passive(s)}
    for form, c in s.coriolis.items():
        n = s.rate - 2 * c
        check = s.check(f"skew_{form}", f"dM/dt - 2C skew, C {form}", n + _transposed(n), _both(s.rate, c))
        if form not in SKEW:
            note = "not skew, as expected" if check.residual > ROUNDING else "skew on these states"
            check = dataclasses.replace(check, holds=passive[f"passive_{form}"].holds, note=note)
        checks.append(check)
    return checks


def _rate(s: _Samples) -> list[PropertyCheck]:
    c, closed = s.coriolis["christoffel"], _run(mass_matrix_derivative(s.robot), s.q, s.qd)
    return [
        s.check("rate", "dM/dt = C + C^T, C christoffel", s.rate - c - _transposed(c), _both(s.rate, c)),
        s.check("closed_rate", "dM/dt in closed form", closed - s.rate, _both(closed, s.rate)),
    ]


def _velocity(s: _Samples) -> list[PropertyCheck]:
    rest = np.zeros_like(s.q)
    at_rest = np.stack([_run(coriolis_matrix(s.robot, form=form), s.q, rest) for form in FORMS], 1)
    torques = np.stack([np.einsum("bij,bj->bi", c, s.qd) for c in s.coriolis.values()], 1)
    direct = _run(inverse_dynamics(s.robot), s.q, s.qd, rest) - _run(gravity_torque(s.robot), s.q)
    sizes = np.abs(torques).max(initial=0.0) + np.abs(_run(gravity_torque(s.robot), s.q)).max(initial=0.0)
    return [
        s.check("at_rest", "C(q, 0) = 0, all forms", at_rest, s.mass),
        s.check("same_c", "C qd is the same c, all forms", torques - direct[:, None], np.array([sizes])),
    ]


def _energy(s: _Samples) -> list[PropertyCheck]:
    """Return the checks by energies, which differentiate positions and so share no code with the torque."""
    links = s.robot.with_transmissions(
        stiffness=None
    )  # of elastic joints, the mass matrix and the torque are the links' alone
    kinetic, potential = kinetic_energy(links), potential_energy(links)
    parts = [
        _run(kinetic.jvp("q"), s.q, s.qd, s.qd),
        _run(kinetic.jvp("qd"), s.q, s.qd, s.qdd),
        _run(potential.jvp("q"), s.q, s.qd),
    ]
    power = s.qd * _run(inverse_dynamics(s.robot), s.q, s.qd, s.qdd)
    sizes = _both(np.stack(parts), power)
    held = _run(gravity_torque(s.robot), s.q)
    slope = _run(potential.jacobian("q"), s.q)
    quadratic = np.einsum("bi,bij,bj->b", s.qd, s.mass, s.qd) / 2
    energy = _run(kinetic, s.q, s.qd)
    return [
        s.check("kinetic", "K = qd^T M qd / 2", energy - quadratic, _both(energy, quadratic)),
        s.check("power", "dE/dt = qd^T tau", sum(parts) - power.sum(1), sizes),
        s.check("gravity", "g = dP/dq", held - slope, _both(held, slope)),
    ]


def _loop(s: _Samples) -> list[PropertyCheck]:
    """Return the check that the work of gravity, the integral of g^T dq, vanishes on loops q + sin(t) qd + (1 - cos(t)) qdd."""
    t = 2 * np.pi * np.arange(LOOP) / LOOP
    few = min(len(s.q), 8)
    q, a, b = (v[:few, None] / (1 if k == 0 else 4) for k, v in enumerate((s.q, s.qd, s.qdd)))
    along = q + np.sin(t)[:, None] * a + (1 - np.cos(t))[:, None] * b
    rate = np.cos(t)[:, None] * a + np.sin(t)[:, None] * b
    flow = _run(gravity_torque(s.robot), along) * rate
    work = flow.sum((1, 2)) * 2 * np.pi / LOOP
    return [s.check("loop", "no work of g around a closed loop", work, np.abs(flow).sum((1, 2)) * 2 * np.pi / LOOP)]


def _both(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ravel(a), np.ravel(b)])


CHECKS: tuple[Callable[[_Samples], list[PropertyCheck]], ...] = (
    _symmetric, _positive, _passive, _skew, _rate, _velocity, _energy, _loop
)  # fmt: skip


def properties(robot: Robot, samples: int = 200, seed: int = 0) -> Properties:
    """Check at random states of a robot what holds for every rigid one: M symmetric, positive, dM/dt - 2C skew, dE/dt = qd^T tau.

    Each check has a residual, relative to the largest entries of what it compares, and the state where it is worst (equations.md,
    D21). With the two textbook factors of c, dM/dt - 2C is not expected to be skew, only to do no work: qd^T (dM/dt - 2C) qd = 0.

    Args:
        robot: The robot, with numbers for all of its parameters. If its links are not real bodies, it is reported as failing, not
            refused.
        samples: How many states, by default 200: positions from (-pi, pi), speeds and accelerations from (-1, 1), rad or m and s.
        seed: Seed of the states, by default 0.

    Returns:
        The checks, and whether all of them hold.

    >>> import taupi as tp
    >>> tp.properties(tp.load("puma560"), samples=20).holds
    True
    """
    require_numbers(robot)
    whole_number("seed", seed, least=0)
    whole_number("samples", samples)
    rng = np.random.default_rng(seed)
    q = rng.uniform(-np.pi, np.pi, (samples, robot.n))
    drawn = _Samples(robot, q, *rng.uniform(-1, 1, (2, samples, robot.n)))
    return Properties(robot.name, samples, seed, tuple(c for check in CHECKS for c in check(drawn)))
