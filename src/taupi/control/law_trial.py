"""A law on trial: a run with the law and the plant that made it, and with s, V, the true parameters, and remarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.control.estimate import ParameterChoice
from taupi.control.law import Law
from taupi.control.lyapunov import LyapunovRecord, lyapunov_record
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.dynamics.terms import term_parameters
from taupi.errors import TaupiError
from taupi.model.robot import Robot
from taupi.regressors.classical import regressor
from taupi.simulation.controller import ControllerLike
from taupi.simulation.plants.plant import ArmPlant, Payload, Plant
from taupi.simulation.plants.rigid_plant import RigidPlant
from taupi.simulation.run import Run
from taupi.tables import html_table

# Of V at the start: a law that is sampled a thousand times a second lets V rise by less than this. With the default gains, from
# 0.3 of the parameters, by 8.5e-4 on a UR5, 1.4e-4 on a Panda and 3.8e-5 on a PUMA 560.
SAMPLED = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """Judge a run beside the law and the plant that made it: s = qd - qrd, V with its rates, the true parameters, remarks.

    Attributes:
        run: The run.
        law: The law that controlled it, or another controller.
        plant: The plant that was controlled.
        name: By default the law's.
        held: The run of the same law with its estimate held at the start, for comparison; by default none.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> law, plant = tp.SlotineLi(arm), tp.RigidPlant(arm)
    >>> motion = tp.Sinusoids([0.0, 0.5], [[0.4], [0.3]], [[1.0], [1.4]])
    >>> run = tp.simulate(plant, law, motion, duration=0.5, parameters=0.5 * law.parameters.values)
    >>> trial = tp.laws.Trial(run, law, plant)
    >>> trial.s.shape, bool(trial.lyapunov.V[-1] < trial.lyapunov.V[0])
    ((501, 2), True)
    """

    run: Run
    law: ControllerLike = None  # a Law, or another controller
    plant: Plant | None = None
    name: str = ""
    held: Run | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.run, Run):
            raise TaupiError("{run} is {got!r}, expected a Run: what taupi.simulate(...) returned.", got=self.run)
        default = self.law.name if isinstance(self.law, Law) else self.run.provenance.get("controller", "run")
        object.__setattr__(self, "name", self.name or str(default))

    @property
    def robot(self) -> Robot | None:
        """The robot that moved: the plant's, or the one that the law knows."""
        if self.plant is not None:
            return self.plant.robot
        return self.law.robot if isinstance(self.law, Law) else None

    @property
    def tracks(self) -> bool:
        """Whether there is a motion of the joints to follow."""
        return self.run.tracks

    @cached_property
    def tracking_error(self) -> np.ndarray | None:
        """Actual minus desired motion, (N, n) of the joints or (N, m) of the law's task; None without a reference."""
        if self.tracks:
            return self.run.error
        if not isinstance(self.law, Law) or self.robot is None or self.run.reference is None:
            return None
        r = self.law.task_coordinates(self.robot, self.run.q)
        return None if r is None else r - self.run.reference.q

    @cached_property
    def s(self) -> np.ndarray | None:
        """The combined error qd - qd_des + Lambda (q - q_des), (N, n); None if the law has none in joint coordinates."""
        if not isinstance(self.law, Law) or not self.tracks or self.run.reference is None:
            return None
        if self.law.robot.n != self.run.n:
            return None
        return self.law.combined_error(self.run.error, self.run.qd - self.run.reference.qd)

    # What is true ---------------------------------------------------------------------------------------------------

    @cached_property
    def _true(self) -> np.ndarray | None:
        """All parameters of the plant, ten per link and its terms': (P,), or (N, P) where payloads change."""
        if not isinstance(self.plant, ArmPlant) or self.robot is None:
            return None
        return self.plant.parameters_at(self.run.time)

    @cached_property
    def truth(self) -> np.ndarray | None:
        """The true values of the law's parameters, (p,) or (N, p); None if law or plant are not known."""
        if self._true is None or not isinstance(self.law, Law) or self.robot is None or self.plant is None:
            return None
        choice = self.law.choice()
        names = (*self.robot.parameters.names, *term_parameters(self.robot, tuple(self.plant.terms)).names)
        known = {name: k for k, name in enumerate(names)}
        full = np.zeros((*self._true.shape[:-1], len(choice.full)))
        for k, name in enumerate(choice.full.names):
            if name in known:
                full[..., k] = self._true[..., known[name]]
        return choice.values_of(full)

    @cached_property
    def lyapunov(self) -> LyapunovRecord | None:
        """V and its rates along the run with the plant's own parameters; None if they cannot be known, as for elastic joints.

        The rates of a law that remembers more than its estimate need that memory, which a run does not keep: they are NaN.
        """
        run, law = self.run, self.law
        if not isinstance(law, Law) or not law.proven or not isinstance(self.plant, RigidPlant) or self._true is None:
            return None
        if run.parameters is None or run.reference is None or len(run) < 2 or run.theta is not None or law.gain_varies:
            return None
        wanted, terms = (run.reference.q, run.reference.qd, run.reference.qdd), self.plant.effective_terms
        with np.errstate(all="ignore"):
            record = lyapunov_record(law, run.time, run.q, run.qd, wanted, run.parameters, self._true, terms)
        if not np.isfinite(record.V).all():
            return None
        if not law.memory().size:
            return record
        unknown = np.full(len(run), np.nan)
        return LyapunovRecord(record.time, record.V, record.V_1, unknown, unknown, record.numerical, (), record.changes)

    @cached_property
    def carried(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The mass of the payload in kg, (true, estimated), (N,) each; None if the plant has none, or the law no estimate.

        The estimated mass is the one whose torque along the run best matches the estimate's torque beyond the bare arm's.
        """
        if not isinstance(self.plant, ArmPlant) or not isinstance(self.law, Law) or not self.law.learns:
            return None
        payload = carried_payload(self.plant)
        if payload is None or not payload.mass or len(self.run) < 2 or self.run.parameters is None:
            return None
        estimate = estimated_mass(self.run, self.law.choice(), payload)
        return None if estimate is None else (true_mass(self.plant, self.run.time), estimate)

    @property
    def effort_limits(self) -> np.ndarray | None:
        """The largest torques that the robot's description states, (n,), infinite where it states none; None if it has none."""
        if self.robot is None or self.robot.n != self.run.n:
            return None
        efforts = [j.limits.effort for j in self.robot.driving_joints]
        return np.array([e or np.inf for e in efforts]) if any(efforts) else None  # 0 means that it was never filled in

    # Remarks --------------------------------------------------------------------------------------------------------

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What to be careful about, one sentence each."""
        notes = [f"{note[0].upper()}{note[1:]}." for note in self.run.notes]
        return tuple(notes + self._limited() + self._beyond_effort() + self._start() + self._claims())

    def _limited(self) -> list[str]:
        limits = None if self.plant is None else self.plant.torque_limits
        if limits is None or not len(self.run):
            return []
        share = (np.abs(self.run.tau_command) > limits).mean(axis=0)
        cut = [f"{n} {part:.0%} of the time" for n, part in zip(self.run.names, share, strict=True) if part]
        return [f"The torque is cut at its limit: {', '.join(cut)}. Use lower gains or a slower motion."] if cut else []

    def _beyond_effort(self) -> list[str]:
        """Return a remark if the arm had torques that its description does not allow."""
        if self.effort_limits is None or not len(self.run):
            return []
        largest = np.abs(self.run.tau).max(axis=0)
        pairs = zip(self.run.names, self.run.units or ["rad"] * self.run.n, largest, self.effort_limits, strict=True)
        beyond = [
            f"{name} {tau:.4g} of {limit:.4g} {'N' if unit == 'm' else 'N m'}"
            for name, unit, tau, limit in pairs
            if tau > limit * (1 + 1e-9)
        ]
        if not beyond:
            return []
        return [
            f"The torque is larger than the description allows: {', '.join(beyond)}. The real arm could not do this: take lower "
            "gains or a slower motion, or let the plant cut the torque there (--torque-limit description, torque_limits=True)."
        ]

    def _start(self) -> list[str]:
        """Return what the law says of a run that starts with this V_1."""
        if not isinstance(self.law, Law) or self.s is None or self.robot is None:
            return []
        s, robot, q = self.s[0], self.robot, self.run.q[0]
        return self.law.start_warnings(lambda: float(s @ mass_matrix(robot).compile("numpy")(q) @ s) / 2)

    def _claims(self) -> list[str]:
        if not isinstance(self.law, Law) or self._true is None or self.run.reference is None:
            return []
        if self.run.theta is not None:
            rigid = "theta" not in self.law.measured
            return ["The joints are elastic, the law is that of a rigid arm: it may shake the springs."] * rigid
        if not self.law.proven:
            return [f"V is not shown: {self.law.name} has no Lyapunov function."]
        record = self.lyapunov
        if record is None:
            return [
                "V is not known for this run: it is not finite (a link without extent is infinitely far from any body), "
                "or its gain is not kept."
            ]
        if record.largest_rise <= SAMPLED:
            return []
        why = "; ".join((*self._mistaken(), *self._departures(), *record.reasons)) or "the run departs from the law"
        return [f"V rises by up to {record.largest_rise:.2g} of its size from one sample to the next: {why}."]

    def _departures(self) -> list[str]:
        """Return how the plant, or what the law sees of it, differs from what the proof assumes."""
        departures = ["the torque is cut at its limit"] if self._limited() else []
        if self.plant is not None:
            limited = self.plant.rate_limits is not None and bool(self.plant.rate_limits.any())
            departures += ["the torque changes no faster than its limit"] * limited
            departures += ["the torque comes late"] * (self.plant.delay > 0)
        if isinstance(self.plant, ArmPlant):
            departures += ["a disturbance acts"] * (self.plant.disturbance is not None)
            departures += ["a wrench acts on the tip"] * (self.plant.wrench is not None)
        departures += ["the law sees what the sensors show"] * (self.run.measured is not None)
        if self.run.provenance.get("control") == "sampled":
            departures.append(f"the torque is held for {1000 / float(self.run.provenance['rate']):.3g} ms")
        return departures

    def _mistaken(self) -> tuple[str, ...]:
        """Return why a law that learns nothing may fail."""
        if not isinstance(self.law, Law) or self.law.learns or self.truth is None or self.run.parameters is None:
            return ()
        same = np.allclose(self.run.parameters, self.truth, rtol=1e-9, atol=1e-12)
        return () if same else ("the law does not learn, and its parameters are not the plant's",)

    def summary(self) -> dict[str, object]:
        """Return the results of the run as plain numbers: tracking, torque and, if it is known, V."""
        data: dict[str, object] = {
            "law": self.name,
            "complete": self.run.complete,
            "seconds": 0.0,
            "largest_torque": 0.0,
        }
        if not len(self.run):
            return data
        data["seconds"] = float(self.run.time[-1])
        tracking = self.tracking_error
        if tracking is not None:
            fifth = max(1, len(tracking) // 5)
            data["rms_error_first"] = _rms(tracking[:fifth])
            data["rms_error_last"] = _rms(tracking[-fifth:])
        if self.tracks and self.held is not None and self.held.complete and self.held.tracks:
            data["rms_error_held"] = _rms(self.held.error[-max(1, len(self.held) // 5) :])
        data["largest_torque"] = float(np.abs(self.run.tau).max())
        if self.carried is not None:
            true, estimate = self.carried
            data |= {"payload_mass": float(true[-1]), "payload_estimate": float(estimate[-1])}
        if (record := self.lyapunov) is not None:
            data |= {"V_first": float(record.V[0]), "V_last": float(record.V[-1])}
            data["V_largest_rise"] = record.largest_rise
        return data

    def __repr__(self) -> str:
        numbers = [f"{k} {v:.4g}" for k, v in self.summary().items() if isinstance(v, float)]
        return f"Trial of {self.name}: {', '.join(numbers)}"

    def _repr_html_(self) -> str:
        rows = [(name.replace("_", " "), f"{v:.4g}") for name, v in self.summary().items() if isinstance(v, float)]
        return html_table(f"Trial of {self.name}", [("", ""), *rows], self.remarks)


def _rms(error: np.ndarray) -> float:
    """Return the root mean square of |error| of rows (N, n)."""
    return float(np.sqrt((error**2).sum(axis=1).mean()))


STATES = 400  # samples of the run, evenly spread, over which torques are compared


def carried_payload(plant: ArmPlant) -> Payload | None:
    """Return the last payload that a plant carries, None if it carries none, or if several links carry some."""
    carried = [payload for _, payload in plant.payloads if payload is not None]
    return carried[-1] if carried and len(plant.loads) == 1 else None


def true_mass(plant: ArmPlant, time: np.ndarray) -> np.ndarray:
    """Return the mass that a plant carries at times (N,), (N,) in kg."""
    mass = np.zeros(len(time))
    for since, payload in plant.payloads:
        mass[time * (1 + 1e-12) >= since] = 0.0 if payload is None else payload.mass
    return mass


def estimated_mass(run: Run, choice: ParameterChoice, payload: Payload) -> np.ndarray | None:
    """Return the mass of a payload that the estimate of a run amounts to, (N,) in kg; None if no torque depends on it.

    With d = pi_hat - pi of the bare arm and l the parameters that one kilogram of the payload adds,

        mass = argmin_m sum_k ||Y_k (d - m l)||^2 = l^T G d / (l^T G l),   G = sum_k Y_k^T Y_k

    over states k of the run. So directions of the estimate that the motion does not excite do not count: no law learns them.
    """
    if run.parameters is None:
        return None
    robot, names = choice.robot, choice.full.names
    states = np.unique(np.linspace(0, len(run) - 1, STATES).astype(int))
    Y = regressor(robot, terms=choice.terms).compile("numpy")(run.q[states], run.qd[states], run.qdd[states])
    link, body = payload.on(robot)
    per_kilogram = np.zeros(len(names))
    per_kilogram[robot.parameters.layout.link(link)] = body / payload.mass
    shown = Y @ per_kilogram  # (k, n): the torque of one kilogram
    size = float((shown**2).sum())
    if not size > 0:
        return None
    weights = np.einsum("ki,kip->p", shown, Y[..., list(choice.places)]) / size
    mass: np.ndarray = (run.parameters - choice.values_of(choice.full.values)) @ weights
    return mass
