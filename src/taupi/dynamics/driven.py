"""A robot driven by commands: one step of the closed loop, with exact stiction and limits, and its tangent in all parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from taupi.dynamics.chain import Chain, builder
from taupi.dynamics.closed_form import both_sides
from taupi.dynamics.forward import solve_positive
from taupi.dynamics.joint_frames import JointFrames, mass, torque
from taupi.dynamics.types import SX, Expression, Matrix, Vector
from taupi.errors import TaupiError
from taupi.model.requirements import refuse_ball_joints
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Constants, Port, Program, trace

# What one joint has, besides the bodies of its links. Friction is F = max(0, coulomb + coulomb_slope (q - centre)
# + |load tau - load_external tau_ext| + s (stribeck + |stribeck_load tau - stribeck_load_external tau_ext|
# + quadratic terms where the load drives the motor, or is driven)), with s = exp(-|qd / stribeck_velocity|^stribeck_shape).
JOINT_VALUES = (
    "rotor",
    "viscous",
    "coulomb",
    "offset",
    "spring",
    "coulomb_slope",
    "load",
    "stribeck",
    "stribeck_velocity",
    "encoder",
    "kp",
    "kd",
    "centre",
    "limit",
    "duty_limit",
    "torque_per_volt",
    "braking",
    "load_external",
    "stribeck_shape",
    "stribeck_load",
    "stribeck_load_external",
    "quadratic_motor",
    "quadratic_external",
)
# Values of joints that are not zero where nothing is stated: limits that are never reached, and what divides.
STEP_DEFAULTS: Mapping[str, float] = {
    "stribeck_velocity": 0.1,
    "stribeck_shape": 1.0,
    "limit": 1e30,
    "duty_limit": 1.0,
}
# Sweeps of coordinate descent before each attempt to solve the rows that move directly, and how many attempts there are.
_SWEEPS, _ATTEMPTS = 4, 3
_TINY = 1e-12  # rad/s: keeps a power of the speed smooth at standstill


@dataclass(frozen=True)
class StepValues:
    """Where the numbers of a step are in its input `theta`: the values of the joints, kind by kind, the bodies, the delay."""

    robot: Robot

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return len(JOINT_VALUES) * self.robot.n + len(self.robot.parameters) + 1

    def joints(self, kind: str) -> slice:
        """Return where the values of one kind are, one per joint."""
        start = JOINT_VALUES.index(kind) * self.robot.n
        return slice(start, start + self.robot.n)

    @property
    def bodies(self) -> slice:
        """Where the parameters of the links are."""
        start = len(JOINT_VALUES) * self.robot.n
        return slice(start, start + len(self.robot.parameters))

    @property
    def delay(self) -> int:
        """Where the delay of the command is, s."""
        return self.size - 1


class _ChainOfBodies(Chain):
    """A robot over SX with the parameters of its links as an input."""

    def __init__(self, robot: Robot, constants: Constants, bodies: Vector) -> None:
        super().__init__(robot, constants)
        self._bodies = bodies

    def body(self, i: int) -> Vector:
        """Return the ten parameters of link `i`."""
        return self._bodies[self.robot.parameters.layout.link(i)]


@dataclass(frozen=True)
class _Inputs:
    """What a step starts from, over SX."""

    q: Vector
    v: Vector
    held: tuple[Vector, Vector]  # q and qd as the host last saw them
    theta: Vector
    command: tuple[Vector, Vector, Vector]  # position, velocity, torque fed forward: their means over the step
    enabled: Vector
    volts: Vector
    h: Expression
    value: Callable[[str], Vector]


# The torque of a drive over a step is c - beta (qd + qd_next) / 2.
_Effort = tuple[Vector, Vector]


def _pd(given: _Inputs) -> _Effort:
    """Return the effort of a PD law in the drive: kp and kd act on the means of q and qd over the step."""
    (u, ud, feed), kp, kd = given.command, given.value("kp"), given.value("kd")
    return kp * (u - given.q) + kd * ud + feed, kd + given.h / 2 * kp


def _pd_host(given: _Inputs) -> _Effort:
    """Return the effort of a PD law on the host: constant until it sees q and qd again."""
    (u, ud, feed), (q, v) = given.command, given.held
    return given.value("kp") * (u - q) + given.value("kd") * (ud - v) + feed, SX.zeros(*u.shape)


def _duty(given: _Inputs) -> _Effort:
    """Return the effort of a servo: kt / R times the voltage that its firmware sets, less what the back-EMF brakes."""
    (u, ud, feed), limit = given.command, given.value("duty_limit")
    middle = given.q + given.h / 2 * given.v
    wanted = given.value("kp") * (u - middle) + given.value("kd") * (ud - given.v)
    duty = cs.fmax(-limit, cs.fmin(limit, wanted))
    return given.value("torque_per_volt") * given.volts * duty + feed, given.value("braking")


EFFORTS: Mapping[str, Callable[[_Inputs], _Effort]] = {"pd": _pd, "pd_host": _pd_host, "duty": _duty}


@builder
def driven_step(robot: Robot, law: str = "pd", limited: bool = False, tangent: bool = False) -> Program:
    """Return one step of the closed loop of a robot that is driven by commands: x_next(x, theta, ...).

    The velocity at the end of a step h solves a small convex problem, with s in sign(v_next), which is set-valued at zero:

        (M + rotor) (v_next - v) + h (b + viscous w + spring (q - centre) + offset) + h F s = h clip(c - beta w),

    w = (v + v_next) / 2, q_next = q + h w; M and g are taken at q + h v / 2 + encoder, and c - beta w is the torque of the law.
    Coriolis torques and F, which depend on the speed too, take the w that the balance at the beginning predicts, and a joint
    that turns back slides until it stands before it sticks or slides back: the step is of the second order, with friction and
    without. The problem is solved by coordinate descent with soft thresholds, and then directly for the joints that move:
    stiction and limits are exact, without a regularising velocity, and everything is piecewise smooth in theta.

    Args:
        robot: The robot, n velocities; fixed, rigid, without closed loops.
        law: "pd" (the default), "pd_host" or "duty".
        limited: Whether torques are clipped; False by default.
        tangent: Whether the program also has `dx` and `dtheta`, and carries on the derivative of x along them; False by default.

    Returns:
        A program of x, theta (`StepValues`), command (3 n), command_slope (3 n, its derivative by the delay), enabled (n),
        volts (n), tick (whether the host computes now), h, with the outputs x_next, tau (mean torque of the drive) and solved
        (whether the problem was solved exactly); with a tangent also dx, dtheta and dx_next.
    """
    _require_driven(robot, law)
    n, values = robot.n, StepValues(robot)
    size = state_size(robot, law)
    constants = Constants()
    ports = [Port("x", (size,)), *([Port("dx", (size,))] if tangent else []), Port("theta", (values.size,))]
    ports += [Port("dtheta", (values.size,)), Port("command_slope", (3 * n,))] if tangent else []
    ports += [
        Port("command", (3 * n,)),
        Port("enabled", (n,)),
        Port("volts", (n,)),
        Port("tick", (1,)),
        Port("h", (1,)),
    ]
    outputs = [Port("x_next", (size,)), *([Port("dx_next", (size,))] if tangent else [])]
    outputs += [] if tangent else [Port("tau", (n,)), Port("solved", (1,))]

    def body(*columns: Vector) -> tuple[Vector, ...]:
        given = dict(zip((p.name for p in ports), columns, strict=True))
        x, theta, command = given["x"], given["theta"], given["command"]
        others = [given[name] for name in ("enabled", "volts", "tick", "h")]
        rows = _rows(robot, values, law, limited, constants)
        a, r, friction, d, e, limit, q, v, held = rows(x, theta, command, *others)
        next_v, moving, over, solved = _solved(a, r, friction, d, e, limit, v, limited)
        h = given["h"]
        sign, free = cs.sign(next_v), 1 - cs.fabs(over)
        torque_now = (e - d * next_v) * free + over * limit
        next_x = cs.vertcat(q + h / 2 * (v + next_v), next_v, held)
        if not tangent:
            return next_x, torque_now / h, solved
        # The derivative of the rows at a fixed solution, then of the solution: rows of stuck joints are removed.
        dx, dtheta = given["dx"], given["dtheta"]
        along = cs.vertcat(dx, dtheta, given["command_slope"] * dtheta[values.delay])
        free_symbols = [
            SX.sym(name, *shape.shape) for name, shape in (("x", x), ("theta", theta), ("command", command))
        ]
        fixed = [SX.sym(name, n) for name in ("w", "s", "o")]
        others_symbols = [SX.sym(name, *shape.shape) for name, shape in zip("evth", others, strict=True)]
        ra, rr, rf, rd, re, rl, rq, rv, rheld = rows(*free_symbols, *others_symbols)
        w, s, o = fixed
        balance = ra @ w - rr + rf * s + (rd * w - re) * (1 - cs.fabs(o)) - o * rl
        z, dz = cs.vertcat(*free_symbols), SX.sym("dz", along.shape[0])
        pushed = cs.jtimes(cs.vertcat(balance, rq, rv, rheld), z, dz)
        numbers = list(constants.symbols.values())
        slope = cs.Function("slope", [*free_symbols, *others_symbols, *fixed, dz, *numbers], [pushed])
        change = slope(x, theta, command, *others, next_v, sign, over, along, *numbers)
        mask = cs.diag(moving)
        matrix = mask @ (a + cs.diag(d * free)) @ mask + cs.diag(1 - moving)
        next_dv = -solve_positive(matrix, moving * change[:n])
        dq, dv = change[n : 2 * n], change[2 * n : 3 * n]
        return next_x, cs.vertcat(dq + h / 2 * (dv + next_dv), next_dv, change[3 * n :])

    return trace("driven_step", body, ports, outputs, constants)


def state_size(robot: Robot, law: str) -> int:
    """Return how many numbers one step passes to the next: q and qd, and for a law on the host those that it saw last."""
    return (4 if law == "pd_host" else 2) * robot.n


def _require_driven(robot: Robot, law: str) -> None:
    refuse_ball_joints(robot)
    if law not in EFFORTS:
        raise TaupiError("{law} is {got!r}, expected one of {known:,}.", got=law, known=EFFORTS)
    cases = {
        "floats": robot.floating,
        "has closed loops": bool(robot.loops),
        "has springs between its motors and links": bool(robot.elastic_coordinates),
    }
    for case in (name for name, is_case in cases.items() if is_case):
        raise TaupiError(
            "{robot} {case}: only fixed trees with rigid joints can be simulated from commands.",
            robot=robot.name,
            case=case,
        )


def _rows(
    robot: Robot, values: StepValues, law: str, limited: bool, constants: Constants
) -> Callable[..., tuple[Matrix, ...]]:
    """Return the function that gives the rows of a step over SX: A, r, h F, d, e, h limit, q, v, and what the host holds."""
    n = robot.n

    def rows(
        x: Vector, theta: Vector, command: Vector, enabled: Vector, volts: Vector, tick: Expression, h: Expression
    ) -> tuple[Matrix, ...]:
        def value(kind: str) -> Vector:
            return theta[values.joints(kind)]

        q, v = x[:n], x[n : 2 * n]
        held = (q, v)
        if law == "pd_host":
            held = (tick * q + (1 - tick) * x[2 * n : 3 * n], tick * v + (1 - tick) * x[3 * n :])
        chain = _ChainOfBodies(robot, constants, theta[values.bodies])
        middle = q + h / 2 * v
        frames = JointFrames(chain, middle + value("encoder"))
        inertia = both_sides(chain, mass(frames)) + cs.diag(value("rotor"))
        parts = (command[:n], command[n : 2 * n], command[2 * n :])
        bend, limit, damping = middle - value("centre"), value("limit"), h / 2 * value("viscous")
        a = inertia + cs.diag(damping)

        def acting(speed: Vector) -> tuple[Vector, Vector, Vector, Vector, Vector]:
            """Return the law's c and beta, its torque, what resists, and dry friction, at a speed during the step."""
            c, beta = EFFORTS[law](_Inputs(q, speed, held, theta, parts, enabled, volts, h, value))
            c, beta = enabled * c, enabled * beta
            effort = c - beta * speed
            effort = cs.fmax(-limit, cs.fmin(limit, effort)) if limited else effort
            bias = torque(frames, speed, SX.zeros(n), chain.gravity)
            dry = _friction(value, speed, bend, effort, -bias, law == "duty")
            return c, beta, effort, bias + value("spring") * bend + value("offset"), dry

        # Where what resists depends on the speed, it is taken at that of the middle of the step, as the balance at its beginning
        # predicts it: at the speed of the beginning itself, the step would be of the first order.
        c, beta, effort, resisting, dry = acting(v)
        moves, free = cs.fabs(cs.sign(v)), 1 - cs.fabs(_clipped(c - beta * v, limit)) if limited else SX.ones(n)
        mask = cs.diag(moves)
        matrix = mask @ (a + cs.diag(h / 2 * beta * free)) @ mask + cs.diag(1 - moves)
        push = effort - resisting - value("viscous") * v - dry * cs.sign(v)
        change = solve_positive(matrix, moves * h * push)
        # A joint that turns back slides on against its friction until it stands, and only then the other way, or sticks.
        turns = v * (v + change) < 0
        until = cs.if_else(turns, -h * v / cs.if_else(turns, change, 1), 0)
        c, beta, effort, resisting, dry = acting(v + change / 2)
        r = inertia @ v - damping * v - h * resisting - until * dry * cs.sign(v)
        kept = cs.vertcat(*held) if law == "pd_host" else SX(0, 1)
        return a, r, (h - until) * dry, h / 2 * beta, h * c - h / 2 * beta * v, h * limit, q, v, kept

    return rows


