"""`taupi worker`: workers of a cluster, set up for identification."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.errors import Argument, TaupiError

AddressArgument = Annotated[
    str | None, typer.Argument(metavar="ADDRESS", help="Address of the scheduler, such as tcp://head:8786.")
]
FileOption = Annotated[
    Path | None,
    typer.Option("--scheduler-file", metavar="FILE.json", help="File in which the scheduler wrote its address."),
]
WorkersOption = Annotated[
    int, typer.Option("--workers", help="Processes, each with one thread. By default one per core.")
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


def worker(
    address: AddressArgument = None,
    *,
    scheduler_file: FileOption = None,
    workers: WorkersOption = 0,
    memory_limit: MemoryOption = "2GiB",
) -> None:
    """Start workers of a Dask cluster, with one thread each and memory set up for identification. They run until stopped.

    \b
    taupi worker tcp://head:8786
    taupi worker --scheduler-file head.json --workers 16
    """
    from taupi.identification.cluster.client import distributed

    distributed()
    if (address is None) == (scheduler_file is None):
        raise TaupiError("Give either the address of a scheduler or ", Argument("scheduler_file"), ".")
    if workers < 0:
        raise TaupiError(Argument("workers"), f" is {workers}, expected a number of processes.")
    where = [address] if address is not None else ["--scheduler-file", str(scheduler_file)]
    options = ["--nthreads", "1", "--nworkers", str(workers or os.cpu_count() or 1), "--memory-limit", memory_limit]
    prefix = "DASK_DISTRIBUTED__NANNY__PRE_SPAWN_ENVIRON__"
    own = {name: str(value) for name, value in ENVIRONMENT.items()}
    environment = os.environ | own | {prefix + name: value for name, value in own.items()}
    sys.stdout.flush()
    command = [sys.executable, "-m", "distributed.cli.dask_worker", *where, *options, "--no-dashboard"]
    os.execve(sys.executable, command, environment)
