"""Ways out of the package, one module per bridge: what was identified, in the objects and files of other tools.

A bridge imports its tool when it is called (`packages.needed`), and may import every room but `reporting`, `papers`,
`robustness` and `cli`. Methods of objects in rooms above (`fit.to_pinocchio`) import it when they are called: the contracts
in pyproject.toml name these exceptions.
"""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "DrivenComparison",
    "Export",
    "JaxFunction",
    "JointDrive",
    "Loss",
    "MjcfExport",
    "ModelComparison",
    "MujocoModel",
    "Passport",
    "PayloadText",
    "Place",
    "Target",
    "TorchFunction",
    "check_export",
    "check_mjcf",
    "compare_with",
    "emit_fmu",
    "emit_ros2",
    "payload_text",
    "register_target",
    "sample_arrays",
    "to_drake",
    "to_pinocchio",
    "to_rtb",
    "write_mjcf",
    "write_samples",
]

if TYPE_CHECKING:
    from taupi.bridges.compare import check_export, check_mjcf, compare_with
    from taupi.bridges.drake import to_drake
    from taupi.bridges.driven_check import DrivenComparison
    from taupi.bridges.export import Export
    from taupi.bridges.fmi.unit import emit_fmu
    from taupi.bridges.jax_function import JaxFunction
    from taupi.bridges.makers import PayloadText, payload_text
    from taupi.bridges.mujoco.engine import MujocoModel
    from taupi.bridges.mujoco.write import MjcfExport, write_mjcf
    from taupi.bridges.pinocchio import to_pinocchio
    from taupi.bridges.ros2.emit_ros2 import emit_ros2
    from taupi.bridges.rtb import to_rtb
    from taupi.bridges.samples_file import sample_arrays, write_samples
    from taupi.bridges.targets.passport import JointDrive, Loss, Passport
    from taupi.bridges.targets.target import Place, Target, register as register_target
    from taupi.bridges.torch_function import TorchFunction
    from taupi.identification.results.other_models import ModelComparison
