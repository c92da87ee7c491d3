"""`taupi studio`: the loop in a browser."""

from __future__ import annotations

import os
import signal
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def studio(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where robots, logs and results are; by default this folder.")
    ] = Path("."),
    *,
    port: Annotated[int, typer.Option("--port", help="Port to serve on; the next free one if it is taken.")] = 8765,
    browser: Annotated[bool, typer.Option("--open", help="Open it in the browser of this machine.")] = False,
) -> None:
    """Identify and excite in a browser: assign columns, run fits, open pages; stop with Ctrl-C. Needs taupi[studio].

    It answers only on this machine, and only at the address that it prints, which holds a secret.

    \b
    taupi studio
    taupi studio measurements --open
    """
    from taupi.cli.command import spelling_in
    from taupi.studio.server import serve

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # commands that run are ended with the studio
    served = serve(folder, port, spelling_in("identify"))
    os.chdir(folder)  # what sentences call the current folder is then that of the commands
    print(f"open {served.url} in a browser, and press Ctrl-C here to end", file=sys.stderr)
    if browser:
        webbrowser.open(served.url)
    served.wait()
