"""Logs of floating robots from full states, as simulators and state estimators give them, in any library's convention."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from taupi.dynamics.base_conventions import from_base
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError
from taupi.model.requirements import require_floating
from taupi.model.robot import Robot
from taupi.signals.floating_logs import base_from_states
from taupi.signals.log import Log
from taupi.signals.mapping.columns import recorded_joints, recorded_units


def log_from_states(
    robot: Robot,
    time: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike | None = None,
    contact: Mapping[str, ArrayLike] | None = None,
    wrench: Mapping[str, ArrayLike] | None = None,
    convention: str = "taupi",
    joints: tuple[str, ...] | None = None,
) -> Log:
    """Return a log of a floating robot from full states, each with its base first.

    Args:
        robot: The floating robot.
        time: (N,), s.
        q: Positions (N, nq).
        qd: Velocities (N, n).
        qdd: Accelerations (N, n).
        tau: Torques of the joints alone (N, joints), N m or N; none by default.
        contact: Whether each frame is in contact, as in `Log`, by the frame's name; none by default.
        wrench: The wrench on each frame, as in `Log`, by the frame's name; none by default.
        convention: How the base is written: "taupi" (the default), "pinocchio", "mujoco" or "idyntree", as in `from_base`.
        joints: The names of the joints in the order of the arrays; by default those of the robot.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r", floating=True)
    >>> q = np.tile(tp.floating.neutral(arm), (3, 1))
    >>> log = tp.floating.log_from_states(arm, [0.0, 0.1, 0.2], q, np.zeros((3, 8)), np.zeros((3, 8)))
    >>> log.base.a[0].tolist()
    [0.0, 9.81, 0.0]
    """
    require_floating(robot)
    names = recorded_joints(robot)
    own = names if joints is None else tuple(joints)
    if sorted(own) != sorted(names):
        raise TaupiError(
            "{joints} is {got:,}, expected the joints of {robot} in some order: {names:,}.",
            got=own,
            robot=robot.name,
            names=names,
        )
    order = [own.index(name) for name in names]
    arrays = []
    for name, value, base in (("q", q, 7), ("qd", qd, 6), ("qdd", qdd, 6)):
        array = np.asarray(value, dtype=float)
        if array.ndim != 2 or array.shape[1] != base + len(names):
            raise TaupiError(
                "{argument} has shape {got}, expected (N, {columns}): {base} of the base, then the joints.",
                argument=Argument(name),
                got=array.shape,
                columns=base + len(names),
                base=base,
            )
        arrays.append(np.concatenate([array[:, :base], array[:, base:][:, order]], axis=1))
    position, velocity, acceleration, _ = from_base(robot, convention)(*arrays, np.zeros(robot.n))
    return Log(
        np.asarray(time, dtype=float),
        position[:, 7:],
        velocity[:, 6:],
        acceleration[:, 6:],
        None if tau is None else np.asarray(tau, dtype=float)[:, order],
        names=names,
        units=recorded_units(robot),
        base=base_from_states(robot, position, velocity, acceleration),
        wrench={} if wrench is None else {k: np.asarray(v) for k, v in wrench.items()},
        contact={} if contact is None else {k: np.asarray(v) for k, v in contact.items()},
    )
