"""The studies that can be rerun: one line each."""

from __future__ import annotations

from importlib import import_module

from taupi.errors import unknown
from taupi.papers.study import Study

# Each module has a `STUDY`.
STUDIES = {
    "gabiccini2009": "taupi.papers.gabiccini2009",
    "lecture": "taupi.papers.lecture",
    "kubozono": "taupi.papers.kubozono",
    "aldana": "taupi.papers.aldana",
    "zollo2014": "taupi.papers.zollo2014",
}


def study(name: str) -> Study:
    """Return a study by its name."""
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    found: Study = import_module(STUDIES[name]).STUDY
    return found


def studies() -> tuple[Study, ...]:
    """Return the studies that can be rerun: name, document, what is rerun, about how many seconds it takes.

    >>> import taupi as tp
    >>> [study.name for study in tp.studies()]
    ['gabiccini2009', 'lecture', 'kubozono', 'aldana', 'zollo2014']
    """
    return tuple(study(name) for name in STUDIES)
