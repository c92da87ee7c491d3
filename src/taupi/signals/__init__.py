"""Logs of robots: their file formats, what is wrong with them, and how they become signals for a regressor."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "Budget",
    "Log",
    "average_periods",
    "butterworth",
    "check_log",
    "choose_cutoff",
    "clean_log",
    "estimate_delay",
    "find_period",
    "log_blocks",
    "parallel_filter",
    "prepare_blocks",
    "read_log",
    "reading_budget",
    "remove_delay",
    "suggest_mapping",
    "write_log",
]

if TYPE_CHECKING:
    from taupi.budget import Budget
    from taupi.signals.checking.check import check_log
    from taupi.signals.filtering.delay import estimate_delay
    from taupi.signals.filtering.delay import remove_delay
    from taupi.signals.filtering.filters import butterworth
    from taupi.signals.filtering.filters import choose_cutoff
    from taupi.signals.filtering.filters import parallel_filter
    from taupi.signals.filtering.periodic import average_periods
    from taupi.signals.filtering.periodic import find_period
    from taupi.signals.log import Log
    from taupi.signals.read import write_log
    from taupi.signatures import clean_log
    from taupi.signatures import log_blocks
    from taupi.signatures import prepare_blocks
    from taupi.signatures import read_log
    from taupi.signatures import reading_budget
    from taupi.signatures import suggest_mapping
