"""The study: uncertain arms under control laws with given gains, and the share that converges."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.checks import not_negative, positive, whole_number
from taupi.control.law import Law
from taupi.control.laws.computed_torque import ComputedTorque
from taupi.control.laws.pd_gravity import PDGravity
from taupi.control.laws.slotine_li import SlotineLi
from taupi.errors import Argument, TaupiError, shown
from taupi.files import path_of, refuse_to_overwrite, write_text
from taupi.model.robot import Robot
from taupi.progress import progress
from taupi.robustness.uncertain_links import uncertain_links
from taupi.settings import takes
from taupi.simulation.default_motions import swing
from taupi.simulation.horizon import Horizon
from taupi.simulation.plants.rigid_plant import RigidPlant
from taupi.simulation.references import ReferenceLike, as_reference
from taupi.simulation.run import Run
from taupi.simulation.run_summary import RunSummary
from taupi.simulation.simulate import simulate_many, simulate_summary
from taupi.tables import table

_HORIZON = Horizon()
QUANTILES = (0.5, 0.9, 0.99)
_OFFSET = 0.1  # largest initial distance of an arm from the reference, rad or m


@dataclass(frozen=True, eq=False)
class RobustnessStudy:
    """How uncertain arms performed under each law.

    `summaries` has a `RunSummary` for each law's name; roll-out k is the same arm, from the same start, under all of them:
    `links` (B, 10 per link) are its parameters, `initial` (B, n) its start. A roll-out counts as converged if its late rms
    error is below `within` (rad or m) at every joint. `worst` has the run of the worst arm under each law. `robot` is
    the model in the laws, `spread` how far the arms are from it, and `seed` the seed of the arms and their starts.
    """

    robot: Robot
    summaries: Mapping[str, RunSummary]
    links: np.ndarray
    initial: np.ndarray
    worst: Mapping[str, Run]
    within: float
    spread: float
    seed: int

    def share(self, law: str) -> float:
        """Return the share of the roll-outs that converged under the `law` of this name."""
        return float(self.summaries[law].converged(self.within).mean())

    def errors(self, law: str) -> np.ndarray:
        """Return the late rms error of the worst joint under a `law`, sorted (B,); infinite for roll-outs that diverged."""
        return np.sort(_worst_joint(self.summaries[law]))

    @property
    def unit(self) -> str:
        """The unit of errors: "rad" or "m", or "rad or m" for an arm that has joints of both kinds."""
        units = set(next(iter(self.summaries.values())).units)
        return units.pop() if len(units) == 1 else "rad or m"

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain data: settings, and for each law its share, quantiles and worst arm."""
        first = next(iter(self.summaries.values()))
        laws = {}
        for name, summary in self.summaries.items():
            errors = _worst_joint(summary)
            k = int(np.argmax(errors))
            laws[name] = {
                "converged": self.share(name),
                "diverged": int((~summary.complete).sum()),
                "late_error": {f"{q:g}": _number(np.quantile(errors, q, method="higher")) for q in QUANTILES},
                "worst": {"roll_out": k, "late_error": _number(errors[k]), "links": self.links[k].tolist()},
                "peak_torque": summary.peak_torque.max(axis=0).tolist(),
            }
        return {
            "robot": self.robot.name,
            "roll_outs": len(self.links),
            "spread": self.spread,
            "within": self.within,
            "seed": self.seed,
            "late_from": first.late,
            "laws": laws,
            "provenance": dict(first.provenance),
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
        head = f"{len(self.links)} arms that differ from {self.robot.name} by about {100 * self.spread:g} %, "
        return "\n".join([f"{head}converged where late errors stay below {self.within:g}", *table(self.rows())])

    def write(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the study as one HTML page to `path`; an existing file is kept unless `force` is true."""
        from taupi.robustness.page import study_page

        file = path_of(path, "the path of a page")
        if file.suffix.lower() not in (".html", ".htm"):
            raise TaupiError(Argument("path"), f" is {str(file)!r}, expected a name ending in .html.")
        refuse_to_overwrite(file, force)
        write_text(file, study_page(self), force)


@takes(horizon=Horizon)
def robustness(
    robot: Robot,
    laws: Sequence[Law] | None = None,
    reference: ReferenceLike | None = None,
    horizon: Horizon = _HORIZON,
    *,
    roll_outs: int = 256,
    spread: float = 0.2,
    within: float = 0.05,
    seed: int = 0,
    threads: int | None = None,
    device: str = "cpu",
) -> RobustnessStudy:
    """Return a RobustnessStudy: simulated arms whose links differ from the model in the control laws, and how they performed.

    `robot`: the model in the laws. The links of the arms differ from it at random, and are physically possible.
    `laws`: by default PD with gravity, computed torque and Slotine and Li's law, each with its default gains.
    `reference`: a motion to follow; by default each joint swings by half a radian (or 0.1 m) or up to its limits, at its own
        frequency.
    `roll_outs`: how many arms.
    `spread`: how much their parameters differ, as a share.
    `within`: the rms error in the last fifth of the time, rad or m, below which a roll-out counts as converged, at every joint.
    `seed`: seed of the arms and of their initial positions, up to 0.1 rad (or m) from the reference.
    `threads` and `device`: as in `simulate_many`; on a GPU a hundred thousand roll-outs take minutes.

    >>> import taupi as tp
    >>> study = tp.ensembles.robustness(tp.load("elbow2r"), duration=1.0, rate=500, roll_outs=8)
    >>> list(study.summaries), 0 <= study.share("slotine_li") <= 1
    (['pd_gravity', 'computed_torque', 'slotine_li'], True)
    """
    if not isinstance(robot, Robot):
        raise TaupiError(Argument("robot"), f" is {type(robot).__name__}, expected a Robot: use taupi.load(...).")
    count = whole_number("roll_outs", roll_outs)
    not_negative("spread", spread)
    positive("within", within)
    chosen = _named([PDGravity(robot), ComputedTorque(robot), SlotineLi(robot)] if laws is None else laws)
    motion = swing(robot) if reference is None else reference
    rng = np.random.default_rng(seed)
    links = uncertain_links(robot, spread, count, rng)
    start = as_reference(motion, robot.n)(np.zeros(1)).q + rng.uniform(-_OFFSET, _OFFSET, (count, robot.n))
    plant, summaries, worst = RigidPlant(robot), {}, {}
    with progress("robustness", len(chosen)) as step:
        for name, law in chosen.items():
            step(name)
            summary = simulate_summary(
                plant, law, motion, horizon=horizon, initial=start, links=links, threads=threads, device=device
            )
            k = int(np.argmax(_worst_joint(summary)))
            summaries[name] = summary
            worst[name] = _rerun(plant, law, motion, horizon, start[k : k + 1], links[k : k + 1])
    return RobustnessStudy(robot, summaries, links, start, worst, float(within), float(spread), int(seed))


def _rerun(
    plant: RigidPlant, law: Law, motion: ReferenceLike, horizon: Horizon, start: np.ndarray, links: np.ndarray
) -> Run:
    """Return the run of one arm, without a warning if it diverges."""
    import warnings

    from taupi.errors import TaupiWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        return simulate_many(plant, law, motion, horizon=horizon, initial=start, links=links)[0]


def _named(laws: Sequence[Law]) -> dict[str, Law]:
    """Return laws by name; a name that occurs twice gets a number."""
    if not isinstance(laws, Sequence) or not laws or not all(isinstance(law, Law) for law in laws):
        raise TaupiError(Argument("laws"), f" is {shown(laws)}, expected control laws: [taupi.SlotineLi(robot), ...].")
    names = [law.name for law in laws]
    return {
        name if names.count(name) == 1 else f"{name} {names[: k + 1].count(name)}": law
        for k, (name, law) in enumerate(zip(names, laws, strict=True))
    }


def _worst_joint(summary: RunSummary) -> np.ndarray:
    assert summary.late_error is not None
    return np.where(summary.complete, summary.late_error.max(axis=1), np.inf)


def _number(value: float) -> float | None:
    """Return a number that JSON can represent: None for a roll-out that diverged."""
    return float(value) if np.isfinite(value) else None


def percent(share: float) -> str:
    """Return a share in percent, in four digits, or in as many as it takes to tell it from all.

    >>> percent(0.25), percent(255 / 256), percent(1 - 1e-6), percent(1.0)
    ('25 %', '99.61 %', '99.9999 %', '100 %')
    """
    texts = (f"{100 * share:.{digits}g}" for digits in range(4, 17))
    return f"{next((text for text in texts if share == 1 or float(text) < 100), '100')} %"


def _shown(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.3g}"
