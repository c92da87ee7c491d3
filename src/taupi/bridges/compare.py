"""Models of other engines compared with a fit on logs."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from taupi.bridges.mujoco.engine import MujocoModel
from taupi.bridges.mujoco.write import MjcfExport
from taupi.bridges.unplaced import listed
from taupi.errors import unknown
from taupi.identification.friction.fitted_terms import coulomb_of
from taupi.identification.results.fit import Fit
from taupi.identification.results.other_models import ModelComparison, Torque, compare_models, without_memory
from taupi.identification.rows.preparation import PREDICTION_CHANGES
from taupi.model.robot import Robot
from taupi.settings import takes
from taupi.signals.read import LogLike
from taupi.signals.reading import Reading

# rad/s or m/s: motions spend little of their time below this speed.
_SLOW = 0.1

# By name: makes, from the path of a model and its robot, a function from q, qd, qdd (N, n) to torques (N, n).
ENGINES: dict[str, Callable[[str | os.PathLike[str], Robot], MujocoModel]] = {"mujoco": MujocoModel.of}


@takes(reading=Reading, preparation=PREDICTION_CHANGES)
def compare_with(
    fit: Fit,
    engine: str,
    model: str | os.PathLike[str],
    log: LogLike,
    *,
    reading: Reading,
    preparation: Mapping[str, Any],
) -> ModelComparison:
    """Return the torques of another engine's model on a `log`, beside those of a `fit`: joint by joint, with what differs.

    `engine` is "mujoco", `model` the path of its model, whose joints are found by name. The log, or the file that holds it, is
    prepared as the fit's own logs were, except for the settings named here; all torques pass the same filter.

    >>> import tempfile, numpy as np, taupi as tp
    >>> arm, t = tp.load("ur10").with_friction(viscous=5.0), np.arange(1500)[:, None] / 100
    >>> w = np.array([1.0, 1.7, 1.3, 2.1, 1.9, 2.3])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm, terms="viscous")(q, qd, qdd))
    >>> fit = tp.identify(arm, log, terms=("viscous",), cutoff_hz=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = tp.write_mjcf(arm.with_friction(viscous=3.0), f"{folder}/arm.xml")  # a simulator that somebody guessed
    ...     seen = tp.bridges.compare_with(fit, "mujoco", f"{folder}/arm.xml", log)
    >>> bool(seen.fit.relative < 1e-3 < seen.others["mujoco"].relative), round(seen.differences[5].values[1], 2)
    (True, -2.0)
    """
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    other = ENGINES[engine](model, fit.robot)
    seen = compare_models(fit, {engine: other}, log, reading, preparation)
    words = _words_of_soft_friction(other)
    return dataclasses.replace(seen, legend={engine: words}) if words else seen


@takes(reading=Reading, preparation=PREDICTION_CHANGES)
def check_mjcf(
    fit: Fit, export: MjcfExport, log: LogLike, *, reading: Reading, preparation: Mapping[str, Any]
) -> ModelComparison:
    """Return what taking a `fit` to MuJoCo costs on a `log`: its error, step by step from the fit to MuJoCo's torques.

    `export` is what `taupi.write_mjcf` returned. The steps are "placed", without the parameters that MJCF has no place for;
    "no memory", with dry friction that depends only on the present speed, whereas that of the fit depends on the earlier
    motion; and "mujoco", MuJoCo's own inverse dynamics of the file. Steps that change nothing are left out. Logs are prepared as
    by `compare_with`.

    >>> import tempfile, numpy as np, taupi as tp
    >>> arm, t = tp.load("ur10").with_friction(viscous=5.0), np.arange(1500)[:, None] / 100
    >>> w = np.array([1.0, 1.7, 1.3, 2.1, 1.9, 2.3])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm, terms="viscous")(q, qd, qdd))
    >>> fit = tp.identify(arm, log, terms=("viscous",), cutoff_hz=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     seen = tp.bridges.check_mjcf(fit, tp.write_mjcf(fit, f"{folder}/arm.xml"), log)
    >>> list(seen.others), bool(seen.others["mujoco"].relative < 1e-3)
    (['mujoco'], True)
    """
    models: dict[str, Torque | Fit] = {}
    legend: dict[str, str] = {}
    written = fit if export.source.base is None else dataclasses.replace(fit, values=export.source.base)
    if export.lost:
        models["placed"] = written
        legend["placed"] = f"the fit without the {len(export.lost)} parameters that have no place in MJCF"
    if any(coulomb is not None and np.any(coulomb.distance) for coulomb in map(coulomb_of, fit.terms)):
        legend["no memory"] = (
            f"{'the same' if models else 'the fit'}, with dry friction that follows the speed of the moment"
        )
        models["no memory"] = without_memory(written)
    models["mujoco"] = engine = MujocoModel.of(export.path, fit.robot)
    words = _words_of_soft_friction(engine)
    legend["mujoco"] = "MuJoCo's inverse dynamics of the file" + (f"; {words}" if words else "")
    return dataclasses.replace(compare_models(fit, models, log, reading, preparation), legend=legend)


def _words_of_soft_friction(engine: MujocoModel) -> str:
    """Return which joints have their full dry friction only at higher speeds, and what hardens it; nothing if there are none."""
    soft = [f"{name} {speed:.2g}" for name, speed in engine.soft_friction().items() if speed > _SLOW]
    if not soft:
        return ""
    return (
        f"its dry friction yields, and is complete only above these speeds (rad/s, m/s): {listed(soft)}; solreffriction and "
        "solimpfriction of the joints harden it"
    )
