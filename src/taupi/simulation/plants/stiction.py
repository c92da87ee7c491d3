"""Joints that stick and break away: dry friction with its jump, with events that the adaptive integrator finds."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import casadi as cs
import numpy as np

from taupi.dynamics.chain import joint_port
from taupi.dynamics.forward import solve_positive
from taupi.dynamics.mass_matrix import composite_bodies
from taupi.dynamics.recursive import newton_euler
from taupi.dynamics.terms import Coulomb, Curve, Load, Stribeck, Term, resolve_terms, term_inertia, term_torque
from taupi.dynamics.types import SX, Vector
from taupi.errors import Argument, TaupiError
from taupi.program.program import Constants, Port, Program, trace
from taupi.simulation.integrators import ADAPTIVE
from taupi.simulation.plants.plant import Surroundings
from taupi.simulation.plants.rigid_plant import RigidPlant

# Sticking and breaking away this often within one control period is chatter, not motion.
_MOST_EVENTS = 200
Externals = dict[str, np.ndarray]  # values of a plant's externals by name
_NUDGE = 1e-300  # a speed above zero at which sgn is 1 and Stribeck's shape is that of standstill


def stiction_program(plant: RigidPlant) -> Program:
    """Return (qdd, hold, grip, supply, loss) of (q, qd, tau, mode, ...), with a mode of -1, 0 or 1 per joint (Karnopp 1985).

    A slipping joint of the `plant` has the friction mode F(|qd|). A joint with mode 0 is stuck: qdd = 0, and `hold` is the
    friction that this needs; it breaks away when |hold| exceeds `grip`, the friction at standstill.
    """
    terms = resolve_terms(plant.terms)
    if any(isinstance(t, Load) for t in terms):
        raise TaupiError(
            "The term 'load' has no grip at standstill, where the load depends on the friction itself.",
            remedy=("Simulate it with ", Argument("stiction", False), "."),
        )
    return _traced(plant.surroundings, terms)


@lru_cache(maxsize=16)
def _traced(surroundings: Surroundings, terms: tuple[Term, ...]) -> Program:
    robot = surroundings.robot
    constants, n = Constants(), robot.n
    dry = tuple(t for t in terms if isinstance(t, Coulomb | Stribeck | Curve))
    wet = tuple(t for t in terms if t not in dry)

    def body(q: Vector, qd: Vector, tau: Vector, mode: Vector, *externals: Vector) -> tuple[Vector, ...]:
        chain, rest = surroundings.chain(constants, externals), SX.zeros(n)
        level = term_torque(chain, dry, q, cs.fmax(cs.fabs(qd), _NUDGE), rest)
        grip = term_torque(chain, dry, q, SX.ones(n) * _NUDGE, rest)
        smooth = term_torque(chain, wet, q, qd, rest)
        driving = tau + surroundings.force(chain, q, externals)
        mass = composite_bodies(chain, q) + term_inertia(chain, terms)
        free = driving - smooth - newton_euler(chain, q, qd, rest)
        moves = mode * mode
        masked = mass * (moves @ moves.T) + cs.diag(1 - moves)
        qdd = solve_positive(masked, moves * (free - mode * level))
        return qdd, free - mass @ qdd, grip, cs.dot(qd, driving), cs.dot(qd, smooth + mode * level)

    ports = [*(joint_port(robot, k) for k in ("q", "qd", "tau", "mode")), *surroundings.ports()]
    vectors = [Port(k, (n,)) for k in ("qdd", "hold", "grip")]
    return trace("stiction", body, ports, [*vectors, Port("supply"), Port("loss")], constants)


class Sticking:
    """A rigid plant whose joints stick, moved over one control period at a time."""

    def __init__(self, plant: RigidPlant, method: str, tolerance: float) -> None:
        self.n, self.method, self.tolerance = plant.robot.n, method, tolerance
        self._names = [p.name for p in plant.externals]
        self._bound = stiction_program(plant).compile("cpu").bound()  # type: ignore[attr-defined]

    def evaluate(
        self, y: np.ndarray, tau: np.ndarray, mode: np.ndarray, externals: Externals
    ) -> tuple[np.ndarray, ...]:
        """Return qdd, hold, grip, supply, loss."""
        inputs = {"q": y[: self.n], "qd": y[self.n : 2 * self.n], "tau": tau, "mode": mode, **externals}
        for name in ("q", "qd", "tau", "mode", *self._names):
            self._bound.inputs[name].reshape(-1)[:] = np.ravel(inputs[name])
        self._bound()
        return tuple(v.copy() for v in self._bound.outputs.values())

    def modes(self, y: np.ndarray, tau: np.ndarray, externals: Externals) -> np.ndarray:
        """Return which joints slip, and which way: those at rest stick, unless that needs more than their grip.

        If several cannot hold, the one whose grip falls short by most breaks away first: its motion may relieve the others.
        """
        mode = np.sign(y[self.n : 2 * self.n])
        for _ in range(self.n):
            _, hold, grip, *_ = self.evaluate(y, tau, mode, externals)
            shortfall = np.where(mode == 0, np.abs(hold) - grip, -np.inf)
            worst = int(np.argmax(shortfall))
            if shortfall[worst] <= 0:
                break
            mode[worst] = np.sign(hold[worst])
        return mode

    def move(
        self, y: np.ndarray, tau: np.ndarray, t: float, stop: float, externals_at: Callable[[float], Externals]
    ) -> np.ndarray:
        """Return y = (q, qd, work, heat) at `stop`, from event to event."""
        from scipy.integrate import solve_ivp

        n, broke = self.n, np.zeros(self.n)
        for _ in range(_MOST_EVENTS):
            mode = np.where(broke != 0, broke, self.modes(y, tau, externals_at(t)))

            def rate(s: float, x: np.ndarray, mode: np.ndarray = mode) -> np.ndarray:
                qdd, _, _, supply, loss = self.evaluate(x, tau, mode, externals_at(s))
                return np.concatenate([x[n : 2 * n], qdd, [supply, loss]])

            events = [self._event(i, tau, mode, externals_at) for i in range(n)]
            options = {"rtol": self.tolerance, "atol": self.tolerance / 100, "events": events}
            solution = solve_ivp(rate, (t, stop), y, ADAPTIVE[self.method], **options)
            y, t = solution.y[:, -1].copy(), float(solution.t[-1])
            if not solution.success:
                return np.full_like(y, np.nan)
            met = np.array([len(at) > 0 for at in solution.t_events])
            y[n : 2 * n][met] = 0.0  # it has come to rest, to the root finder's rounding; or it breaks away, from rest
            if solution.status == 0 or t >= stop:
                return y
            hold = self.evaluate(y, tau, mode, externals_at(t))[1]
            broke = np.where(met & (mode == 0), np.sign(hold), 0.0)
        raise TaupiError(
            f"Joints stick and break away more than {_MOST_EVENTS} times before {stop:g} s: use smoothing= instead."
        )

    def _event(
        self, i: int, tau: np.ndarray, mode: np.ndarray, externals_at: Callable[[float], Externals]
    ) -> Callable[[float, np.ndarray], float]:
        """Return what crosses zero downwards when joint i comes to rest, or when it breaks away."""

        def slips(t: float, y: np.ndarray) -> float:
            return float(y[self.n + i] * mode[i])

        def holds(t: float, y: np.ndarray) -> float:
            _, hold, grip, *_ = self.evaluate(y, tau, mode, externals_at(t))
            return float(grip[i] - abs(hold[i]))

        event = slips if mode[i] else holds
        event.terminal, event.direction = True, -1  # type: ignore[attr-defined]
        return event
