"""Simulated fleets of Pandas: how near parameters come, how often intervals cover, and which faults are found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import taupi as tp
from taupi.identification.fleet import identify_fleet as verb
from taupi.identification.fleet.arm_rows import FleetRows, WeightedArms, solve_arrow

TERMS, OWN = ("rotor", "viscous", "coulomb", "offset"), ("viscous", "coulomb", "offset")
SETTINGS: dict[str, Any] = {"cutoff_hz": 12.0}
RATE_HZ, NOISE, SPREAD = 500.0, 0.3, 0.25
FAULT = 2.5  # times the friction of the arm
FAULTS = ((7, 3, "coulomb"), (23, 1, "viscous"), (41, 5, "coulomb"))  # arm, joint, kind
HELD_OUT_S = 6.0
LIMIT = 5.0  # of |z|
WAYS = ("separate", "pooled", "drawn to the fleet")


@dataclass(frozen=True, eq=False)
class SimulatedFleet:
    """Arms with the same links and friction of their own, (arms, n) by kind, and their logs."""

    friction: dict[str, np.ndarray]
    logs: dict[str, list[tp.Log]]

    @classmethod
    def of(cls, arms: int, seconds: float, seed: int, rate_hz: float = RATE_HZ, onset: bool = False) -> SimulatedFleet:
        """Return a fleet: friction differs by 25 % from arm to arm, noise of 0.3 N m is correlated, three arms have a fault.

        With `onset`, each arm has two logs of half the length, and the fault comes between them.
        """
        rng, robot = np.random.default_rng(seed), _geared()
        sizes, n = {"viscous": 0.5, "coulomb": 0.4}, robot.n
        friction = {kind: size * np.exp(SPREAD * rng.normal(size=(arms, n))) for kind, size in sizes.items()}
        friction["offset"] = 0.1 * rng.normal(size=(arms, n))
        before = {kind: values.copy() for kind, values in friction.items()}
        for arm, joint, kind in FAULTS:
            if arm < arms:
                friction[kind][arm, joint] *= FAULT
        torque, logs = tp.inverse_dynamics(robot, terms=("rotor",)), dict[str, list[tp.Log]]()
        for k in range(arms):
            for now in (before, friction) if onset else (friction,):
                t, q, qd, qdd = _motion(rng, n, seconds / (2 if onset else 1), rate_hz)
                tau = torque(q, qd, qdd) + now["viscous"][k] * qd + now["offset"][k]
                tau += now["coulomb"][k] * np.sign(qd) + NOISE * _correlated(rng, q.shape)
                logs.setdefault(f"arm-{k}", []).append(tp.Log(t, q, tau=tau, names=robot.joint_names))
        return cls(friction, logs)

    def truth(self, basis: Any) -> np.ndarray:
        """Return the base parameters (arms, b) that the arms really have."""
        robot = _geared().with_friction(viscous=1.0, coulomb=1.0, offset=1.0)
        standard = tp.base_parameters(robot, terms=TERMS).standard
        assert standard.names == basis.standard.names
        values = np.tile(standard.values, (len(self.logs), 1))
        for kind, own in self.friction.items():
            values[:, [standard.names.index(f"{joint}.{kind}") for joint in robot.joint_names]] = own
        return np.array([basis.project(each) for each in values])


def _geared() -> tp.Robot:
    return tp.load("panda").with_transmissions(rotor_inertia=0.05)


def _motion(rng: np.random.Generator, n: int, seconds: float, rate_hz: float) -> tuple[np.ndarray, ...]:
    """Return t, q, qd and qdd of three sines for each joint."""
    t, w, phase = np.arange(0, seconds, 1 / rate_hz), rng.uniform(1.0, 6.0, (3, n)), rng.uniform(0, 2 * np.pi, (3, n))
    a = rng.uniform(0.1, 0.4, (3, n)) / w
    sine, cosine = (a * f(w * t[:, None, None] + phase) for f in (np.sin, np.cos))
    return t, sine.sum(axis=1), (w * cosine).sum(axis=1), -(w * w * sine).sum(axis=1)


def _correlated(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return noise of unit variance whose neighbours have a correlation of 0.9."""
    from scipy.signal import lfilter

    start = 100
    return np.asarray(
        lfilter([np.sqrt(1 - 0.9**2)], [1, -0.9], rng.normal(size=(start + shape[0], shape[1])), axis=0)[start:]
    )


