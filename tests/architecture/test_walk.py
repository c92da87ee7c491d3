"""The page that walks through one fit names functions that are there, and that run in this order."""

import importlib
import re
import sys
import threading
import warnings
from pathlib import Path

from fits import friction_log

import taupi as tp
from taupi.identification.identify import fit_inputs
from taupi.identification.inputs import FitInputs

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| [^|]+ \| `([\w/]+\.py)` \| `([\w.]+)` \|", re.M)


def stages():
    return ROW.findall((ROOT / "docs/concepts/walk.md").read_text(encoding="utf-8"))


def test_the_page_names_functions_that_are_there():
    assert len(stages()) > 8
    for file, function in stages():
        place = importlib.import_module(f"taupi.identification.{file.removesuffix('.py').replace('/', '.')}")
        for name in function.split("."):
            place = getattr(place, name)


def test_they_run_in_this_order():
    asked, order = {(f"identification/{file}", function): None for file, function in stages()}, []

    def watch(frame, event, arg):
        code = frame.f_code
        key = (code.co_filename.rpartition("taupi/")[2], _qualified(frame))
        if event == "call" and key in asked and key not in order:
            order.append(key)

    sys.setprofile(watch)
    threading.setprofile(watch)  # logs are opened by the threads of a pool
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit_inputs(FitInputs(tp.load("elbow2r"), [friction_log(1)], workers=1), "consistent", validated=True)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert order == list(asked)


def _qualified(frame):
    """The name of a function with its class; Python 3.10 has no qualified names of code."""
    name, own = frame.f_code.co_name, frame.f_locals.get("self")
    return name if own is None else f"{type(own).__name__}.{name}"
