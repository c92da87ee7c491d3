"""The studies that can be rerun, one line each, and the verb `reproduce` that reruns one."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib import import_module

from taupi.errors import unknown
from taupi.papers.study import PublishedStudy, Reproduction
from taupi.progress import progress

# By name, the module that has its `STUDY`.
STUDIES = {
    "gabiccini2009": "taupi.papers.gabiccini2009.study",
    "lecture": "taupi.papers.lecture.study",
    "kubozono": "taupi.papers.kubozono.study",
    "aldana": "taupi.papers.aldana.study",
    "zollo2014": "taupi.papers.zollo2014.study",
}


def study(name: str) -> PublishedStudy:
    """Return the study called `name`."""
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    entry: PublishedStudy = import_module(STUDIES[name]).STUDY
    return entry


def studies() -> tuple[PublishedStudy, ...]:
    """Return the studies that can be rerun.

    Returns:
        The studies, each with its name, its document, what is rerun, and about how many seconds that takes.

    >>> import taupi as tp
    >>> [study.name for study in tp.papers.studies()]
    ['gabiccini2009', 'lecture', 'kubozono', 'aldana', 'zollo2014']
    """
    return tuple(study(name) for name in STUDIES)


def reproduce(name: str) -> Reproduction:
    """Rerun a study, and return the figures of its paper and of our own reference runs beside ours.

    Args:
        name: One of `taupi.papers.studies()`, such as "zollo2014".

    Returns:
        Rows with a rule and a verdict each, in `paper` and `reference`, with `tables`, `pictures` and `notes`. It prints as text,
        and `write` saves it in a folder as CSV, JSON and an HTML page.

    Raises:
        TaupiError: There is no study of this name.

    >>> import taupi as tp
    >>> again = tp.papers.reproduce("gabiccini2009")
    >>> again.holds, again.rows[0].what, again.rows[0].verdict
    (True, 'J_v1', 'agrees')
    """
    chosen = study(name)
    start = time.perf_counter()
    with progress(chosen.name, chosen.steps) as step:
        result = chosen.run(step)
    return replace(result, seconds=time.perf_counter() - start)
