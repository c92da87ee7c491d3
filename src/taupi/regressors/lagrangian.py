"""The explicit Lagrangian regressor of Gabiccini et al. (2009), link block by link block: Y = X - W + Z.

Everything is built from the Jacobians of the link frames' origins in world axes and their exact derivatives, without recursion
over the links' motion: a second route to the regressors, independent of the recursive one.
"""

from __future__ import annotations

from dataclasses import dataclass

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.kinematics import link_placements
from taupi.dynamics.spatial import compose, inertia_columns
from taupi.dynamics.types import SX, Expression, Matrix, Pose, Vector
from taupi.model.requirements import require_coordinates
from taupi.model.robot import BASE, Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program

Twist = tuple[
    Vector, Vector
]  # a velocity of the link's origin and an angular velocity, or their derivatives, in link axes


@dataclass(frozen=True)
class LinkBlocks:
    """The parts of one link's regressor Y = X - W + Z, n x 10 each: X from d/dt dK/dqd, W from dK/dq, Z from gravity."""

    x: Matrix
    w: Matrix
    z: Matrix


@dataclass(frozen=True)
class Axis:
    """A joint in world axes: its direction, a point on its axis, and whether it turns."""

    z: Vector
    origin: Vector
    turns: bool


def joint_axes(chain: Chain, q: Vector, placements: list[Pose]) -> list[Axis]:
    """Return every joint's axis z_{j-1} and the origin that it passes through."""
    position = chain.spread(q)
    axes = []
    for j, joint in enumerate(chain.robot.joints):
        before = chain.stages(j, position[j])[0]
        r, o = before if joint.parent == BASE else compose(placements[joint.parent], before)
        axes.append(Axis(r @ chain.axis(j), o, not joint.prismatic))
    return axes


class OriginJacobian:
    """Jv and Jw of one link frame's origin, a column per joint, and their derivatives (Gabiccini et al. 2009, eq. 11)."""

    def __init__(self, r: Matrix, p: Vector, path: tuple[int, ...], axes: list[Axis]) -> None:
        self.r, self.path = r, path
        self.axis = {j: axes[j] for j in path}
        zero = SX.zeros(3)
        self.jw = {j: axes[j].z if axes[j].turns else zero for j in path}
        self.jv = {j: cs.cross(axes[j].z, p - axes[j].origin) if axes[j].turns else axes[j].z for j in path}

    def column(self, j: int) -> Twist:
        """Return column j in link axes."""
        return self.r.T @ self.jv[j], self.r.T @ self.jw[j]

    def product(self, speed: list[Expression]) -> Twist:
        """Return (Jv x, Jw x) in link axes, with x = `speed`, one per joint."""
        v = sum((self.jv[j] * speed[j] for j in self.path), SX.zeros(3))
        w = sum((self.jw[j] * speed[j] for j in self.path), SX.zeros(3))
        return self.r.T @ v, self.r.T @ w

    def rates(self, speed: list[Expression]) -> tuple[dict[int, Twist], dict[int, Twist]]:
        """Return, for each joint h, the rate of column h for joint speeds x, and d(Jv x, Jw x)/dq_h, both in link axes.

        For joint speeds x = `speed`, dJv_h = W_h x Jv_h + z_h x V_h and dJw_h = W_h x z_h, with W_h the angular velocity due to
        the joints up to h and V_h the velocity due to those beyond. dJv_j/dq_h = dJv_h/dq_j, so d(Jv x)/dq_h is dJv_h too. A
        vector R^T u in link axes has the rate R^T (du - W x u).
        """
        turning, upto, beyond = SX.zeros(3), {}, {}
        for j in self.path:
            turning = turning + self.jw[j] * speed[j]
            upto[j] = turning
        velocity = SX.zeros(3)
        for j in reversed(self.path):
            beyond[j] = velocity
            velocity = velocity + self.jv[j] * speed[j]
        along, partial = {}, {}
        for h in self.path:
            rate = cs.cross(upto[h], self.jv[h]) + cs.cross(self.jw[h], beyond[h])
            spin = cs.cross(upto[h], self.jw[h])
            along[h] = (self._turned(rate, turning, self.jv[h]), self._turned(spin, turning, self.jw[h]))
            rest = cs.cross(self.jw[h], turning - upto[h])
            partial[h] = (self._turned(rate, self.jw[h], velocity), self._turned(rest, self.jw[h], turning))
        return along, partial

    def _turned(self, rate: Vector, turning: Vector, vector: Vector) -> Vector:
        return self.r.T @ (rate - cs.cross(turning, vector))


