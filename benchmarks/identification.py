"""From a log to base parameters: ours beside FIGAROH, on the same log of the same arm, in one run."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import peers
import pinocchio as pin
from pages import ratio
from stand_ins import timing

import taupi as tp
from taupi.threads import one_blas_thread

RATE, NOISE = 1000.0, 0.2  # Hz; N m
TERMS = ("rotor", "viscous", "coulomb", "offset")
SETTINGS = {
    "is_joint_torques": True, "is_external_wrench": False, "force_torque": None, "has_coupled_wrist": False,
    "has_friction": True, "has_actuator_inertia": True, "has_joint_offset": True,
}  # fmt: skip


def motion(n: int, seed: int, samples: int) -> tuple[np.ndarray, ...]:
    """Return time, q, qd, qdd: five sines a joint."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / RATE
    w, phase = rng.uniform(0.5, 6.0, (5, n)), rng.uniform(0, 2 * np.pi, (5, n))
    a = rng.uniform(0.2, 0.7, (5, n)) / w
    angle = w * t[:, None, None] + phase
    parts = a * np.sin(angle), a * w * np.cos(angle), -a * w * w * np.sin(angle)
    return t, *(p.sum(axis=1) for p in parts)


def truth(robot: tp.Robot) -> tp.Robot:
    """Return the arm that makes the log: with friction and rotors, which the description does not have."""
    ones = np.ones(robot.n)
    arm = robot.with_friction(viscous=0.5 * ones, coulomb=0.4 * ones, offset=0.1 * ones)
    return arm.with_transmissions(rotor_inertia=0.05 * ones)


def figaroh_robot(model: pin.Model) -> Any:
    """Return what FIGAROH takes for a robot."""
    return SimpleNamespace(model=model, data=model.createData(), q0=pin.neutral(model), v0=np.zeros(model.nv))


def figaroh_workflow(model: pin.Model, log: tp.Log, cutoff_hz: float) -> Any:
    """Return FIGAROH's own workflow on a log in memory, with our cutoff: the class that its users derive from."""
    from figaroh.identification.base_identification import BaseIdentification

    class Workflow(BaseIdentification):
        def load_param(self, config_file: str, setting_type: str = "identification") -> None:
            filters = {"nbutter": 4, "f_butter": cutoff_hz, "med_fil": 5, "f_sample": RATE}
            own = {"differentiation_method": "gradient", "filter_params": filters}
            places = {"act_idxq": list(range(model.nq)), "act_idxv": list(range(model.nv))}
            self.identif_config = SETTINGS | places | {"active_joints": list(model.names[1:]), "filter_config": own}

        def load_trajectory_data(self, data_source: str | None = None) -> dict[str, Any]:
            none = {"velocities": None, "accelerations": None}
            return {"timestamps": log.time, "positions": log.q, "torques": log.tau} | none

    return Workflow(figaroh_robot(model))


def figaroh_from_log(model: pin.Model, log: tp.Log, cutoff_hz: float) -> Any:
    """Return FIGAROH's workflow, done: filter, differentiate, stack, decimate, decompose, weigh."""
    work = figaroh_workflow(model, log, cutoff_hz)
    with contextlib.redirect_stdout(io.StringIO()):
        work.initialize()
        work.solve(plotting=False, wls=True)
    return work


def figaroh_from_rows(model: pin.Model, log: tp.Log) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return FIGAROH's base parameters of a prepared log, their map from its standard ones, and its predicted torque."""
    from figaroh.identification.parameter import add_standard_additional_parameters, get_standard_parameters
    from figaroh.tools.qrdecomposition import QRDecomposer
    from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced, get_index_eliminate

    settings = SETTINGS | {"act_idxv": list(range(model.nv))}
    W = build_regressor_basic(figaroh_robot(model), log.q, log.qd, log.qdd, settings)
    names = get_standard_parameters(model, settings) | add_standard_additional_parameters(model, settings)
    gone, kept = get_index_eliminate(W, names, 1e-6)
    decomposer = QRDecomposer()
    base, _, _, values, *_ = decomposer.double_decomposition(
        log.tau.T.ravel(), build_regressor_reduced(W, gone), kept, names
    )
    full = np.zeros((len(values), W.shape[1]))
    full[:, np.delete(np.arange(W.shape[1]), gone)] = decomposer.get_M()
    return np.ravel(values), full, (np.asarray(base) @ np.ravel(values)).reshape(model.nv, -1).T


