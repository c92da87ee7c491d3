"""Bounds of M, c and g as formulas in a robot's symbols: every term of an entry at its largest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from taupi.analysis.joint_range import RangeLike, joint_range
from taupi.dynamics.chain import require_robot
from taupi.dynamics.inverse import gravity_torque
from taupi.dynamics.mass_matrix import christoffel_symbols, mass_matrix
from taupi.dynamics.types import Formula
from taupi.errors import TaupiError
from taupi.model.requirements import require_coordinates
from taupi.model.robot import Robot

# A sine or cosine below this is that of a multiple of a right angle, and 0.
_ROUNDING = 1e-12


def bound_formulas(robot: Robot, range: RangeLike = None) -> dict[str, Formula]:
    """Return bounds as SymPy formulas of a robot's symbols, by the names used in `taupi.bounds` (equations.md, D20).

    "M_1_min" <= ||M||_1 <= "M_1_max", ||c||_1 <= "c_1" ||qd||_1^2, ||g||_1 <= "g_1", ||c||_2 <= "c_2_n2" ||qd||_2^2 with n^2
    max |Gamma|. Each sine and cosine of a sum of angles is replaced by its largest value over the joint range, each term by
    itself; so the formulas hold for every arm, and are tight if all terms are largest in one place, as they are on the lecture's
    arm. `taupi.bounds` gives tight bounds as numbers.

    Args:
        robot: The robot. Its symbols are taken to be positive: lengths, masses, gravity.
        range: The joint range, as in `taupi.bounds`, by default the robot's limits.

    Returns:
        The formulas by name.

    >>> import math, taupi as tp
    >>> limits = tp.closed_form.bound_formulas(tp.load("lecture2r"), (-math.pi / 2, math.pi / 2))
    >>> limits["c_1"], limits["g_1"]
    (L1*L2*m2, g*(L1*m1 + L1*m2 + 2*L2*m2))
    """
    require_robot(robot)
    require_coordinates(robot, "which its formulas do not cover", "Bound what its joints do on robot.fixed_base().")
    spans = joint_range(robot, range)
    if np.isnan(spans).any() or any(joint.prismatic for joint in robot.joints):
        raise TaupiError(
            "{robot} has slides: its bounds grow with them. Use taupi.bounds(robot).growth.", robot=robot.name
        )
    return _Formulas(robot, spans).all()


class _Formulas:
    """Entries of M, Gamma and g as expanded sums, and their terms over a box of joint angles."""

    def __init__(self, robot: Robot, spans: np.ndarray) -> None:
        import sympy

        self.sympy, self.robot, self.n = sympy, robot, robot.n
        self.span = {f"q{k + 1}": (float(lo), float(hi)) for k, (lo, hi) in enumerate(spans)}

    def all(self) -> dict[str, Formula]:
        n, maximum = self.n, self._largest
        M = self._entries(mass_matrix(self.robot).explicit().sympy())
        g = self._entries(gravity_torque(self.robot).explicit().sympy())
        gamma = self._entries(christoffel_symbols(self.robot).explicit().sympy())
        columns = [[M[i * n + j] for i in np.arange(n)] for j in np.arange(n)]
        pairs = [[gamma[(k * n + i) * n + j] for k in np.arange(n)] for i in np.arange(n) for j in np.arange(n)]
        return {
            "M_1_min": maximum([self._sum([self._below(e) for e in column]) for column in columns]),
            "M_1_max": maximum([self._sum([self._above(e) for e in column]) for column in columns]),
            "c_1": maximum([self._sum([self._above(e) for e in pair]) for pair in pairs]),
            "c_2_n2": self.sympy.factor_terms(n**2 * maximum([self._above(e) for e in gamma])),
            "g_1": self._sum([self._above(e) for e in g]),
        }

    def _entries(self, matrix: object) -> list[Formula]:
        flat = self.sympy.flatten(matrix.tolist() if hasattr(matrix, "tolist") else matrix)
        return [self.sympy.expand(e, trig=False) for e in flat]

    def _sum(self, parts: Sequence[Formula]) -> Formula:
        return self.sympy.factor_terms(self.sympy.expand(self.sympy.Add(*parts)))

    def _above(self, entry: Formula) -> Formula:
        """Return an upper bound of |entry|: the sum of its terms at their largest; both signs are tried if that helps."""
        above, below = ([self._term(t, sign)[1] for t in self.sympy.Add.make_args(entry)] for sign in (1, -1))
        return self._largest([self.sympy.Add(*above), self.sympy.Add(*below)])

    def _below(self, entry: Formula) -> Formula:
        """Return a lower bound of |entry|, from its terms at their smallest; 0 if these may cancel."""
        least = self.sympy.expand(self.sympy.Add(*(self._term(t, 1)[0] for t in self.sympy.Add.make_args(entry))))
        positive = all(t.as_coeff_Mul()[0] >= 0 for t in self.sympy.Add.make_args(least))
        return least if positive else self.sympy.Integer(0)

    def _term(self, term: Formula, sign: int) -> tuple[Formula, Formula]:
        """Return sign times a term at its smallest and at its largest over the box."""
        number, rest = term.as_coeff_Mul()
        if number == 0:
            return number, number
        low, high, symbols = 1.0, 1.0, self.sympy.Integer(1)
        for factor in self.sympy.Mul.make_args(rest):
            base, power = factor.as_base_exp()
            if not base.has(self.sympy.sin, self.sympy.cos):
                symbols *= factor
                continue
            a, b = self._wave(base)
            if int(power) % 2 == 0:
                a, b = (0.0 if a <= 0 <= b else min(a * a, b * b) ** (power // 2)), max(a * a, b * b) ** (power // 2)
            products = (low * a, low * b, high * a, high * b)
            low, high = min(products), max(products)
        ends = sorted((float(number) * sign * low, float(number) * sign * high))
        return tuple(self._number(x, number) * symbols for x in ends)

    def _number(self, value: float, number: Formula) -> Formula:
        """Return a factor as it is written: a multiple of the term's own number if that is simple."""
        ratio = value / float(number)
        return number * round(ratio) if abs(ratio - round(ratio)) < 1e-12 else self.sympy.Float(value)

    def _wave(self, base: Formula) -> tuple[float, float]:
        """Return the range of a sine or cosine of a sum of angles over the box."""
        low = high = 0.0
        for part in self.sympy.Add.make_args(base.args[0]):
            factor, symbol = part.as_coeff_Mul()
            ends = sorted(float(factor) * x for x in self.span[str(symbol)])
            low, high = low + ends[0], high + ends[1]
        shift = math.pi / 2 if isinstance(base, self.sympy.sin) else 0.0  # sin x = cos(x - pi/2)
        low, high = low - shift, high - shift
        # Where rounding hides a turning point just beyond an end, the cosine of that end is 1 or -1 all the same.
        top = math.floor(high / (2 * math.pi)) * 2 * math.pi >= low
        bottom = math.floor((high - math.pi) / (2 * math.pi)) * 2 * math.pi + math.pi >= low
        sides = (math.cos(low), math.cos(high))
        least, largest = -1.0 if bottom else min(sides), 1.0 if top else max(sides)
        return (0.0 if abs(least) < _ROUNDING else least), (0.0 if abs(largest) < _ROUNDING else largest)

    def _largest(self, candidates: Sequence[Formula]) -> Formula:
        """Return the largest of some sums of positive terms: those that another one exceeds term by term are left out."""
        left: list[Formula] = []
        for candidate in dict.fromkeys(map(self.sympy.expand, candidates)):
            if any(self._exceeds(other, candidate) for other in left):
                continue
            left = [other for other in left if not self._exceeds(candidate, other)] + [candidate]
        return self.sympy.Max(*left) if len(left) > 1 else self.sympy.factor_terms(left[0])

    def _exceeds(self, a: Formula, b: Formula) -> bool:
        difference = self.sympy.expand(a - b)
        return all(t.as_coeff_Mul()[0] >= 0 for t in self.sympy.Add.make_args(difference))
