"""Models of other engines compared with a fit on logs."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from taupi.bridges.driven_check import DrivenComparison, check_driven
from taupi.bridges.export import Export
from taupi.bridges.identified import listed
from taupi.bridges.mujoco.engine import MujocoModel
from taupi.bridges.mujoco.write import MjcfExport
from taupi.errors import TaupiError, unknown
from taupi.identification.friction.fitted_terms import coulomb_of
from taupi.identification.results.command_fit import CommandFit
from taupi.identification.results.fit import Fit
from taupi.identification.results.other_models import ModelComparison, Torque, compare_models, without_memory
from taupi.identification.rows.preparation import PredictionOptions, Preparation, settle_prediction
from taupi.model.robot import Robot
from taupi.signals.read import LogLike
from taupi.signals.reading import Reading

if TYPE_CHECKING:
    from typing_extensions import Unpack

# rad/s or m/s: motions spend little of their time below this speed.
_SLOW = 0.1

# By name: makes, from the path of a model and its robot, a function from q, qd, qdd (N, n) to torques (N, n).
ENGINES: dict[str, Callable[[str | os.PathLike[str], Robot], MujocoModel]] = {"mujoco": MujocoModel.of}


def compare_with(
    fit: Fit,
    engine: str,
    model: str | os.PathLike[str],
    log: LogLike,
    *,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[PredictionOptions],
) -> ModelComparison:
    """Return the torques of another engine's model on a log, beside a fit's: joint by joint, with what differs.

    All torques pass the same filter.

    Args:
        fit: The fit.
        engine: The name of the engine, "mujoco".
        model: The path of its model, whose joints are found by name.
        log: A log, or the file that holds it. It is prepared as the fit's own logs were, except for the settings named here.
        reading: How the file is read (`taupi.Reading`), as the fit's were by default.
        preparation: How the log is prepared (`taupi.Preparation`), as the fit's were by default.
        **options: Single fields of these two.

    Returns:
        The torques and errors of the fit and of the model, and the parameters in which they differ.

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
    settings, changes = settle_prediction(compare_with, options, reading, preparation)
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    other = ENGINES[engine](model, fit.robot)
    seen = compare_models(fit, {engine: other}, log, settings, changes)
    words = _words_of_soft_friction(other)
    return dataclasses.replace(seen, legend={engine: words}) if words else seen


def check_mjcf(
    fit: Fit,
    export: MjcfExport,
    log: LogLike,
    *,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[PredictionOptions],
) -> ModelComparison:
    """Return what taking a fit to MuJoCo costs on a log: its error, step by step from the fit to MuJoCo's torques.

    The steps are "placed", without the parameters that MJCF has no place for; "no memory", with dry friction that depends only on
    the present speed, whereas that of the fit depends on the earlier motion; and "mujoco", MuJoCo's own inverse dynamics of the
    file. Steps that change nothing are left out.

    Args:
        fit: The fit.
        export: What `taupi.write_mjcf` returned for it.
        log: A log, or the file that holds it, prepared as by `compare_with`.
        reading: How the file is read (`taupi.Reading`), as the fit's were by default.
        preparation: How the log is prepared (`taupi.Preparation`), as the fit's were by default.
        **options: Single fields of these two.

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
    settings, changes = settle_prediction(check_mjcf, options, reading, preparation)
    engine = MujocoModel.of(export.path, fit.robot)
    return _steps_to(fit, export.source.base, len(export.lost), "mujoco", "MuJoCo", engine, log, settings, changes)


def check_export(
    export: Export,
    log: LogLike,
    *,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[PredictionOptions],
) -> ModelComparison | DrivenComparison:
    """Return what taking a fit to a target costs on a log: its error, step by step, up to the target itself.

    The steps are as in `check_mjcf`, up to the inverse dynamics of the target. Of a fit from commands, positions are compared
    instead: of the motion that the target simulates from the commands of the log.

    Args:
        export: What `taupi.export` returned for a fit.
        log: A log, or the file that holds it, prepared as by `compare_with`.
        reading: How the file is read (`taupi.Reading`), as the fit's were by default.
        preparation: How the log is prepared (`taupi.Preparation`), as the fit's were by default.
        **options: Single fields of these two.

    Returns:
        The torques, or positions, and errors of the fit and of the target, joint by joint.

    Raises:
        TaupiError: If the target does not run here.

    >>> import tempfile, numpy as np, taupi as tp
    >>> arm, t = tp.load("elbow2r").with_friction(viscous=5.0), np.arange(1500)[:, None] / 100
    >>> w = np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm, terms="viscous")(q, qd, qdd))
    >>> fit = tp.identify(arm, log, terms=("viscous",), cutoff_hz=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     seen = tp.bridges.check_export(tp.export(fit, f"{folder}/arm", target="mujoco"), log)
    >>> list(seen.others), bool(seen.others["mujoco"].relative < 1e-3)
    (['mujoco'], True)
    """
    settings, changes = settle_prediction(check_export, options, reading, preparation)
    passport = export.passport
    fit, target = passport.source, passport.target
    if isinstance(fit, CommandFit):
        return check_driven(export, fit, log, settings)
    if not isinstance(fit, Fit):
        raise TaupiError("A robot was exported, not a fit: only a fit says how its logs are prepared.")
    torque = target.torque(export.folder, passport)
    return _steps_to(fit, passport.base, len(export.lost), target.name, target.engine, torque, log, settings, changes)


def _steps_to(
    fit: Fit,
    base: np.ndarray | None,
    lost: int,
    name: str,
    title: str,
    engine: Torque,
    log: LogLike,
    settings: Reading,
    changes: Mapping[str, object],
) -> ModelComparison:
    """Return a comparison of a fit, of its steps to a target and of the target's own torque."""
    models: dict[str, Torque | Fit] = {}
    legend: dict[str, str] = {}
    written = fit if base is None else dataclasses.replace(fit, values=base)
    if lost:
        models["placed"] = written
        legend["placed"] = f"the fit without the {lost} parameters that have no place there"
    if any(coulomb is not None and np.any(coulomb.distance) for coulomb in map(coulomb_of, fit.terms)):
        legend["no memory"] = (
            f"{'the same' if models else 'the fit'}, with dry friction that follows the speed of the moment"
        )
        models["no memory"] = without_memory(written)
    models[name] = engine
    words = _words_of_soft_friction(engine) if isinstance(engine, MujocoModel) else ""
    legend[name] = f"{title}'s inverse dynamics of the file" + (f"; {words}" if words else "")
    return dataclasses.replace(compare_models(fit, models, log, settings, changes), legend=legend)


def _words_of_soft_friction(engine: MujocoModel) -> str:
    """Return which joints have their full dry friction only at higher speeds, and what hardens it; nothing if there are none."""
    soft = [f"{name} {speed:.2g}" for name, speed in engine.soft_friction().items() if speed > _SLOW]
    if not soft:
        return ""
    return (
        f"its dry friction yields, and is complete only above these speeds (rad/s, m/s): {listed(soft)}; solreffriction and "
        "solimpfriction of the joints harden it"
    )