class _Watched:
    """What a call of `identify_fleet` had on its way: seconds for the logs and for the rest, and the rows of the arms."""

    def __init__(self, fleet: SimulatedFleet) -> None:
        build, weighted, apart, kept = verb.problem_of_logs, verb.weighted, verb.weighted_apart, dict[str, Any]()

        def timed(*args: Any) -> Any:
            start = time.process_time()
            problem = build(*args)
            kept["build"] = time.process_time() - start
            return problem

        def together(rows: FleetRows, *args: Any) -> WeightedArms:
            kept["rows"], kept["together"] = rows, weighted(rows, *args)
            return kept["together"]

        def separate(rows: FleetRows) -> Any:
            kept["apart"] = apart(rows)
            return kept["apart"]

        verb.problem_of_logs, verb.weighted, verb.weighted_apart = timed, together, separate
        try:
            start = time.process_time()
            self.fleet = tp.identify_fleet(tp.load("panda"), fleet.logs, OWN, TERMS, workers=1, **SETTINGS)
            self.solve = time.process_time() - start - kept["build"]
        finally:
            verb.problem_of_logs, verb.weighted, verb.weighted_apart = build, weighted, apart
        self.build: float = kept["build"]
        self._kept = kept

    def values(self) -> dict[str, np.ndarray]:
        """Return the base parameters (arms, b) by each way."""
        rows, prior = self._kept["rows"], self._kept["rows"].problem.prior_base
        priors = prior[list(rows.shared)], prior[list(rows.own)]
        alone = [solve_arrow([arm], [True], *priors) for arm in self._kept["apart"][0]]
        pooled = self._kept["together"].solution
        return {
            WAYS[0]: np.array([rows.values(each.own[0], each.shared.x) for each in alone]),
            WAYS[1]: np.array([rows.values(own, pooled.shared.x) for own in pooled.own]),
            WAYS[2]: np.array([fit.values for fit in self.fleet.values()]),
        }


def solve_time(arms: int) -> dict[str, float]:
    """Return seconds of one core that a fleet takes, for its logs and for the rest."""
    run = _Watched(SimulatedFleet.of(arms, 12.0, 0, rate_hz=100.0))
    return {"build": run.build, "solve": run.solve}


def measure(short: bool) -> dict[str, Any]:
    """Return errors, coverage and flags by the length of the logs."""
    arms, seeds = (10, 1) if short else (50, 3)
    return {str(s): _of_length(arms, s, range(seeds)) for s in ((12.0,) if short else (12.0, 40.0))}


