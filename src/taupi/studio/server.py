"""Who may open the studio, and what it answers: a server on this machine only, whose addresses hold a secret."""

from __future__ import annotations

import contextlib
import secrets
import socketserver
import threading
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taupi.checks import whole_number
from taupi.errors import Spelling, TaupiError
from taupi.files import write_text
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.reporting.viewer.access import LAST_PORT, Access
from taupi.studio import pages
from taupi.studio.elements import Element, page_of, tag, text_of
from taupi.studio.folder import Folder, is_page
from taupi.studio.forms import DEFAULTS, FORMS, Fields, description_options
from taupi.studio.jobs import Jobs
from taupi.studio.mapping import Answer, Assignment, Sheet, answer, sheet_of

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
_PORTS = 100  # that are tried
_MOST = 2_000_000  # bytes of a form
# The studio's own pages: their script and their style only, and nothing from elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
# Pages in the folder, which anybody may have written: their own scripts in an origin of their own, without a network.
FILES_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Studio:
    """The studio of a folder: its pages, its forms, and the commands that it runs.

    Args:
        folder: Where robots, logs and results are.
        spelling: How sentences write arguments; as in Python by default.

    Attributes:
        key: The secret in the addresses of its pages.
        reading: The secret in the addresses of files; a page in the folder may know it, and can do no more than read with it.
    """

    def __init__(self, folder: Path, spelling: Spelling = str) -> None:
        self.folder, self._spelling = Folder(folder), spelling
        self.jobs = Jobs(self.folder.path)
        self.key, self.reading = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._access, self._fields = Access(HOST), DEFAULTS

    # Who may ask ----------------------------------------------------------------------------------------------------

    def refusal(self, method: str, key: str, host: list[str], origin: list[str]) -> tuple[int, str] | None:
        """Return the status and the sentence with which a request is refused; None if it is not."""
        if len(host) != 1 or len(origin) > 1:
            return 400, "Expected one host and one origin.\n"
        why = self._access.refusal(host[0], origin[0] if origin else None)
        if why is None and method == "POST" and not origin:  # browsers always state it
            why = "This page answers only to itself.\n"
        if why is None and not any(secrets.compare_digest(key.encode(), k.encode()) for k in (self.key, self.reading)):
            why = "This address lacks its secret: open the one that taupi studio printed.\n"
        return None if why is None else (403, why)

    # Pages ----------------------------------------------------------------------------------------------------------

    @property
    def _shown_at(self) -> str:
        return f"/{self.reading}/"

    def page(self, form: str) -> str:
        """Return a page as HTML."""
        fields = self._fields
        title = FORMS[form].title if form in FORMS else "Files"
        body = pages.whole(form, fields, self.folder, self._content(form), self._live(form), self._job())
        return page_of(f"{title}: taupi studio", f"/{self.key}/", *body)

    def _content(self, form: str) -> Element:
        fields, folder = self._fields, self.folder
        if form == "columns":
            return pages.columns_form(fields, folder, self._table())
        asked: dict[str, Callable[[], Element]] = {
            "robot": lambda: pages.robot_form(fields, folder),
            "fit": lambda: pages.fit_form(fields, folder),
            "excite": lambda: pages.excite_form(fields, folder),
            "files": lambda: pages.files_page(folder, self._shown_at),
        }
        return asked[form]()

    def _job(self, problem: str = "") -> Element:
        return pages.job_section(self.jobs.last, self.folder, self._shown_at, problem)

    def _robot(self) -> Robot | None:
        name = self._fields.one("robot")
        if not name:
            return None
        return load(
            name if not self.folder.file(name) else self.folder.place(name), **description_options(self._fields)
        )

    def _sheet(self) -> Sheet | None:
        name = self._fields.one("log")
        return sheet_of(self.folder.place(name), self._robot()) if name else None

    def _table(self) -> Element:
        try:
            sheet = self._sheet()
        except TaupiError as error:
            return pages.no_table(error.spelled(self._spelling))
        if sheet is None:
            return pages.no_table()
        return pages.table_of(sheet, *self._assigned(sheet))

    def _assigned(self, sheet: Sheet) -> tuple[list[Assignment], str]:
        """Return what the columns are taken for, and the further lines: by the fields, or else by the suggestion."""
        if self._fields.one("sheet") == sheet.key:
            return pages.assignments(self._fields, sheet), self._fields.one("rest")
        return [c.suggested for c in sheet.columns], sheet.rest

    def _live(self, form: str) -> Element:
        """Return what stands below a form."""
        if form != "columns":
            return pages.live_command(form, self._fields) if form in FORMS else tag("section", id="live")
        try:
            sheet = self._sheet()
        except TaupiError:  # the table says it
            sheet = None
        if sheet is None:
            return tag("section", id="live")
        known = self._answer(sheet)
        return pages.live_answer(self._fields, known, self._spelling, sheet.missing)

    def _answer(self, sheet: Sheet) -> Answer:
        fields, (taken, rest) = self._fields, self._assigned(sheet)
        try:
            rate = float(fields.one("rate_hz")) if fields.one("rate_hz") else None
        except ValueError:
            return Answer("", f"Samples per second is {fields.one('rate_hz')!r}, expected a number.")
        path = self.folder.place(fields.one("log"))
        return answer(path, self._robot(), sheet, taken, rate, rest, self._spelling)

    # What forms do --------------------------------------------------------------------------------------------------

    def act(self, form: str, verb: str, sent: Fields) -> Element | None:
        """Return the part of a page that an action changes; None if there is no such action."""
        if form == "cancel":
            if self.jobs.last is not None:
                self.jobs.last.cancel()
            return self._job()
        if form not in FORMS:
            return None
        self._fields = self._fields.merged(sent, FORMS[form].boxes)
        try:
            if verb == "live":
                return self._live(form)
            if verb == "run":
                known = FORMS[form]
                self.jobs.start(known.words(self._fields), self._fields.one(known.output) if known.output else "")
                return self._job()
            if (form, verb) == ("columns", "table"):
                return tag("div", self._table(), self._live(form))
            if (form, verb) == ("columns", "save"):
                return tag("span", self._save(), id="saved", role="status")
        except TaupiError as error:
            sentence = error.spelled(self._spelling)
            if verb == "save":
                return tag("span", sentence, id="saved", role="status", class_="problem")
            return self._job(sentence)
        return None

    def _save(self) -> str:
        sheet, name = self._sheet(), self._fields.one("save")
        if sheet is None or not name.endswith(".toml"):
            raise TaupiError("The name of the mapping is {got!r}, expected one that ends in .toml.", got=name)
        text = self._answer(sheet).text
        if not text:
            raise TaupiError("Nothing is saved: the check says what is wrong.")
        write_text(self.folder.place(name), text, bool(self._fields.one("replace")))
        self._fields = self._fields.merged(Fields({"columns": [name]}))
        return f"saved as {name}"