def _friction(
    value: Callable[[str], Vector], v: Vector, bend: Vector, effort: Vector, outside: Vector, of_servo: bool
) -> Vector:
    """Return the dry friction F (n,) at a speed, from the torque of the drive and that from outside."""
    ratio = cs.fabs(v) / value("stribeck_velocity")
    total = value("coulomb") + value("coulomb_slope") * bend
    if not of_servo:
        fall = cs.exp(-ratio)
        # Not |load effort|, which has no slope by the load where it is zero, so that no search would leave it.
        return cs.fmax(0, total + value("load") * cs.fabs(effort) + value("stribeck") * fall)
    fall = cs.exp(-cs.exp(value("stribeck_shape") * cs.log(ratio + _TINY)))
    total += cs.fabs(value("load") * effort - value("load_external") * outside)
    driven = cs.fabs(value("stribeck_load") * effort - value("stribeck_load_external") * outside)
    against = effort * outside < 0
    weaker = cs.fabs(outside) < cs.fabs(effort)
    square = cs.if_else(weaker, value("quadratic_external") * outside**2, value("quadratic_motor") * effort**2)
    return cs.fmax(0, total + fall * (value("stribeck") + driven + cs.if_else(against, square, 0)))


def _soft(z: Expression, threshold: Expression) -> Expression:
    return z - cs.fmax(-threshold, cs.fmin(threshold, z))