def bilinear(a: Twist, b: Twist) -> Matrix:
    """Return the row va.vb, vb x wa - wb x va, wa^T L(wb) of B_0, B_1, B_2 for two twists, 1 x 10 (equations.md, R1)."""
    (va, wa), (vb, wb) = a, b
    return cs.horzcat(cs.dot(va, vb), (cs.cross(vb, wa) - cs.cross(wb, va)).T, wa.T @ inertia_columns(wb))


def _sum(rates: dict[int, Twist], speed: list[Expression]) -> Twist:
    v = sum((rates[j][0] * speed[j] for j in rates), SX.zeros(3))
    return v, sum((rates[j][1] * speed[j] for j in rates), SX.zeros(3))


def link_blocks(chain: Chain, q: Vector, qd: Vector, qrd: Vector, qrdd: Vector) -> list[LinkBlocks]:
    """Return X, W, Z of every link, one row per coordinate (Gabiccini et al. 2009, eq. 28, 50-54).

    X[h] = B_h qrdd + 1/2 (dB/dt along qd qrd + dB/dt along qrd qd)_h,  W[h] = 1/2 d(qrd^T B qd)/dq_h,
    Z[h] = (-Jv_h . g, (R^T (z_h x g))^T, 0).
    """
    speed, reference, acceleration = chain.spread(qd), chain.spread(qrd), chain.spread(qrdd)
    placements = link_placements(chain, q)
    axes = joint_axes(chain, q, placements)
    blocks = []
    for i, (r, p) in enumerate(placements):
        j = OriginJacobian(r, p, chain.robot.path(i), axes)
        along, partial = j.rates(speed)
        along_r, partial_r = j.rates(reference)
        v, vr = j.product(speed), j.product(reference)
        accelerated = j.product(acceleration)
        turned, turned_r = _sum(along, reference), _sum(along_r, speed)
        empty = SX.zeros(1, 10)
        x, w, z = ([empty] * chain.links for _ in range(3))
        for h in j.path:
            a = j.column(h)
            rate = bilinear(along[h], vr) + bilinear(a, turned) + bilinear(along_r[h], v) + bilinear(a, turned_r)
            x[h] = bilinear(a, accelerated) + rate / 2
            w[h] = (bilinear(partial_r[h], v) + bilinear(vr, partial[h])) / 2
            lever = r.T @ cs.cross(j.jw[h], chain.gravity)
            z[h] = cs.horzcat(-cs.dot(j.jv[h], chain.gravity), lever.T, SX.zeros(1, 6))
        blocks.append(LinkBlocks(*(chain.gather(rows) for rows in (x, w, z))))
    return blocks


def require_lagrangian(robot: Robot) -> None:
    """Refuse a robot that the explicit Lagrangian route does not cover."""
    require_coordinates(
        robot,
        "which the explicit Lagrangian route does not cover",
        "Use {algorithm='recursive'}, or the robot's fixed_base().",
    )


def lagrangian_regressor(chain: Chain, q: Vector, qd: Vector, qrd: Vector, qrdd: Vector) -> Matrix:
    """Return Y_r, the blocks X - W + Z of the links side by side (Gabiccini et al. 2009, eq. 55-59)."""
    return cs.horzcat(*(b.x - b.w + b.z for b in link_blocks(chain, q, qd, qrd, qrdd)))


@builder
def lagrangian_blocks(robot: Robot) -> Program:
    """Return X, W, Z (links, n, 10) of the Slotine-Li regressor of `robot`, Y_r = X - W + Z (Gabiccini et al. 2009, eq. 50-58).

    >>> import taupi as tp
    >>> X, W, Z = tp.closed_form.lagrangian_blocks(tp.load("elbow2r"))([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8])
    >>> X.shape
    (2, 2, 10)
    """

    def body(chain: Chain, *state: Vector) -> tuple[list[Matrix], ...]:
        blocks = link_blocks(chain, *state)
        return [b.x for b in blocks], [b.w for b in blocks], [b.z for b in blocks]

    require_lagrangian(robot)
    shape = (len(robot.links), robot.n, 10)
    outputs = [Port("X", shape), Port("W", shape), Port("Z", shape)]
    return trace_robot("lagrangian_blocks", robot, body, ["q", "qd", "qrd", "qrdd"], outputs)
