"""The study: uncertain arms under control laws with given gains, and the share that converges."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.checks import not_negative, positive, whole_number
from taupi.control.law import Law
from taupi.control.laws.computed_torque import ComputedTorque
from taupi.control.laws.pd_gravity import PDGravity
from taupi.control.laws.slotine_li import SlotineLi
from taupi.errors import TaupiError, TaupiWarning
from taupi.files import path_of, refuse_to_overwrite, write_text
from taupi.identification.results.samples import Samples
from taupi.model.body import bodies_of, pseudo_inertia
from taupi.model.robot import Robot
from taupi.progress import progress
from taupi.schema import finite_or_none
from taupi.settings import settle, without_none
from taupi.simulation.horizon import Horizon, HorizonOptions
from taupi.simulation.motion_limits import swing
from taupi.simulation.plants.rigid_plant import RigidPlant
from taupi.simulation.references import ReferenceLike, as_reference
from taupi.simulation.rollouts.results import RunSummary
from taupi.simulation.run import Run
from taupi.simulation.sensors import Sensors
from taupi.simulation.simulate import simulate_many, simulate_summary
from taupi.tables import table

if TYPE_CHECKING:
    from typing_extensions import Unpack


QUANTILES = (0.5, 0.9, 0.99)
_OFFSET = 0.1  # largest initial distance of an arm from the reference, rad or m


@dataclass(frozen=True, eq=False)
class RobustnessStudy:
    """Hold how uncertain arms performed under each law.

    Attributes:
        robot: The model in the laws.
        summaries: A `RunSummary` for each law's name; roll-out k is the same arm, from the same start, under all of them.
        links: Parameters of the arms, (B, 10 per link).
        initial: Where they start, (B, n), rad or m.
        worst: The run of the worst arm under each law.
        within: A roll-out counts as converged if its late rms error is below this at every joint, rad or m.
        spread: How far the arms are from the model, as a share.
        seed: Seed of the arms and their starts.
        sampled: Whether the arms are posterior samples of a fit instead.
        laws: The laws by name, with their gains.
        plant: What all arms share: their friction, limits, delay and disturbance.
        sensors: What the laws see of them, None for exact positions and velocities.
    """

    robot: Robot
    summaries: Mapping[str, RunSummary]
    links: np.ndarray
    initial: np.ndarray
    worst: Mapping[str, Run]
    within: float
    spread: float
    seed: int
    sampled: bool = False
    laws: Mapping[str, Law] = field(default_factory=dict)
    plant: RigidPlant | None = None
    sensors: Sensors | None = None

    def share(self, law: str) -> float:
        """Return the share of the roll-outs that converged under the `law` of this name."""
        return float(self.summaries[law].converged(self.within).mean())

    def errors(self, law: str) -> np.ndarray:
        """Return the late rms error of the worst joint under a `law`, sorted (B,); infinite for roll-outs that diverged."""
        return np.sort(_worst_joint(self.summaries[law]))

    @property
    def difference(self) -> str:
        """How much the arms differ from the model, in words."""
        return "as much as its fit leaves open" if self.sampled else f"by about {100 * self.spread:g} %"

    @property
    def unit(self) -> str:
        """The unit of errors: "rad" or "m", or "rad or m" for an arm that has joints of both kinds."""
        units = set(next(iter(self.summaries.values())).units)
        return units.pop() if len(units) == 1 else "rad or m"

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain data: settings, and for each law its share, quantiles and worst arm."""
        from taupi.reporting.sections.run import in_words

        first = next(iter(self.summaries.values()))
        laws: dict[str, dict[str, Any]] = {}
        for name, summary in self.summaries.items():
            errors = _worst_joint(summary)
            k = int(np.argmax(errors))
            laws[name] = {
                "converged": self.share(name),
                "diverged": int((~summary.complete).sum()),
                "late_error": {f"{q:g}": finite_or_none(np.quantile(errors, q, method="higher")) for q in QUANTILES},
                "worst": {"roll_out": k, "late_error": finite_or_none(errors[k]), "links": self.links[k].tolist()},
                "peak_torque": summary.peak_torque.max(axis=0).tolist(),
                "coordinates": summary.provenance.get("coordinates"),
                "settings": in_words(self.laws[name]) if name in self.laws else {},
            }
        # Of what is true of one law alone, each law has its own above.
        shared = {k: v for k, v in first.provenance.items() if k not in ("controller", "coordinates", "sensors")}
        return {
            "robot": self.robot.name,
            "roll_outs": len(self.links),
            "spread": None if self.sampled else self.spread,
            "within": self.within,
            "seed": self.seed,
            "late_from": first.late,
            "laws": laws,
            "plant": {} if self.plant is None else in_words(self.plant),
            "sensors": {} if self.sensors is None else in_words(self.sensors),
            "provenance": shared,
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return the study as rows of a table, one per law, below their heading."""
        heads = [f"{100 * q:g} % below, {self.unit}" for q in QUANTILES]
        rows: list[tuple[str, ...]] = [("law", "converged", "diverged", *heads, f"worst, {self.unit}")]
        for name, data in self.to_dict()["laws"].items():
            late = [_shown(value) for value in (*data["late_error"].values(), data["worst"]["late_error"])]
            rows.append((name, percent(data["converged"]), str(data["diverged"]), *late))
        return rows

    def __repr__(self) -> str:
        head = f"{len(self.links)} arms that differ from {self.robot.name} {self.difference}, "
        return "\n".join([f"{head}converged where late errors stay below {self.within:g}", *table(self.rows())])

    def write(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the study as one HTML page to `path`; an existing file is kept unless `force` is true."""
        from taupi.robustness.page import study_page

        file = path_of(path, "the path of a page")
        if file.suffix.lower() not in (".html", ".htm"):
            raise TaupiError("{path} is {got!r}, expected a name ending in .html.", got=str(file))
        refuse_to_overwrite(file, force)
        write_text(file, study_page(self), force)


def robustness(
    robot: Robot,
    laws: Sequence[Law] | None = None,
    reference: ReferenceLike | None = None,
    duration: float | None = None,
    rate: float | None = None,
    integrator: str | None = None,
    substeps: int | None = None,
    control: str | None = None,
    *,
    plant: RigidPlant | None = None,
    sensors: Sensors | None = None,
    roll_outs: int = 256,
    spread: float = 0.2,
    samples: Samples | None = None,
    within: float = 0.05,
    seed: int = 0,
    threads: int | None = None,
    device: str = "cpu",
    horizon: Horizon | None = None,
    **options: Unpack[HorizonOptions],
) -> RobustnessStudy:
    """Return a RobustnessStudy: simulated arms whose links differ from the model in the control laws, and how they performed.

    Args:
        robot: The model in the laws. The links of the arms differ from it at random, and are physically possible.
        laws: By default PD with gravity, computed torque and Slotine and Li's law, each with its default gains.
        reference: A motion to follow; by default each joint swings by half a radian (or 0.1 m) or up to its limits, at its own
            frequency.
        duration: Length of the simulation, s; by default 10. This and the following four are fields of `horizon`.
        rate: Control periods per second, Hz; by default 1000.
        integrator: "rk4" by default; the others are in `Horizon`.
        substeps: Fixed steps per control period; by default 1.
        control: "sampled" (the default) holds the torque for each control period, "continuous" does not.
        plant: What all arms share, by default nothing: joint terms such as friction, limits, delay, disturbance, payloads. Its
            robot is `robot`.
        sensors: What the laws see of the arms, as in `simulate`; by default exact positions and velocities.
        roll_outs: How many arms, by default 256.
        spread: How much their parameters differ, as a share, by default 0.2.
        samples: The arms themselves: what `taupi.samples` drew from a fit, instead of arms with a `spread`, by default None. The
            estimate is not among them, and there are as many roll-outs as samples, up to `roll_outs`.
        within: The rms error in the last fifth of the time, rad or m, below which a roll-out counts as converged, at every joint;
            by default 0.05.
        seed: Seed of the arms and of their initial positions, up to 0.1 rad (or m) from the reference; by default 0.
        threads: How many cores are used; by default all.
        device: "cpu" (the default) or "cuda", on which a hundred thousand roll-outs take minutes.
        horizon: All fields of `taupi.Horizon` at once, instead of by keywords.
        **options: Other fields of `horizon`: `tolerance` and `every`.

    >>> import taupi as tp
    >>> study = tp.ensembles.robustness(tp.load("elbow2r"), duration=1.0, rate=500, roll_outs=8)
    >>> list(study.summaries), 0 <= study.share("slotine_li") <= 1
    (['pd_gravity', 'computed_torque', 'slotine_li'], True)
    """
    timing = without_none(duration=duration, rate=rate, integrator=integrator, substeps=substeps, control=control)
    (horizon,) = settle(robustness, {**options, **timing}, (Horizon, horizon))
    if not isinstance(robot, Robot):
        raise TaupiError("{robot} is {got}, expected a Robot: use taupi.load(...).", got=type(robot).__name__)
    count = whole_number("roll_outs", roll_outs)
    not_negative("spread", spread)
    positive("within", within)
    chosen = _named([PDGravity(robot), ComputedTorque(robot), SlotineLi(robot)] if laws is None else laws)
    motion = swing(robot) if reference is None else reference
    rng = np.random.default_rng(seed)
    links = uncertain_links(robot, spread, count, rng) if samples is None else _links_of(samples, robot, count)
    count = len(links)
    start = as_reference(motion, robot.n)(np.zeros(1)).q + rng.uniform(-_OFFSET, _OFFSET, (count, robot.n))
    plant = RigidPlant(robot) if plant is None else _same_robot(plant, robot)
    summaries, worst = {}, {}
    with progress("robustness", len(chosen)) as step:
        for name, law in chosen.items():
            step(name)
            summary = simulate_summary(
                plant,
                law,
                motion,
                sensors=sensors,
                horizon=horizon,
                initial=start,
                links=links,
                threads=threads,
                device=device,
            )
            k = int(np.argmax(_worst_joint(summary)))
            summaries[name] = summary
            with warnings.catch_warnings():  # an arm that diverges is a result
                warnings.simplefilter("ignore", TaupiWarning)
                worst[name] = simulate_many(
                    plant,
                    law,
                    motion,
                    sensors=sensors,
                    horizon=horizon,
                    initial=start[k : k + 1],
                    links=links[k : k + 1],
                    seeds=[k],
                )[0]
    drawn = samples is not None
    return RobustnessStudy(
        robot,
        summaries,
        links,
        start,
        worst,
        float(within),
        float(spread),
        int(seed),
        drawn,
        chosen,
        plant,
        sensors,
    )


def _same_robot(plant: RigidPlant, robot: Robot) -> RigidPlant:
    if not isinstance(plant, RigidPlant):
        raise TaupiError("{plant} is {got}, expected a taupi.RigidPlant.", got=type(plant).__name__)
    if plant.robot.fingerprint != robot.fingerprint:
        raise TaupiError(
            "{plant} is of {got}, expected one of the robot that the laws know, {robot}.",
            remedy="State what arms differ in by spread or samples.",
            got=plant.robot.name,
            robot=robot.name,
        )
    return plant


def _links_of(samples: Samples, robot: Robot, count: int) -> np.ndarray:
    """Return the parameters of up to `count` arms of posterior samples, (count, 10 per link)."""
    if samples.fit.robot.link_names != robot.link_names or len(samples) < 2:
        raise TaupiError(
            "{samples} are of {got}, expected at least one of {robot}.", got=samples.fit.robot.name, robot=robot.name
        )
    return samples.links[1 : count + 1]


def _named(laws: Sequence[Law]) -> dict[str, Law]:
    """Return laws by name; a name that occurs twice gets a number."""
    if not isinstance(laws, Sequence) or not laws or not all(isinstance(law, Law) for law in laws):
        raise TaupiError("{laws} is {got!r}, expected control laws: [taupi.SlotineLi(robot), ...].", got=laws)
    names = [law.name for law in laws]
    return {
        name if names.count(name) == 1 else f"{name} {names[: k + 1].count(name)}": law
        for k, (name, law) in enumerate(zip(names, laws, strict=True))
    }


def _worst_joint(summary: RunSummary) -> np.ndarray:
    assert summary.late_error is not None
    return np.where(summary.complete, summary.late_error.max(axis=1), np.inf)


def percent(share: float) -> str:
    """Return a share in percent, in four digits, or in as many as it takes to tell it from all.

    >>> percent(0.25), percent(255 / 256), percent(1 - 1e-6), percent(1.0)
    ('25 %', '99.61 %', '99.9999 %', '100 %')
    """
    texts = (f"{100 * share:.{digits}g}" for digits in range(4, 17))
    return f"{next((text for text in texts if share == 1 or float(text) < 100), '100')} %"


def _shown(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.3g}"


def uncertain_links(robot: Robot, spread: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the parameters of `count` arms, (count, 10 per link): those of the `robot`, changed at random by about `spread`.

    Each link's pseudo-inertia P becomes A P A^T with A = [[1 + s G, s l g], [0, 1 + s g_0]], where s = `spread` / 2, l is the
    link's size, and G, g, g_0 are standard normal: mass, centre and inertia change together, and what was a real body stays one,
    since a congruence keeps P positive semidefinite (Wensing et al. 2018). `rng` is the random generator.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> links = uncertain_links(arm, 0.2, 100, np.random.default_rng(0))
    >>> links.shape, bool(0.1 < (links[:, 0] / arm.parameters.values[0]).std() < 0.3)
    ((100, 20), True)
    """
    bodies = robot.parameters.values.reshape(-1, 10)
    result = np.empty((count, *bodies.shape))
    for k, body in enumerate(bodies):
        p = pseudo_inertia(body.tolist())
        size = np.sqrt(max(np.trace(p[:3, :3]), 0.0) / p[3, 3]) if p[3, 3] > 0 else 0.0
        a = np.tile(np.eye(4), (count, 1, 1))
        draws = rng.standard_normal((count, 13)) * spread / 2
        a[:, :3, :3] += draws[:, :9].reshape(count, 3, 3)
        a[:, :3, 3] = size * draws[:, 9:12]
        a[:, 3, 3] += draws[:, 12]
        result[:, k] = bodies_of(a @ p @ a.transpose(0, 2, 1))
    return result.reshape(count, -1)
