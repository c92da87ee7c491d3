"""The closed loops of adaptive control: arms, gains, initial states, and what is read from a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from taupi.control.gains import scales
from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine
from taupi.control.laws.slotine_li import SlotineLi
from taupi.control.laws.walker import Walker
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.errors import unknown
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.papers.kubozono.laws import ForgetfulWalker
from taupi.regressors.classical import reference_motion
from taupi.simulation.plants.rigid_plant import RigidPlant
from taupi.simulation.references import Sinusoids
from taupi.simulation.run import Run, RunBatch
from taupi.simulation.simulate import simulate, simulate_many

LAMBDA = 5.0
DURATION = 40.0
LAST = 2.0  # s: length of the end of the run that is averaged
EVERY = 10  # steps between the samples that are kept: 10 ms (planar), 5 ms (PUMA)
SETTLED = 0.01  # of |s| at the start
# The draw of the initial estimate is not printed. Of NumPy's default generator, this seed meets the table on both arms.
SEED = 5


@dataclass(frozen=True, eq=False)
class RunProtocol:
    """One arm's loops: gains, step and motion; `decay` is the gamma of the run with exact parameters."""

    name: str
    robot: Robot
    motion: Sinusoids
    K: tuple[float, ...]
    gamma: float
    kappa: float
    rate: float
    decay: float

    @cached_property
    def scale(self) -> np.ndarray:
        """The size of each parameter: the largest of its group in its link, with a floor."""
        return scales(self.robot.parameters)

    @property
    def Gamma_inv(self) -> np.ndarray:  # noqa: N802
        """The adaptation gain kappa scale^2."""
        gain: np.ndarray = self.kappa * self.scale**2
        return gain

    def estimate(self, seed: int = SEED) -> np.ndarray:
        """Return the initial estimate: half the truth plus 0.2 scale N(0, 1), masses exactly half; in the document's order."""
        parameters, order = self.robot.parameters, self.robot.parameters.layout.order("kubozono")
        draw = np.empty(len(parameters))
        draw[order] = np.random.default_rng(seed).normal(size=len(parameters))
        draw[[name.endswith(".m") for name in parameters.names]] = 0.0
        start: np.ndarray = 0.5 * parameters.values + 0.2 * self.scale * draw
        return start

    @property
    def initial(self) -> tuple[np.ndarray, np.ndarray]:
        """The initial q and qd: 0.2 cos(0, 1, ...) away from the motion, at rest."""
        n = self.robot.n
        return self.motion(0.0).q + 0.2 * np.cos(np.arange(n)), np.zeros(n)

    def law(self, kind: str, closed: bool = False) -> Any:
        """Return a law of the table; `closed`: in closed form instead of by recursion."""
        settings: dict[str, Any] = {"Lambda": LAMBDA, "Gamma_inv": self.Gamma_inv}
        match kind:
            case "slotine-li":
                return (SlotineLi if closed else NiemeyerSlotine)(self.robot, K=self.K, **settings)
            case "none":
                return NiemeyerSlotine(self.robot, K=self.K, Lambda=LAMBDA, Gamma_inv=0.0)
            case "walker":
                form = "closed" if closed else "recursive"
                return Walker(self.robot, gamma=self.gamma, form=form, **settings)
            case "forgetful":
                return ForgetfulWalker(self.robot, gamma=self.gamma, **settings)
        raise unknown("law of the table", kind, ("slotine-li", "walker", "none", "forgetful"))

    def loop(self, kind: str, start: np.ndarray | None = None, duration: float = DURATION) -> ReferenceRun:
        """Return one run of a law, with the law inside the integrator as in the proofs."""
        estimate = self.estimate() if start is None else start
        run = simulate(
            RigidPlant(self.robot),
            self.law(kind),
            self.motion,
            duration,
            self.rate,
            control="continuous",
            initial=self.initial,
            parameters=estimate,
            every=EVERY,
        )
        return ReferenceRun(self, run)

    def loops(self, kind: str, starts: np.ndarray, duration: float = DURATION) -> list[ReferenceRun]:
        """Return a run for each start of the estimate (B, p), as one batch."""
        q, qd = (np.broadcast_to(x, (len(starts), self.robot.n)) for x in self.initial)
        batch: RunBatch = simulate_many(
            RigidPlant(self.robot),
            self.law(kind),
            self.motion,
            duration,
            self.rate,
            control="continuous",
            initial=(q, qd),
            parameters=starts,
            every=EVERY,
        )
        return [ReferenceRun(self, run) for run in batch]

    def decay_rate(self, duration: float = 1.0) -> float:
        """Return the fitted rate of V_1 = s^T H s / 2 under Walker's law with exact parameters, 1/s."""
        law = Walker(self.robot, Lambda=LAMBDA, gamma=self.decay, Gamma_inv=0.0)
        run = simulate(
            RigidPlant(self.robot),
            law,
            self.motion,
            duration,
            10_000.0,
            control="continuous",
            initial=self.initial,
            every=EVERY,
        )
        return -float(np.polyfit(run.time, np.log(ReferenceRun(self, run).kinetic), 1)[0])


