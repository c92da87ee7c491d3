"""Momentum of a robot: M qd, and about the centre of mass in world axes."""

from __future__ import annotations

from taupi.dynamics.chain import Chain, mass_builder, trace_robot
from taupi.dynamics.joint_frames import JointFrames, torque
from taupi.dynamics.kinematics import gathered_columns, link_placements, link_screws
from taupi.dynamics.spatial import adjoint
from taupi.dynamics.types import SX, Matrix, Pose, Vector
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


@mass_builder
def generalised_momentum(robot: Robot) -> Program:
    """Return p(q, qd) = M qd of `robot`, (n,): the torque that accelerates it from rest by qd without gravity.

    The first six entries of a floating robot are its momentum (angular, linear) about the root frame's origin, in that frame's
    axes.

    Args:
        robot: The robot, n velocities.

    Returns:
        A program of q and qd (n,) with the output p (n,).

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> q, qd = [0.1] * 6, [0.2] * 6
    >>> bool(abs(tp.floating.generalised_momentum(arm)(q, qd) - tp.mass_matrix(arm)(q) @ qd).max() < 1e-12)
    True
    """

    def body(chain: Chain, q: Vector, qd: Vector) -> Vector:
        return torque(JointFrames(chain, q), SX.zeros(chain.n), qd, SX.zeros(3))

    return trace_robot("generalised_momentum", robot, body, ["q", "qd"], [Port("p", (robot.n,))])


def _centre(chain: Chain, placements: list[Pose]) -> Vector:
    """Return the centre of mass of links at `placements`, in world axes."""
    mass, moment = SX(0), SX.zeros(3)
    for i, (r, p) in enumerate(placements):
        body = chain.body(i)
        mass, moment = mass + body[0], moment + body[0] * p + r @ body[1:4]
    return moment / mass


def centroidal(chain: Chain, q: Vector) -> tuple[Matrix, Vector]:
    """Return A_G (6 x n) and the centre of mass c: A_G qd is the momentum (angular, linear) about c, in world axes."""
    placements, screws = link_placements(chain, q), link_screws(chain, q)
    total = SX.zeros(6, chain.n)
    for i, (r, p) in enumerate(placements):
        # A wrench or momentum at the link's origin is carried to the world's by the transpose of the inverse adjoint.
        carried = adjoint(r.T, -r.T @ p).T
        total += carried @ chain.inertia(i) @ gathered_columns(chain, screws[i])
    centre = _centre(chain, placements)
    angular = total[:3, :] - cs.skew(centre) @ total[3:, :]
    return cs.vertcat(angular, total[3:, :]), centre


@mass_builder
def centroidal_momentum(robot: Robot) -> Program:
    """Return h(q, qd), (6,): the momentum (angular in N m s, linear in N s) of `robot` about its centre of mass, in world axes.

    h = A_G(q) qd, with A_G the matrix of `centroidal_momentum_matrix` (Orin, Goswami & Lee 2013). It is not linear in the
    parameters, since the centre of mass is a quotient; `momentum_regressor` is, about the root's origin.

    Args:
        robot: The robot, n velocities.

    Returns:
        A program of q and qd (n,) with the output h (6,).

    >>> import taupi as tp
    >>> abs(tp.floating.centroidal_momentum(tp.load("puma560"))([0.1] * 6, [0.0] * 6)).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    def body(chain: Chain, q: Vector, qd: Vector) -> Vector:
        return centroidal(chain, q)[0] @ qd

    return trace_robot("centroidal_momentum", robot, body, ["q", "qd"], [Port("h", (6,))])


@mass_builder
def centroidal_momentum_matrix(robot: Robot) -> Program:
    """Return A_G(q) of `robot`, 6 x n, with the momentum (angular, linear) h = A_G qd about the centre of mass, in world axes.

    Args:
        robot: The robot, n velocities.

    Returns:
        A program of q (n,) with the output A (6, n).

    >>> import taupi as tp
    >>> tp.floating.centroidal_momentum_matrix(tp.load("puma560"))([0.1] * 6).shape
    (6, 6)
    """

    def body(chain: Chain, q: Vector) -> Matrix:
        return centroidal(chain, q)[0]

    return trace_robot("centroidal_momentum_matrix", robot, body, ["q"], [Port("A", (6, robot.n))])


@mass_builder
def centre_of_mass(robot: Robot) -> Program:
    """Return c(q) of `robot`, (3,): its centre of mass in world axes, in m.

    Args:
        robot: The robot.

    Returns:
        A program of q (n,) with the output c (3,), m.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> tp.floating.centre_of_mass(arm)([0.0, 0.0]).tolist()
    [1.5, 0.0, 0.0]
    """

    def body(chain: Chain, q: Vector) -> Vector:
        return _centre(chain, link_placements(chain, q))

    return trace_robot("centre_of_mass", robot, body, ["q"], [Port("c", (3,))])
