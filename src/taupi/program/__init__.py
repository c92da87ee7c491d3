"""Programs: functions traced once over symbols, and the targets and emitters that read the trace. Knows no robots."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "Accumulator",
    "Constants",
    "Port",
    "Program",
    "release_memory",
    "trace",
]

if TYPE_CHECKING:
    from taupi.program.accumulator import Accumulator
    from taupi.program.batch_results import release_memory
    from taupi.program.ports import Constants, Port
    from taupi.program.program import Program, trace
