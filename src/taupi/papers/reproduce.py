"""The verb `reproduce`."""

from __future__ import annotations

import time
from dataclasses import replace

from taupi.papers.registry import study
from taupi.papers.study import Reproduction
from taupi.progress import progress


def reproduce(name: str) -> Reproduction:
    """Rerun a published study and return every published figure beside ours, with a verdict a row.

    `name` is one of `taupi.studies()`. The result has `rows`, `tables`, `pictures` and `notes`, says so as text, and
    writes itself into a folder: CSV, JSON and an HTML page.

    >>> import taupi as tp
    >>> again = tp.reproduce("gabiccini2009")
    >>> again.holds, again.rows[0].what, again.rows[0].verdict
    (True, 'J_v1', 'agrees')
    """
    chosen = study(name)
    began = time.perf_counter()
    with progress(chosen.name, chosen.steps) as step:
        made = chosen.run(step)
    return replace(made, seconds=time.perf_counter() - began)
