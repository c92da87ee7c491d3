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
    "TorchFunction",
]

if TYPE_CHECKING:
    from taupi.bridges.jax_function import JaxFunction
    from taupi.bridges.torch_function import TorchFunction
