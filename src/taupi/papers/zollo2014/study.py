"""Zollo, Lopez, Spedaliere, Garcia Aracil & Guglielmelli (2014): identification of robots with elastic joints, rerun."""

from __future__ import annotations

from taupi.papers.study import PublishedStudy, Reproduction, Step, in_part
from taupi.papers.zollo2014 import optimised as optimised_study
from taupi.papers.zollo2014 import planar as planar_study
from taupi.papers.zollo2014 import published
from taupi.papers.zollo2014 import puma as puma_study
from taupi.papers.zollo2014.equations import equation_rows
from taupi.papers.zollo2014.optimised import optimised_notes, optimised_pictures, optimised_tables
from taupi.papers.zollo2014.planar_rows import (
    estimate_rows,
    planar_pictures,
    planar_rows,
    planar_tables,
    seen_friction,
)
from taupi.papers.zollo2014.published import SEARCH
from taupi.papers.zollo2014.puma import puma_pictures, puma_rows, puma_tables
from taupi.papers.zollo2014.singles import (
    LITERAL,
    MOTIONS,
    PUMA_MOTIONS,
    READINGS,
    Singles,
    puma_single_rows,
    single_puma,
)


def notes(
    planar: planar_study.PlanarOutcome, singles: Singles, puma: dict[int, puma_study.PumaOutcome]
) -> tuple[str, ...]:
    """Return what could not be reproduced and why, and what to know."""
    floors = [planar_study.friction_floor(planar.planar.curve, slowest=slowest) for slowest in published.FRICTION_FLOOR]
    slowest = " and ".join(
        f"{floor:.3g} from {v:g} rad/s on" for v, floor in zip(published.FRICTION_FLOOR, floors, strict=True)
    )
    steps = ", ".join(f"{c:.2g}" for c in puma[60].puma.counts(puma[60].run)[3:])
    return (
        matched(singles),
        "The literal reading: positions counted, a zero-phase Butterworth filter of order 5 at 20 Hz on q, theta and u, "
        "two-point central differences taken twice, samples left out if all motors are slower than 0.5 rad/s, ordinary least "
        "squares, the normalised mean error with signs. What the text leaves open is compared in a table: backward differences "
        "give estimates further off than printed, and with samples left out if any motor is slow, some more parameters are.",
        f"Motions, postures, sizes and gains are not printed. They are drawn: {len(singles.each)} quintic B-splines of 12 to 60 "
        "control points in a range of 0.5 to 4 rad about any posture, under gains of one to four times (3000, 1800) and their "
        "roots times (150, 60). A printed figure agrees if it lies among the middle 95 % of these. That says that it could "
        "be one of them, and no more.",
        "Most of the error is definition, not estimation. Real values are f_2 and f_1 of the curve (43), but at speeds that "
        f"count the curve is seen as a line with others, such as {seen_friction(planar)} above 0.5 rad/s. For an unbiased fit, "
        f"friction's part of the error without signs is at least {slowest}, by linear programming over all chords of it. With "
        f"two Stribeck columns of known shape the error is {planar.nme('spline, Stribeck columns, WLS')[0]:.4f}.",
        f"Table 2 at 20, 70 and 80 dB is not explained: {SEARCH}. From 70 dB to 100 dB errors grow with "
        "the power of the noise, as printed. We know no reason for the sizes.",
        "Our own reference runs are other motions: triangle waves of seeds 100 to 105, of which a sample is left out if any "
        "motor is slow. Recommended means fourth-order central differences and weighted least squares, a weight for each row.",
        "Neither k_m nor the friction curve of the PUMA's motors is printed: gear ratios of the literature are taken, and "
        "Coulomb and viscous friction.",
        f"The springs of the PUMA's wrist deflect by {steps} counts of the encoder at most, so K of joints 4 to 6 is found "
        "badly or not at all with that encoder, and so is viscous friction there, whatever the estimator.",
        "Of the PUMA's 84 parameters only combinations can be found: 60 with gravity along the first axis, 62 across it. "
        "The printed single values are put together to combinations in the tables of base parameters.",
    )


def matched(singles: Singles) -> str:
    """Return how much of Table 1 is met by the readings that the text allows, in words."""
    rows = {name: estimate_rows(singles, name) for name in READINGS}
    near = {name: sum(row.agrees for row in several) for name, several in rows.items()}
    missed = ", ".join(row.what.partition(",")[0] for row in rows[LITERAL] if not row.agrees)
    others = "; ".join(f"{name}: {count}" for name, count in near.items() if name != LITERAL)
    return (
        f"Of the {len(rows[LITERAL])} estimates of Table 1, {near[LITERAL]} are such as single motions of ours give by the "
        f"literal reading; {missed or 'none'} is not. By other readings it is fewer ({others})."
    )


def run(step: Step) -> Reproduction:
    """Rerun both studies, and both once more with optimised motions."""
    planar = planar_study.experiment(step)
    step("two joints: single motions")
    singles = Singles.of(planar.planar.bench, MOTIONS)
    puma = {count: puma_study.experiment(step, count) for count in puma_study.GRAVITY}
    step("PUMA: single motions")
    wrists = Singles.of(puma[62].puma.bench, PUMA_MOTIONS, single_puma)
    better = optimised_study.experiment(step, planar, puma)
    step("equations")
    equations = in_part("Equations as printed, at a random state of an arm of three elastic joints", equation_rows())
    rows = (
        *equations,
        *planar_rows(planar, singles),
        *puma_rows(puma, puma_single_rows(wrists, float(puma[62].errors("central").mean()))),
    )
    tables = planar_tables(planar, singles) | puma_tables(puma) | optimised_tables(better)
    pictures = (*planar_pictures(planar, singles), *puma_pictures(puma), *optimised_pictures(better))
    return Reproduction(STUDY, rows, tables, pictures, (*notes(planar, singles, puma), *optimised_notes(better)))


STUDY = PublishedStudy(
    name="zollo2014",
    document="Zollo, Lopez, Spedaliere, Garcia Aracil, Guglielmelli: Identification of dynamic parameters for robots with "
    "elastic joints",
    reruns="equations (1) to (45), A and B; two joints and PUMA 560 with elastic joints: single motions, pipelines, noise; "
    "optimised motions; each parameter and the mean error",
    seconds=120,
    steps=18,
    run=run,
)