def _of_length(arms: int, seconds: float, seeds: Sequence[int]) -> dict[str, Any]:
    """Return what fleets with logs of this length have, over several seeds."""
    squares = {way: {"torque": 0.0, "links": 0.0} | dict.fromkeys(OWN, 0.0) for way in WAYS}
    torques = links = count = covered = intervals = planted = healthy = 0.0
    found, false = (dict.fromkeys(("beside others", "beside itself"), 0) for _ in range(2))
    for seed in seeds:
        simulated = SimulatedFleet.of(arms, seconds, seed)
        run = _Watched(simulated)
        basis = next(iter(run.fleet.values())).basis
        truth, regressor = simulated.truth(basis), basis.regressor()
        kinds = [name.rpartition(".")[2] for name in basis.names]
        shared = [k for k, kind in enumerate(kinds) if kind not in OWN]
        rng = np.random.default_rng(1000 + seed)
        held_out = [regressor(*_motion(rng, 7, HELD_OUT_S, 100.0)[1:]) for _ in range(arms)]
        for way, values in run.values().items():
            error = values - truth
            squares[way]["torque"] += sum(float(np.sum((y @ e) ** 2)) for y, e in zip(held_out, error, strict=True))
            squares[way]["links"] += float(np.sum(error[:, shared] ** 2))
            for kind in OWN:
                squares[way][kind] += float(np.sum(error[:, [k == kind for k in kinds]] ** 2))
        torques += sum(float(np.sum((y @ x) ** 2)) for y, x in zip(held_out, truth, strict=True))
        links += float(np.sum(truth[:, shared] ** 2))
        count += arms * 7
        for k, fit in enumerate(run.fleet.values()):
            inside = (fit.intervals(0.95)[:, 0] < truth[k]) & (truth[k] < fit.intervals(0.95)[:, 1])
            own = [kind in OWN for kind in kinds]
            covered, intervals = covered + float(inside[own].sum()), intervals + sum(own)
        later = tp.identify_fleet(
            tp.load("panda"), SimulatedFleet.of(arms, seconds, seed, onset=True).logs, OWN, TERMS, workers=1, **SETTINGS
        )
        joints = tp.load("panda").joint_names
        faults = {(f"arm-{k}", f"{joints[j]}.{kind}") for k, j, kind in FAULTS if k < arms}
        planted, healthy = planted + len(faults), healthy + arms - len(faults)
        for way, rows in (("beside others", run.fleet.outliers(LIMIT)), ("beside itself", later.changes(LIMIT))):
            flagged = {(row.arm, row.parameter) for row in rows}
            found[way] += len(faults & flagged)
            false[way] += len({arm for arm, _ in flagged} - {arm for arm, _ in faults})
    sizes = {"torque": torques, "links": links} | dict.fromkeys(OWN, count)
    return {
        "errors": {way: {k: float(np.sqrt(v / sizes[k])) for k, v in each.items()} for way, each in squares.items()},
        "coverage": covered / intervals,
        "intervals": int(intervals),
        "found": found,
        "faults": int(planted),
        "false": false,
        "healthy": int(healthy),
        "arms": arms,
        "seeds": len(seeds),
    }


def lines(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the lines of the page."""
    rows, told = [], []
    for seconds, r in results.items():
        for way, e in r["errors"].items():
            own = ", ".join(f"{e[kind]:.3f}" for kind in OWN)
            rows.append([f"{float(seconds):.0f} s", way, own, f"{e['links']:.3f}", f"{100 * e['torque']:.2f} %"])
        shares = [f"{r['found'][way]} of {r['faults']}; {r['false'][way]} of {r['healthy']}" for way in r["found"]]
        told.append([f"{float(seconds):.0f} s", f"{100 * r['coverage']:.1f} % of {r['intervals']}", *shares])
    first = next(iter(results.values()))
    return [
        f"**How well.** {first['arms']} simulated Pandas with the same links; friction differs by {SPREAD:.0%} from arm",
        f"to arm ({first['seeds']} seeds); correlated noise of {NOISE} N m; in each fleet {len(FAULTS)} arms have {FAULT} times",
        "the friction in one joint. Separate fits, links from all arms, and own parameters drawn to the fleet besides. Root mean",
        "square errors of viscous, dry friction and offset; of links relative to their size; of the torque of a motion that was",
        "not fitted, without noise.",
        "",
        *table(["log of each arm", "fit", "viscous, dry, offset", "links", "torque held out"], rows),
        "",
        f"Faults found with z beyond {LIMIT:g}, and healthy arms flagged: beside other arms, where {FAULT} times an arm's",
        f"friction is ln {FAULT} / {SPREAD} = {np.log(FAULT) / SPREAD:.1f} deviations out; and beside its first log, half",
        "the length, after which the fault comes.",
        "",
        *table(
            ["log of each arm", "95 % intervals that cover", "beside other arms", "beside the arm's own earlier log"],
            told,
        ),
    ]
