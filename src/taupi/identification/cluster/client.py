"""The client of a Dask cluster: found and checked, with one sentence about what is wrong with it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError, shown, warn
from taupi.input_files import parse_json, printable, read_bytes
from taupi.version import __version__

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


def machines(client: Any) -> set[str]:
    """Return the kinds of machines on which the present workers run; one that dies meanwhile is left out."""
    return set(client.run(machine, on_error="ignore").values())


def distributed() -> Any:
    """Return the module `dask.distributed`."""
    try:
        import dask.distributed as module
    except ImportError:
        raise TaupiError(
            "A cluster needs the package distributed, which is not installed.",
            remedy=f"Install it with {CLUSTER_EXTRA}.",
        ) from None
    return module


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """Yield a checked Dask client; the connection to an address is closed at the end."""
    module = distributed()
    if isinstance(client, str | os.PathLike):
        with _connection(module, client) as own:
            _check(own)
            yield own
        return
    if not isinstance(client, module.Client) or client.asynchronous:
        raise TaupiError(
            Argument("client"),
            f" is {shown(client)}, expected a dask.distributed.Client that is not asynchronous, or the address of a "
            "scheduler, such as 'tcp://head:8786'.",
        )
    _check(client)
    yield client


def _connection(module: Any, place: str | os.PathLike[str]) -> Any:
    """Return a client of the scheduler at an address, or of the scheduler that wrote its address to a file."""
    address = str(place)
    is_file = isinstance(place, os.PathLike) or address.endswith(".json")
    if is_file and not Path(address).is_file():
        raise TaupiError(Argument("client"), f" is {address!r}, but there is no such file of a scheduler.")
    if is_file:
        check_scheduler_file(Path(address))
    else:
        check_scheduler_address("client", address)
        _warn_of_open_port(address)
    try:
        return module.Client(**({"scheduler_file": address} if is_file else {"address": address}), timeout=_CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TaupiError(Argument("client"), f" is {address!r}: no scheduler answers there ({reason}).") from None


def check_scheduler_address(name: str, address: object) -> None:
    """Refuse what cannot be the address of a scheduler; `name` is the argument's name."""
    from distributed.comm import registry
    from distributed.comm.addressing import parse_address, parse_host_port

    expected = "expected the address of a scheduler, such as tcp://head:8786"
    if isinstance(address, str) and "@" in address:  # not shown: it may hold a password
        raise TaupiError(Argument(name), f" has an @ in it, {expected}: schedulers know no users and passwords.")
    try:
        protocol, place = parse_address(address)
        if protocol not in registry.backends:
            raise ValueError(f"the protocols are {', '.join(registry.backends)}")
        if protocol != "inproc":
            parse_host_port(place)
    except (TypeError, ValueError) as error:
        raise TaupiError(Argument(name), f" is {shown(address)}, {expected}: {error}.") from None


def check_scheduler_file(file: Path) -> None:
    """Refuse a file that does not hold the address of a scheduler."""
    expected = "the file that a scheduler wrote, with its address"
    data = parse_json(read_bytes(file, expected), printable(file), expected)
    if not isinstance(data, dict):
        raise TaupiError(f"{printable(file)} is {shown(data)}, expected {expected}.")
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
            f"Whoever reaches {address} can run code there: Dask's tcp has no password. Use tls:// outside a trusted network."
        )


def _check(client: Any) -> None:
    """Refuse a cluster without workers, or one whose workers have other versions than this process."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE_S)
    except TimeoutError:
        raise TaupiError(
            f"The scheduler {client.scheduler.address} has no worker.", remedy="Start some: taupi worker ADDRESS."
        ) from None
    own = versions()
    for worker, theirs in client.run(versions).items():
        for name, version in theirs.items():
            if version != own[name]:
                raise TaupiError(
                    f"The worker {worker} has {name} {version}, this process {own[name]}: results would differ.",
                    remedy="Install the same versions everywhere.",
                )
