"""The client of a Dask cluster: found and checked, with one sentence about what is wrong with it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import Argument, TaupiError, warn
from taupi.input_files import parse_json, printable, read_bytes
from taupi.version import __version__

if TYPE_CHECKING:
    from types import ModuleType

    from distributed import Client

# How long to wait for the workers of a cluster that is still starting, s.
_PATIENCE_S = 60.0
# A scheduler that has not answered after this time, s, counts as missing.
_CONNECT_S = 20.0

CLUSTER_EXTRA = "pip install 'taupi[cluster]'"


def versions() -> dict[str, str]:
    """Return the versions that have to be the same on all machines, so that they do the same arithmetic on the same data."""
    return {
        "taupi": __version__,
        "numpy": np.__version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }


def machine() -> str:
    """Return what the last bits of a sum depend on: the processor, and the matrix library with the kernels it chose."""
    from taupi.threads import blas_libraries

    info = Path("/proc/cpuinfo")
    lines = info.read_text(errors="replace").splitlines() if info.exists() else []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return ", ".join([name or platform.processor() or platform.machine(), *blas_libraries()])


def machines(client: Client) -> set[str]:
    """Return the kinds of machines on which the present workers run; one that dies meanwhile is left out."""
    return set(client.run(machine, on_error="ignore").values())


def distributed() -> ModuleType:
    """Return the module `dask.distributed`."""
    try:
        import dask.distributed as module
    except ImportError:
        raise TaupiError(
            "A cluster needs the package distributed, which is not installed.",
            remedy="Install it with {cluster_extra}.",
            cluster_extra=CLUSTER_EXTRA,
        ) from None
    return module


@contextmanager
def connected(client: object) -> Iterator[Client]:
    """Yield a checked Dask client; the connection to an address is closed at the end.

    A scheduler may die at any time, so that any call of the client may fail: each is told as one error.
    """
    module = distributed()
    from distributed.comm import CommClosedError

    try:
        if isinstance(client, str | os.PathLike):
            with _connection(module, client) as own:
                _check(own)
                yield own
        elif isinstance(client, module.Client) and not client.asynchronous:
            _check(client)
            yield client
        else:
            raise TaupiError(
                "{client} is {got!r}, expected a dask.distributed.Client that is not asynchronous, or the "
                "address of a scheduler, such as 'tcp://head:8786'.",
                got=client,
            )
    except (module.CancelledError, CommClosedError) as error:
        raise lost(error) from None


def lost(error: Exception) -> TaupiError:
    """Return the error of a cluster that went away."""
    return TaupiError("The cluster was lost: {error}.", remedy="Start again; finished logs are kept.", error=error)


def _connection(module: ModuleType, place: str | os.PathLike[str]) -> Client:
    """Return a client of the scheduler at an address, or of the scheduler that wrote its address to a file."""
    address = str(place)
    is_file = isinstance(place, os.PathLike) or address.endswith(".json")
    if is_file and not Path(address).is_file():
        raise TaupiError("{client} is {got!r}, but there is no such file of a scheduler.", got=address)
    if is_file:
        check_scheduler_file(Path(address))
    else:
        check_scheduler_address("client", address)
        _warn_of_open_port(address)
    try:
        return module.Client(**({"scheduler_file": address} if is_file else {"address": address}), timeout=_CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TaupiError(
            "{client} is {got!r}: no scheduler answers there ({reason}).", got=address, reason=reason
        ) from None


def check_scheduler_address(name: str, address: object) -> None:
    """Refuse what cannot be the address of a scheduler; `name` is the argument's name."""
    from distributed.comm import registry
    from distributed.comm.addressing import parse_address, parse_host_port

    expected = "expected the address of a scheduler, such as tcp://head:8786"
    if isinstance(address, str) and "@" in address:  # not shown: it may hold a password
        raise TaupiError(
            "{argument} has an @ in it, {expected}: schedulers know no users and passwords.",
            argument=Argument(name),
            expected=expected,
        )
    try:
        protocol, place = parse_address(address)
        if protocol not in registry.backends:
            raise ValueError(f"the protocols are {', '.join(registry.backends)}")
        if protocol != "inproc":
            parse_host_port(place)
    except (TypeError, ValueError) as error:
        raise TaupiError(
            "{argument} is {got!r}, {expected}: {error}.",
            argument=Argument(name),
            got=address,
            expected=expected,
            error=error,
        ) from None


def check_scheduler_file(file: Path) -> None:
    """Refuse a file that does not hold the address of a scheduler."""
    expected = "the file that a scheduler wrote, with its address"
    data = parse_json(read_bytes(file, expected), printable(file), expected)
    if not isinstance(data, dict):
        raise TaupiError("{file} is {got!r}, expected {expected}.", file=printable(file), got=data, expected=expected)
    try:
        check_scheduler_address("address", data.get("address"))
    except TaupiError as error:
        raise error.about(printable(file)) from None


def _warn_of_open_port(address: str) -> None:
    """Warn about an address to which anyone in the network may send code."""
    protocol, _, rest = address.rpartition("://")
    host = rest.rpartition(":")[0].strip("[]") or rest
    if protocol in ("", "tcp") and host not in ("localhost", "::1") and not host.startswith("127."):
        warn(
            "Whoever reaches {address} can run code there: Dask's tcp has no password. Use tls:// outside a "
            "trusted network.",
            address=address,
        )


def _check(client: Client) -> None:
    """Refuse a cluster without workers, or one whose workers have other versions than this process."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE_S)
    except TimeoutError:
        raise TaupiError(
            "The scheduler {address} has no worker.",
            remedy="Start some: taupi worker ADDRESS.",
            address=client.scheduler.address,
        ) from None
    own = versions()
    for worker, theirs in client.run(versions).items():
        for name, version in theirs.items():
            if version != own[name]:
                raise TaupiError(
                    "The worker {worker} has {name} {version}, this process {own}: results would differ.",
                    remedy="Install the same versions everywhere.",
                    worker=worker,
                    name=name,
                    version=version,
                    own=own[name],
                )