def _solved(
    a: Matrix, r: Vector, friction: Vector, d: Vector, e: Vector, limit: Vector, start: Vector, limited: bool
) -> tuple[Vector, Vector, Vector, Expression]:
    """Return v with a v + friction sign(v) = r + clip(e - d v, +-limit), what moves, which limits are reached, and success.

    Coordinate descent finds which joints stick and which are clipped; the others are then solved for directly. What that gives
    is taken if it confirms both.
    """
    n = a.shape[0]
    v = [start[i] for i in range(n)]
    solved = SX(0)
    moving = over = SX.zeros(n)
    for _ in range(_ATTEMPTS):
        for _ in range(_SWEEPS):
            for i in range(n):
                z = r[i] - sum(a[i, j] * v[j] for j in range(n) if j != i)
                v[i], _ = _one_row(z, a[i, i], friction[i], d[i], e[i], limit[i], limited)
        x = cs.vertcat(*v)
        moving = cs.fabs(cs.sign(x))
        over = _clipped(e - d * x, limit) if limited else SX.zeros(n)
        free = 1 - cs.fabs(over)
        right = r + e * free + over * limit - friction * cs.sign(x)
        mask = cs.diag(moving)
        matrix = a + cs.diag(d * free)
        y = moving * solve_positive(mask @ matrix @ mask + cs.diag(1 - moving), moving * right)
        rest = right - matrix @ y
        slack = 1e-9 * (cs.fabs(r) + cs.fabs(e)) + 1e-15
        agrees = (1 - moving) * (cs.fabs(rest) <= friction + slack) + moving * (cs.sign(y) == cs.sign(x))
        if limited:
            agrees = agrees * (_clipped(e - d * y, limit) == over)
        exact = SX(1)
        for i in range(n):
            exact = exact * agrees[i]
        chosen = cs.if_else(exact, y, x)
        v, solved = [chosen[i] for i in range(n)], exact
    return cs.vertcat(*v), moving, over, solved


def _one_row(
    z: Expression,
    a: Expression,
    friction: Expression,
    d: Expression,
    e: Expression,
    limit: Expression,
    limited: bool,
) -> tuple[Expression, Expression]:
    """Return the velocity that solves the row of one joint, and whether its limit is reached."""
    free = _soft(z + e, friction) / (a + d)
    if not limited:
        return free, SX(0)
    over = _clipped(e - d * free, limit)
    return cs.if_else(over == 0, free, _soft(z + over * limit, friction) / a), over


def _clipped(effort: Matrix, limit: Matrix) -> Matrix:
    """Return 1 where a torque is above its limit, -1 where it is below, 0 elsewhere."""
    return (effort > limit) - (effort < -limit)
