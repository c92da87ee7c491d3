"""What the forms say as commands: the words after `taupi`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl

from taupi.errors import TaupiError


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a form, as a browser sends them.

    Attributes:
        values: By name, all values of a field.
    """

    values: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, body: bytes) -> Fields:
        """Return the fields in the body of a request, `a=1&a=2&b=%20`."""
        values: dict[str, list[str]] = {}
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20_000)
        for name, value in pairs:
            values.setdefault(name, []).append(value)
        return cls(values)

    def merged(self, others: Fields, boxes: Iterable[str] = ()) -> Fields:
        """Return these fields with those that a form has sent; it sends `boxes` only if they are ticked."""
        kept = {name: value for name, value in self.values.items() if name not in set(boxes)}
        return Fields({**kept, **others.values})

    def one(self, name: str, default: str = "") -> str:
        """Return the value of a field without blanks around it."""
        return next(iter(self.values.get(name, ())), default).strip()

    def all(self, name: str) -> list[str]:
        """Return all values of a field that are not empty."""
        return [value for value in self.values.get(name, ()) if value.strip()]


def _file(name: str) -> str:
    """Return the name of a file as a word that is no option."""
    return f"./{name}" if name.startswith("-") else name


def _asked(fields: Fields, name: str, what: str) -> str:
    """Return the value of a field that cannot be empty."""
    value = fields.one(name)
    if not value:
        raise TaupiError("{what} is missing.", what=what)
    return _file(value)


def _given(fields: Fields, options: Mapping[str, str]) -> list[str]:
    """Return options with the values of their fields; those of empty fields are left out."""
    return [word for name, flag in options.items() if (value := fields.one(name)) for word in (flag, value)]


def description_options(fields: Fields) -> dict[str, Any]:
    """Return how the description is read, as keywords of `taupi.load`."""
    lock = [part.strip() for part in fields.one("lock").split(",") if part.strip()]
    return {**({"lock": lock} if lock else {}), **({"tip": fields.one("tip")} if fields.one("tip") else {})}


def _description(fields: Fields) -> list[str]:
    options = description_options(fields)
    words = [word for name in options.get("lock", ()) for word in ("--lock", name)]
    return words + (["--tip", options["tip"]] if "tip" in options else [])


def _more(fields: Fields, name: str) -> list[str]:
    """Return the further options of a command, typed as in a shell."""
    try:
        return shlex.split(fields.one(name))
    except ValueError as error:
        raise TaupiError("More options: {why}.", why=str(error)) from None


def info(fields: Fields) -> list[str]:
    """Return the command that shows a robot's card."""
    return ["info", _asked(fields, "robot", "The robot"), *_description(fields)]


def view(fields: Fields) -> list[str]:
    """Return the command that shows a robot in three dimensions, on a page of its own."""
    return ["view", *info(fields)[1:]]


def log(fields: Fields) -> list[str]:
    """Return the command that checks a log with the mapping that is saved."""
    words = ["log", _asked(fields, "log", "The log"), "--columns", _asked(fields, "save", "The name of the mapping")]
    robot = fields.one("robot")
    return [*words, *(["--robot", _file(robot), *_description(fields)] if robot else [])]


def suggest(fields: Fields) -> list[str]:
    """Return the command whose mapping the table of columns begins with."""
    return [word if word != "--columns" else "--suggest" for word in log(fields)]


def identify(fields: Fields) -> list[str]:
    """Return the command that identifies a robot."""
    fitted, held_out = fields.all("fit"), fields.all("hold")
    if not fitted:
        raise TaupiError("No log is chosen. Tick at least one under \u201cfit\u201d.")
    words = ["identify", _asked(fields, "robot", "The robot"), *map(_file, fitted), *_description(fields)]
    words += [word for name in held_out for word in ("--validate", _file(name))]
    words += ["--columns", _file(fields.one("columns"))] if fields.one("columns") else []
    words += ["--estimator", fields.one("estimator")] if fields.one("estimator") not in ("", "consistent") else []
    words += _given(fields, {"terms": "--terms", "cutoff": "--cutoff"})
    words += ["-o", _asked(fields, "fit_output", "The folder for the results")]
    words += ["--anyway"] if fields.one("anyway") else []
    return [*words, *(["--force"] if fields.one("fit_force") else []), *_more(fields, "fit_more")]


def excite(fields: Fields) -> list[str]:
    """Return the command that designs a motion."""
    words = ["excite", _asked(fields, "robot", "The robot"), *_description(fields)]
    words += _given(fields, {"duration": "--duration", "motion_terms": "--terms"})
    words += ["--limits", _file(fields.one("limits"))] if fields.one("limits") else []
    formats = fields.all("format")
    words += ["--formats", ",".join(formats)] if formats and formats != ["csv"] else []
    words += _given(fields, {"speed": "--speed"}) if fields.one("speed") not in ("", "1") else []
    words += ["--no-floor"] if fields.one("no_floor") else []
    words += ["-o", _asked(fields, "motion_output", "The folder for the motion")]
    return [*words, *(["--force"] if fields.one("motion_force") else []), *_more(fields, "motion_more")]


@dataclass(frozen=True, slots=True)
class CommandForm:
    """A form whose button runs a command.

    Attributes:
        title: What the list of forms calls it.
        words: The words after `taupi` that its fields stand for.
        button: What its button says.
        boxes: The names of its boxes, which are not sent where they are not ticked.
        output: The field that names the folder of results; "" if there is none.
    """

    title: str
    words: Callable[[Fields], list[str]]
    button: str
    boxes: tuple[str, ...] = ()
    output: str = ""


# What the fields hold before anybody has typed; the others are empty.
DEFAULTS = Fields(
    {
        "save": ["columns.toml"],
        "estimator": ["consistent"],
        "fit_output": ["fit"],
        "duration": ["10"],
        "format": ["csv"],
        "speed": ["1"],
        "motion_output": ["motion"],
    }
)

# In the order of the work.
FORMS: Mapping[str, CommandForm] = {
    "robot": CommandForm("Robot", info, "Show its card"),
    "columns": CommandForm("Columns", log, "Check the whole log", ("replace",)),
    "fit": CommandForm("Fit", identify, "Identify", ("fit", "hold", "anyway", "fit_force"), "fit_output"),
    "excite": CommandForm("Excite", excite, "Design a motion", ("format", "no_floor", "motion_force"), "motion_output"),
}