def in_our_base(basis: tp.BaseParameters, n: int, values: np.ndarray, full: np.ndarray) -> np.ndarray:
    """Return FIGAROH's base parameters as ours: both are combinations of the same standard ones, in another order.

    Rows of both maps span the same space, B = T M, so that B pi = T (M pi).
    """
    inertial = [10 * i + k for i in range(n) for k in (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)]  # Pinocchio's order, to ours
    viscous, coulomb, rotor, offset = (list(range((10 + k) * n, (11 + k) * n)) for k in range(4))
    order = {"rotor": rotor, "viscous": viscous, "coulomb": coulomb, "offset": offset}
    columns = inertial + [i for name in TERMS for i in order[name]]
    change, *_ = np.linalg.lstsq(full[:, columns].T, basis.projection.T, rcond=None)
    assert np.abs(full[:, columns].T @ change - basis.projection.T).max() < 1e-6, "other combinations than ours"
    return change.T @ values


def seconds(run: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def best(run: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several runs, in seconds."""
    return min(seconds(run) for _ in range(repeats))


def with_verdict(run: Callable[[], object], repeats: int) -> dict[str, float]:
    """Return the shortest time of several runs, and of that run the part that its verdict took, in seconds."""
    from taupi.identification.verdict import judge as room

    spent, times = list[float](), list[tuple[float, float]]()
    with timing(room, "judge", lambda wall, _: spent.append(wall)):
        for _ in range(repeats):
            times.append((seconds(run), spent[-1]))
    whole, verdict = min(times)
    return {"ours": whole, "verdict": verdict}


def measure(short: bool) -> dict[str, Any]:
    """Return seconds and errors of both, of both arms; without FIGAROH ours alone."""
    logging.getLogger("figaroh").setLevel(logging.ERROR)
    # Ours limits BLAS to one thread; the peer gets the same, or the ratio would be that of waiting threads.
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        return {name: measure_arm(name, 20_000 if short else 60_000, 2 if short else 5) for name in peers.ARMS}


def measure_arm(name: str, samples: int, repeats: int) -> dict[str, Any]:
    """Return seconds and errors of one arm."""
    path, lock = peers.ARMS[name]
    robot, model = tp.Robot.from_urdf(path, lock=lock), peers.pinocchio_model(path, lock)
    exact = tp.inverse_dynamics(truth(robot), terms=TERMS)
    t, q, qd, qdd = motion(robot.n, 0, samples)
    rng = np.random.default_rng(1)
    log = tp.Log(t, q, tau=exact(q, qd, qdd) + NOISE * rng.normal(size=q.shape), names=robot.joint_names)
    tp.identify(tp.load("elbow2r"), tp.Log(t[:2000], q[:2000, :2], tau=q[:2000, :2]))  # modules are imported
    cutoff = tp.signals.choose_cutoff(log.q, log.rate_hz).hz
    same = {
        "estimator": "wls",
        "cutoff_hz": cutoff,
        "slow": 0.0,
        "terms": TERMS,
    }  # what the peer does: its cutoff given, friction by sgn
    fit = tp.identify(robot, log, **same)
    prepared = tp.prepare(log, cutoff_hz=cutoff)
    plain = tp.identify(robot, prepared, "ols", TERMS, slow=0)
    _, *other = motion(robot.n, 7, 5000)
    want, y = exact(*other), fit.basis.regressor()(*other)
    result: dict[str, Any] = {
        "samples": samples,
        "rows": len(prepared),
        "parameters": len(fit.values),
        # A robot of another name is another one to all that remembers traces and machine code.
        "first": min(seconds(lambda: tp.identify(renamed(robot, k), log, **same)) for k in range(repeats)),  # noqa: B023
        "defaults": with_verdict(lambda: tp.identify(robot, log), repeats),
        "log": {
            "ours": best(lambda: tp.identify(robot, log, **same), repeats),
            "our error": relative(want, y @ fit.values),
        },
        "rows only": {
            **with_verdict(lambda: tp.identify(robot, prepared, "ols", TERMS, slow=0), 2 * repeats),
            "our error": relative(
                prepared.tau, plain.basis.regressor()(prepared.q, prepared.qd, prepared.qdd) @ plain.values
            ),
        },
    }
    if not peers.has_figaroh():
        return result
    work = figaroh_from_log(model, log, cutoff)
    values, full, torque = figaroh_from_rows(model, prepared)
    result["log"] |= {
        "figaroh": best(lambda: figaroh_from_log(model, log, cutoff), min(repeats, 2)),
        "figaroh error": relative(want, y @ in_our_base(fit.basis, robot.n, work.phi_base, workflow_map(work))),
    }
    result["rows only"] |= {
        "figaroh": best(lambda: figaroh_from_rows(model, prepared), repeats),
        "figaroh error": relative(prepared.tau, torque),
        "difference": relative(plain.values, in_our_base(plain.basis, robot.n, values, full)),
    }
    return result


def renamed(robot: tp.Robot, number: int) -> tp.Robot:
    """Return the robot by another name."""
    return dataclasses.replace(robot, name=f"{robot.name}{number}")


def workflow_map(work: Any) -> np.ndarray:
    """Return the map of a workflow's base parameters from all of FIGAROH's standard ones."""
    full = np.zeros((len(work.phi_base), len(work.standard_parameter)))
    full[:, np.delete(np.arange(full.shape[1]), work._idx_eliminated)] = work._M_matrix
    return full


def relative(tau: np.ndarray, other: np.ndarray) -> float:
    """Return |tau - other| / |tau|."""
    return float(np.linalg.norm(tau - other) / np.linalg.norm(tau))


TITLE = "Identification"


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the page's section."""
    log, rows = [], []
    for name, r in results.items():
        a, b = r["log"], r["rows only"]
        size = f"{name}, {r['parameters']} parameters"
        log.append(
            [size, f"{r['samples']}", _pair(r["first"], a.get("figaroh")), *_both(a), _with_verdict(r["defaults"])]
        )
        rows.append(
            [size, f"{r['rows']}", f"{b['verdict']:.3f}", *_both(b), f"{b.get('difference', float('nan')):.0e}"]
        )
    return [
        f"## {TITLE}",
        "",
        "From a log in memory, q and torque at 1 kHz with noise, to base parameters with rotor inertia, viscous and dry",
        "friction and offset, the cutoff given to both. Ours is weighted least squares with friction by sgn: cleaned, filtered,",
        "differentiated, columns filtered like the torque, compressed, with standard errors that allow for correlated noise.",
        "FIGAROH's is its `BaseIdentification`: filter, differences, stacked matrix, decimation by ten, QR, weighted least",
        "squares. Both have one thread of BLAS, with which FIGAROH is the faster too. Seconds; modules were imported before.",
        "First use adds the exact base parameters, the trace and the compilation, with the cache on disk switched off. The",
        "error is that of the torque, without noise, of a motion that",
        "neither has seen: the norm of the difference over the norm of the torque. The last column is `tp.identify(robot, log)`",
        "as it is, which also chooses cutoff and shapes of friction, and stays among robots that can exist.",
        "",
        *table(
            [
                "arm",
                "samples",
                "first use: ours, ratio",
                "ours again",
                "FIGAROH",
                "ratio",
                "our error",
                "FIGAROH's",
                "with our defaults (of it the verdict)",
            ],
            log,
        ),
        "",
        "The same prepared rows given to both, ordinary least squares: what is left of the torque, and the difference of the",
        "base parameters, FIGAROH's written in ours by the two exact maps. Ours also says how far the fit can be trusted: of our",
        "time, the verdict, which tries likely mistakes in the log on parts that were left out, takes what its column says.",
        "",
        *table(
            [
                "arm",
                "rows per joint",
                "our verdict",
                "ours, with it",
                "FIGAROH",
                "ratio",
                "our residual",
                "FIGAROH's",
                "difference",
            ],
            rows,
        ),
    ]


def _pair(ours: float, theirs: float | None) -> str:
    return f"{ours:.2f}" + (f", {ratio(theirs, ours)}" if theirs else "")


def _with_verdict(r: dict[str, float]) -> str:
    return f"{r['ours']:.2f} ({r['verdict']:.2f})"


def _both(r: dict[str, float]) -> list[str]:
    ours, theirs = r["ours"], r.get("figaroh", float("nan"))
    errors = [f"{r[k]:.2%}" if k in r else "-" for k in ("our error", "figaroh error")]
    return [f"{ours:.3f}", f"{theirs:.2f}", ratio(theirs, ours), *errors]