@dataclass(frozen=True, eq=False)
class ReferenceRun:
    """A run and what the table reads from it."""

    protocol: RunProtocol
    run: Run

    @cached_property
    def s(self) -> np.ndarray:
        """s = qd - qrd, (N, n)."""
        reference = self.run.reference
        assert reference is not None
        s: np.ndarray = reference_motion(self.run.q, self.run.qd, *reference, Lambda=LAMBDA)[2]
        return s

    @cached_property
    def kinetic(self) -> np.ndarray:
        """V_1 = s^T H s / 2, (N,)."""
        return np.einsum("ki,kij,kj->k", self.s, mass_matrix(self.protocol.robot)(self.run.q), self.s) / 2

    @cached_property
    def V(self) -> np.ndarray:  # noqa: N802
        """V = V_1 + a^T Gamma a / 2, a the error of the estimate, (N,)."""
        estimates = self.run.parameters
        assert estimates is not None
        off = estimates - self.protocol.robot.parameters.values
        value: np.ndarray = self.kinetic + (off**2 / self.protocol.Gamma_inv).sum(axis=1) / 2
        return value

    @property
    def change(self) -> float:
        """The largest change of V from one sample to the next, relative to V(0): negative if V falls throughout."""
        return float(np.diff(self.V).max() / self.V[0])

    @cached_property
    def speed(self) -> np.ndarray:
        """|s|, (N,)."""
        return np.linalg.norm(self.s, axis=1)

    def rms(self, norm: np.ndarray) -> float:
        """Return the root mean square of a norm (N,) over the last two seconds."""
        last = norm[self.run.time >= self.run.time[-1] - LAST]
        return float(np.sqrt((last**2).mean()))

    @property
    def settled(self) -> float:
        """The time after which |s| stays below a hundredth of its initial value; the end if it never does."""
        return float(self.run.time[self.speed >= SETTLED * self.speed[0]].max())

    @property
    def figures(self) -> dict[str, float]:
        """The columns of the table."""
        error = np.linalg.norm(self.run.error, axis=1)
        return {
            "V(0)": float(self.V[0]),
            "V(end)": float(self.V[-1]),
            "largest change of V": self.change,
            "rms |s|": self.rms(self.speed),
            "|s| at the start": float(self.speed[0]),
            "rms |e|": self.rms(error),
            "settled": self.settled,
        }

    def gap(self, kind: str) -> float:
        """Return the largest difference between the torques of the recursive and the closed law along the run, N m."""
        reference = self.run.reference
        assert reference is not None
        states = (self.run.q, self.run.qd, *reference)
        recursive, closed = (
            self.protocol.law(kind, form).torque(*states, parameters=self.run.parameters) for form in (False, True)
        )
        return float(np.abs(recursive - closed).max())


@lru_cache(maxsize=1)
def protocols() -> dict[str, RunProtocol]:
    """Return both arms: Zollo's planar one, and the PUMA 560 with a first link that has no mass."""
    planar = RunProtocol(
        "planar", load("zollo2r"), Sinusoids.document("planar2"), (300.0, 80.0), 20.0, 0.2, 1000.0, decay=4.0
    )
    damping = (120.0, 180.0, 60.0, 0.6, 0.3, 0.06)
    puma = RunProtocol("PUMA", load("puma560"), Sinusoids.document("puma560"), damping, 30.0, 10.0, 2000.0, decay=6.0)
    return {"planar": planar, "PUMA": puma}
