"""`taupi worker`: workers of a cluster, set up for identification."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from taupi.checks import whole_number
from taupi.errors import TaupiError
from taupi.files import path_of

AddressArgument = Annotated[
    str | None, typer.Argument(metavar="ADDRESS", help="Address of the scheduler, such as tcp://head:8786.")
]
FileOption = Annotated[
    Path | None,
    typer.Option("--scheduler-file", metavar="FILE.json", help="File in which the scheduler wrote its address."),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Processes, each with one thread. By default one per core.")
]
MemoryOption = Annotated[
    str, typer.Option("--memory-limit", help="Memory limit of each process, at which it is restarted.")
]

# Environment that Dask's nanny gives to its processes before they start. Its default for malloc costs more than half the speed.
ENVIRONMENT = {
    "MALLOC_TRIM_THRESHOLD_": 1 << 30,
    "MALLOC_MMAP_THRESHOLD_": 1 << 30,
    "MALLOC_ARENA_MAX": 1,
    "OPENBLAS_NUM_THREADS": 1,
    "OMP_NUM_THREADS": 1,
    "MKL_NUM_THREADS": 1,
}
# How long to wait for a scheduler that was started at the same time, and has yet to write its file, s.
_PATIENCE_S = 60.0


def worker(
    address: AddressArgument = None,
    *,
    scheduler_file: FileOption = None,
    workers: WorkersOption = None,
    memory_limit: MemoryOption = "2GiB",
) -> None:
    """Start workers of a Dask cluster, with one thread each and memory set up for identification. They run until stopped.

    \b
    taupi worker tcp://head:8786
    taupi worker --scheduler-file head.json --workers 16
    """
    from taupi.identification.cluster.client import check_scheduler_address, check_scheduler_file, distributed

    distributed()
    if (address is None) == (scheduler_file is None):
        raise TaupiError("Give either the address of a scheduler or {scheduler_file}.")
    count = whole_number("workers", (os.cpu_count() or 1) if workers is None else workers)
    _check_memory(memory_limit)
    if scheduler_file is not None:
        _wait_for(scheduler_file)
        check_scheduler_file(scheduler_file)
    else:
        check_scheduler_address("address", address)
    where = [str(address)] if scheduler_file is None else ["--scheduler-file", str(scheduler_file)]
    options = ["--nthreads", "1", "--nworkers", str(count), "--memory-limit", memory_limit]
    prefix = "DASK_DISTRIBUTED__NANNY__PRE_SPAWN_ENVIRON__"
    own = {name: str(value) for name, value in ENVIRONMENT.items()}
    environment = os.environ | own | {prefix + name: value for name, value in own.items()}
    sys.stdout.flush()
    command = [sys.executable, "-m", "distributed.cli.dask_worker", *where, *options, "--no-dashboard"]
    os.execve(sys.executable, command, environment)


def _check_memory(limit: str) -> None:
    """Refuse what is no amount of memory."""
    from dask.utils import parse_bytes

    try:
        if limit == "auto" or parse_bytes(limit) >= 0:
            return
    except (ValueError, OverflowError):
        pass
    raise TaupiError("{memory_limit} is {got!r}, expected an amount of memory, such as 2GiB, or auto.", got=limit)


def _is_written(path: Path) -> bool:
    """Return whether there is a file with content: a scheduler makes an empty one first."""
    return path.exists() and not (path.is_file() and path.stat().st_size == 0)


def _wait_for(file: Path) -> None:
    """Wait until a scheduler that has just been started writes its file; refuse one that does not appear."""
    path = path_of(file, "the file that a scheduler wrote", "scheduler_file")
    end = time.monotonic() + _PATIENCE_S
    if not _is_written(path):
        print(f"waiting up to {_PATIENCE_S:g} s for a scheduler to write {path}", file=sys.stderr)
    while not _is_written(path):
        if time.monotonic() > end:
            raise TaupiError(
                "{scheduler_file} is {got!r}, but no scheduler wrote it within {patience_s:g} s.",
                got=str(path),
                patience_s=_PATIENCE_S,
            )
        time.sleep(0.2)
