"""Logs of robots: their file formats, what is wrong with them, and how they become signals for a regressor."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "Budget",
    "Log",
    "SuggestedColumn",
    "Suggestion",
    "Table",
    "average_periods",
    "butterworth",
    "check_log",
    "choose_cutoff",
    "clean_log",
    "estimate_delay",
    "find_period",
    "log_blocks",
    "mapping_text",
    "parallel_filter",
    "prepare_blocks",
    "read_log",
    "read_table",
    "reading_budget",
    "remove_delay",
    "suggest_mapping",
    "write_log",
]

if TYPE_CHECKING:
    from taupi.budget import Budget, reading_budget
    from taupi.signals.checking.check import check_log
    from taupi.signals.checking.clean import clean_log
    from taupi.signals.filtering.delay import estimate_delay, remove_delay
    from taupi.signals.filtering.filters import butterworth, choose_cutoff, parallel_filter
    from taupi.signals.filtering.periodic import average_periods, find_period
    from taupi.signals.formats import read_table
    from taupi.signals.log import Log
    from taupi.signals.mapping.tables import Table
    from taupi.signals.prepare import prepare_blocks
    from taupi.signals.read import log_blocks, read_log, write_log
    from taupi.signals.suggestion import SuggestedColumn, Suggestion, mapping_text, suggest_mapping
