"""Closed loops: frames that are kept together, what this means for the motion, and the torques of only the motors."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "ClosedLoops",
    "Loop",
    "loop_error",
    "loop_jacobian",
    "loop_jacobian_derivative",
    "numerical_rank",
]

if TYPE_CHECKING:
    from taupi.dynamics.loops import loop_error, loop_jacobian, loop_jacobian_derivative
    from taupi.model.robot_parts import Loop
    from taupi.regressors.closed_loops import ClosedLoops, numerical_rank
