"""Who may open a view: the page that it serves itself, under an address or a name of this machine."""

from __future__ import annotations

import ipaddress
import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

    _Answer = Callable[[ServerConnection, Request], Response | None]

# Viser's page consists of scripts in its own text, compiles WebAssembly, and talks to its own server.
POLICY = (
    "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; frame-src 'none'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
LAST_PORT = 65535
_REPLACING = threading.Lock()


class Access:
    """The check of every request to a server on `host`, before the server sees it.

    A page elsewhere can make a browser connect to this machine: directly, which its `Origin` shows, or under a name of its own
    that it lets point here (DNS rebinding), which the `Host` shows. An address written as numbers cannot be such a name.

    Args:
        host: Address of this machine that the page is served at.
    """

    def __init__(self, host: str) -> None:
        self._names = {"localhost", host.strip().lower(), platform.node().lower()}
        self.is_checked = False

    def refusal(self, host: str, origin: str | None) -> str | None:
        """Return why a request is refused, None if it is not.

        Args:
            host: The header `Host` of the request.
            origin: Its header `Origin`; None without one, as for what is no browser.
        """
        name = _name_of(f"//{host}")
        if name is None or not (name in self._names or _is_address(name)):
            return "This page answers to localhost, to addresses and to the name of its machine.\n"
        if origin is not None and (
            urlsplit(origin).scheme not in ("http", "https") or urlsplit(origin).netloc.lower() != host.lower()
        ):
            return "This page answers only to itself.\n"
        return None

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Let the server that viser starts meanwhile check its requests; viser itself has no setting for that."""
        import websockets.asyncio.server as library

        serve = library.serve

        def serve_checked(handler: Callable[..., object], *arguments: object, **options: object) -> object:
            if handler.__module__.partition(".")[0] == "viser":
                options["process_request"] = self._before(cast("_Answer", options["process_request"]))
                self.is_checked = True
            return serve(handler, *arguments, **options)

        with _REPLACING:
            library.serve = serve_checked
            try:
                yield
            finally:
                library.serve = serve

    def _before(self, answer: _Answer) -> _Answer:
        def checked_answer(connection: ServerConnection, request: Request) -> Response | None:
            origins, hosts = request.headers.get_all("Origin"), request.headers.get_all("Host")
            if len(hosts) != 1 or len(origins) > 1:
                return connection.respond(HTTPStatus.BAD_REQUEST, "Expected one host and one origin.\n")
            refusal = self.refusal(hosts[0], origins[0] if origins else None)
            if refusal is not None:
                return connection.respond(HTTPStatus.FORBIDDEN, refusal)
            response = answer(connection, request)
            if response is not None:
                response.headers["Content-Security-Policy"] = POLICY
                response.headers["X-Content-Type-Options"] = "nosniff"
            return response

        return checked_answer


def _name_of(address: str) -> str | None:
    """Return the host of an address in lower case, None if there is none."""
    try:
        name, _ = urlsplit(address).hostname, urlsplit(address).port
    except ValueError:
        return None
    return name


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True