def application(studio: Studio) -> Starlette:
    """Return the studio as an ASGI application."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Route

    def own(text: str) -> Response:
        return HTMLResponse(
            text, headers={**_ALWAYS, "Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"}
        )

    def missing() -> Response:
        return PlainTextResponse("There is no such page.\n", 404, _ALWAYS)

    async def shown(request: Request) -> Response:
        key, name = request.path_params["key"], request.path_params["name"]
        if (refused := _refused(studio, request, key)) is not None:
            return refused
        if key == studio.reading:
            return await run_in_threadpool(_file, studio, name) or missing()
        if name == "":
            return RedirectResponse(f"/{studio.key}/robot", headers=_ALWAYS)
        if name in _ASSETS:
            room, kind = _ASSETS[name]
            text = files(room).joinpath(name).read_text(encoding="utf-8")
            return Response(text, media_type=kind, headers=_ALWAYS)
        if name == "job":
            return own(text_of(await run_in_threadpool(studio._job)))
        if name in FORMS or name == "files":
            return own(await run_in_threadpool(studio.page, name))
        return missing()

    async def done(request: Request) -> Response:
        key, name = request.path_params["key"], request.path_params["name"]
        if (refused := _refused(studio, request, key)) is not None:
            return refused
        if key != studio.key:
            return missing()
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MOST:
                return PlainTextResponse("The form is too large.\n", 413, _ALWAYS)
        form, _, verb = name.partition("/")
        part_of_page = await run_in_threadpool(studio.act, form, verb, Fields.of(body))
        return missing() if part_of_page is None else own(text_of(part_of_page))

    app = Starlette(
        routes=[
            Route("/{key}/{name:path}", shown, methods=["GET"]),
            Route("/{key}/{name:path}", done, methods=["POST"]),
        ]
    )
    app.router.redirect_slashes = False
    return app


# What the pages consist of: the room that has it, and its type.
_ASSETS = {
    "studio.css": ("taupi.studio", "text/css"),
    "studio.js": ("taupi.studio", "text/javascript"),
    "icon.svg": ("taupi.studio", "image/svg+xml"),
    "page.css": ("taupi.reporting", "text/css"),
}


def _refused(studio: Studio, request: Request, key: str) -> Response | None:
    from starlette.responses import PlainTextResponse

    refusal = studio.refusal(request.method, key, request.headers.getlist("host"), request.headers.getlist("origin"))
    return None if refusal is None else PlainTextResponse(refusal[1], refusal[0], _ALWAYS)


def _file(studio: Studio, name: str) -> Response | None:
    """Return a file of the folder: a page in a sandbox, a picture, or text."""
    from starlette.responses import FileResponse

    path = studio.folder.file(name)
    if path is None:
        return None
    kind = "text/html" if is_page(name) else "image/png" if name.endswith(".png") else "text/plain"
    headers = {**_ALWAYS, "Content-Security-Policy": FILES_POLICY, "Referrer-Policy": "no-referrer"}
    return FileResponse(path, media_type=kind, headers=headers, content_disposition_type="inline")


class Served:
    """A studio that is being served, until `close`.

    Args:
        studio: The studio.
        port: Port of this machine; the next free one if it is taken.
    """

    def __init__(self, studio: Studio, port: int = 8765) -> None:
        import uvicorn

        whole_number("port", port, most=LAST_PORT)
        self.studio = studio
        self._socket = _listening(port)
        config = uvicorn.Config(
            application(studio),
            log_level="error",
            access_log=False,
            ws="none",
            http="h11",
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address to open, with its secret."""
        return f"http://{HOST}:{self._socket.getsockname()[1]}/{self.studio.key}/"

    def wait(self) -> None:
        """Return when the studio is closed, or when the program is interrupted."""
        try:
            while self._thread.is_alive():
                time.sleep(0.2)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Cancel what is running, and close the studio."""
        self.studio.jobs.end()
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


def _listening(port: int) -> Any:
    """Return a socket of this machine that listens on the first free port from `port` on."""
    for candidate in range(port, min(port + _PORTS, LAST_PORT + 1)):
        with contextlib.suppress(OSError):  # the port is taken
            return socketserver.TCPServer((HOST, candidate), socketserver.BaseRequestHandler).socket
    raise TaupiError("{port} is {got}, and neither it nor those after it are free.", got=port)


def serve(folder: Path, port: int = 8765, spelling: Spelling = str) -> Served:
    """Serve the studio of a folder on this machine.

    Args:
        folder: Where robots, logs and results are.
        port: Port of this machine; the next free one if it is taken.
        spelling: How sentences write arguments; as in Python by default.

    Raises:
        TaupiError: The folder does not exist, no port is free, or the extra `studio` is missing.
    """
    if not folder.is_dir():
        raise TaupiError("{folder} is {got!r}, expected a folder that exists.", got=str(folder))
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise TaupiError('The studio needs Starlette and Uvicorn: pip install "taupi[studio]".') from None
    return Served(Studio(folder, spelling), port)
