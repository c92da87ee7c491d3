"""Equations of a robot that is driven by commands: no torque was measured, the law of the drive stands for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from taupi.errors import TaupiError, warn
from taupi.identification.equations.joints import RigidJoints
from taupi.identification.inputs import FitInputs
from taupi.identification.rows.block_source import BlockSource
from taupi.identification.rows.preparation import Preparation
from taupi.model.robot import Robot
from taupi.signals.read import LogLike


@dataclass(frozen=True)
class CommandDriven(RigidJoints):
    """M qdd + C qd + g + friction = clip(kp (qdes(t - d) - q) - kd qd): closed loops, simulated from commands alone.

    They are not linear in the delay, and noise of the encoder is on both sides: such logs have their own estimator.
    """

    kind = "a log of commands"
    own_estimator: ClassVar[str | None] = "closed_loop"

    def checked(self, inputs: FitInputs) -> FitInputs:
        """Return the inputs of a fit, or refuse settings that have no meaning here."""
        given = {
            "base": inputs.base,
            "contact": inputs.contact,
            "client": inputs.client,
            "workers": inputs.workers,
            "stream": inputs.reading.stream or None,
            "elastic": inputs.elastic or None,
        }
        for name, value in given.items():
            if value is not None:
                raise TaupiError(
                    "{got} has no meaning for logs of commands without torque.", remedy="Leave it out.", got=name
                )
        default = Preparation()
        changed = [k for k, v in inputs.preparation.to_dict().items() if v != default.to_dict()[k]]
        if changed:
            raise TaupiError(
                "{changed:,} has no meaning for logs of commands without torque: positions are simulated, not filtered.",
                remedy="Leave it out.",
                changed=changed,
            )
        return dataclasses.replace(inputs, robot=_bolted(inputs.robot))

    def opened(self, log: LogLike, inputs: FitInputs, check: Callable[[], None]) -> BlockSource:
        """Refuse to make rows of torques: there are none."""
        raise TaupiError(
            "The log has commands and no torque, so that it has no rows that are linear in the parameters.",
            remedy="Use taupi.identify, which simulates its positions.",
        )


def _bolted(robot: Robot) -> Robot:
    """Return a robot as logs of commands and encoders alone can show it: on a stand, since they say nothing of its base."""
    if not robot.floating:
        return robot
    warn(
        "{robot}: commands and encoders say nothing of how {base} moves; it is taken as bolted to the ground, as on a stand;",
        remedy="{floating=False} confirms that this is intended.",
        robot=robot.name,
        base=robot.links[0].name,
    )
    return robot.fixed_base()
