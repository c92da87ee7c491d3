"""Ways out of the package, one module per bridge: what was identified, in the objects and files of other tools.

A bridge imports its tool when it is called (`packages.needed`), and may import every room but `reporting`, `papers`,
`robustness` and `cli`. Methods of objects in rooms above (`fit.to_pinocchio`) reach it by `public_names.handed_on`.
"""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "JaxFunction",
    "MjcfExport",
    "ModelComparison",
    "MujocoModel",
    "TorchFunction",
    "check_mjcf",
    "compare_with",
    "emit_fmu",
    "emit_ros2",
    "to_drake",
    "to_pinocchio",
    "to_rtb",
    "write_mjcf",
]

if TYPE_CHECKING:
    from taupi.bridges.drake import to_drake
    from taupi.bridges.fmi.unit import emit_fmu
    from taupi.bridges.jax_function import JaxFunction
    from taupi.bridges.mujoco.engine import MujocoModel
    from taupi.bridges.mujoco.write import MjcfExport
    from taupi.bridges.mujoco.write import write_mjcf
    from taupi.bridges.pinocchio import to_pinocchio
    from taupi.bridges.ros2.emit_ros2 import emit_ros2
    from taupi.bridges.rtb import to_rtb
    from taupi.bridges.torch_function import TorchFunction
    from taupi.identification.results.other_models import ModelComparison
    from taupi.signatures import check_mjcf
    from taupi.signatures import compare_with
