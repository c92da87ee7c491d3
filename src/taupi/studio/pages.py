"""The pages of the studio, as trees of elements: forms from fields, and what is known about columns and commands."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from taupi.errors import Spelling, TaupiError
from taupi.excitation.writers import FORMATS
from taupi.identification.estimators import ADDED, ESTIMATORS
from taupi.model import catalogue
from taupi.reporting.chart import thinned
from taupi.signals.mapping.units import DIMENSION, UNITS
from taupi.studio.elements import Child, Element, box, choice, field, labelled, names_to_choose, tag
from taupi.studio.folder import Folder, is_page
from taupi.studio.forms import FORMS, Fields, suggest, view
from taupi.studio.jobs import Job
from taupi.studio.mapping import SEGMENT, SIGNALS, Answer, Assignment, Column, Sheet

WIDTH, HEIGHT = 160, 34  # of a small picture


def whole(form: str, fields: Fields, folder: Folder, content: Child, live: Element, job: Element) -> list[Child]:
    """Return the body of the page of a form: what it asks, the command that it stands for, and what the last one said."""
    known = FORMS.get(form)
    steps = [
        tag("a", title, href=name, aria_current="page" if name == form else None)
        for name, title in [*((name, f.title) for name, f in FORMS.items()), ("files", "Files")]
    ]
    return [
        tag("a", "To the content", href="#content", class_="skip"),
        tag(
            "header",
            tag("h1", "taupi studio"),
            tag("p", str(folder.path), class_="soft"),
            tag("nav", *steps, aria_label="Steps"),
        ),
        tag(
            "main",
            tag("form", content, live, id="form", data_form=form, novalidate=True) if known else content,
            job,
            id="content",
        ),
    ]


def _robots(folder: Folder) -> Element:
    """Return the robots that the field of a robot offers: built-in ones, and descriptions in the folder."""
    return names_to_choose("robots", [*catalogue.names(), *folder.robots()])


def robot_form(fields: Fields, folder: Folder) -> Element:
    """Return what the page of the robot asks."""
    return tag(
        "section",
        tag("h2", "Which robot?"),
        tag(
            "div",
            labelled(
                "Robot",
                field("robot", fields.one("robot"), list="robots"),
                "a built-in one, or a file: .urdf, .xml, .sdf, .usd, .toml",
            ),
            labelled(
                "Joints to hold",
                field("lock", fields.one("lock")),
                "their names with commas between them, as those of a gripper",
            ),
            labelled("Tip", field("tip", fields.one("tip")), "the link at which the chain ends; the last one if empty"),
            class_="fields",
        ),
        _robots(folder),
    )


def columns_form(fields: Fields, folder: Folder, table: Element) -> Element:
    """Return what the page of the columns asks, above the table of the columns."""
    return tag(
        "section",
        tag("h2", "Which column is what?"),
        tag(
            "div",
            labelled("Log", field("log", fields.one("log"), list="logs", data_table=True), "a file in this folder"),
            labelled(
                "Robot",
                field("robot", fields.one("robot"), list="robots", data_table=True),
                "if its joints are to be named",
            ),
            labelled(
                "Samples per second",
                field("rate_hz", fields.one("rate_hz"), inputmode="decimal"),
                "if no column is the time",
            ),
            class_="fields",
        ),
        names_to_choose("logs", folder.logs()),
        _robots(folder),
        table,
    )


def no_table(problem: str = "") -> Element:
    """Return what stands in the place of the table of columns, if there is none: the sentence that says why."""
    return tag("div", tag("p", problem, class_="problem", role="alert") if problem else None, id="table")


def table_of(sheet: Sheet, taken: Sequence[Assignment], rest: str) -> Element:
    """Return the table of the columns of a log, each with a small picture and what it is taken for."""
    heading = ("column", "its numbers", "from", "to", "is", "of joint", "in", "counts")
    known = {a.column: a for a in taken}
    rows = [_row(k, c, known.get(c.name, Assignment(c.name)), sheet.joints) for k, c in enumerate(sheet.columns)]
    area = tag("textarea", rest, name="rest", rows="6", spellcheck="false", aria_label="More lines of the mapping")
    return tag(
        "div",
        field("sheet", sheet.key, "hidden"),
        tag(
            "div",
            tag(
                "table",
                tag("thead", tag("tr", *(tag("th", text, scope="col") for text in heading))),
                tag("tbody", *rows),
            ),
            class_="wide",
        ),
        tag("p", "What one column is taken for, the others of its kind follow: Achse1, Achse2, …", class_="soft"),
        tag("details", tag("summary", "More lines of the mapping, such as [motor] or [drive]"), area),
        *(tag("template", *_units(signal, ""), data_units=signal) for signal in ("", *SIGNALS)),
        id="table",
    )


def _row(k: int, column: Column, taken: Assignment, joints: Sequence[str]) -> Element:
    why = " ".join(filter(None, (column.reason, column.question)))
    could: list[str | Element] = []
    for signal in column.could_be:
        could += [" or " if could else "could be ", _taking(column.name, signal)]
    name = tag("th", column.name, tag("small", f" {column.width} numbers") if column.width > 1 else None, scope="row")
    if not column.numeric:
        return tag("tr", name, tag("td", "no numbers", class_="soft", colspan="7"), title=why, class_="text")
    signals = {"": "not used", **SIGNALS}
    numbers = {str(j): joint for j, joint in enumerate(joints)}
    of_joint = choice(f"joint-{k}", numbers, str(taken.joint), aria_label=f"joint of {column.name}")
    sign = choice(f"sign-{k}", {"1": "+", "-1": "-"}, str(taken.sign), aria_label=f"sign of {column.name}")
    return tag(
        "tr",
        name,
        tag("td", picture(column)),
        tag("td", _short(column.low), class_="number"),
        tag("td", _short(column.high), class_="number"),
        tag(
            "td",
            choice(f"signal-{k}", signals, taken.signal, aria_label=f"signal of {column.name}"),
            tag("small", *could, class_="could", hidden=bool(taken.signal)) if could else None,
        ),
        tag(
            "td",
            tag("span", of_joint if column.width == 1 else "all", class_="of", hidden=not _of_a_joint(taken.signal)),
        ),
        tag(
            "td",
            tag("select", *_units(taken.signal, taken.unit), name=f"unit-{k}", aria_label=f"unit of {column.name}"),
        ),
        tag("td", tag("span", sign, class_="of", hidden=not _of_a_joint(taken.signal))),
        title=why,
        data_before=taken.signal,
        data_family=column.family,
        data_row=str(k),
    )


def _taking(column: str, signal: str) -> Element:
    """Return the button that takes a column, and those of its kind, for a signal."""
    return tag("button", signal, type="button", data_take=signal, aria_label=f"Take {column} for {signal}")


def _of_a_joint(signal: str) -> bool:
    return signal not in ("", "time", SEGMENT)


def _units(signal: str, chosen: str) -> list[Element]:
    """Return the units that a signal may have, as entries of a list."""
    known = [] if signal in ("", SEGMENT) else list(UNITS[DIMENSION[signal]])
    first = "SI" if not known else f"SI ({'rad, m' if known[0] == 'rad' else known[0]})"
    return [tag("option", first, value=""), *(tag("option", u, value=u, selected=u == chosen) for u in known)]


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def picture(column: Column) -> Element:
    """Return the values of a column as a small picture: a line for each of its numbers, at most three."""
    lines = [np.array([np.nan if v is None else v for v in line]) for line in column.lines[:3]]
    known = np.concatenate([line[np.isfinite(line)] for line in lines])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    span = max(abs(low), abs(high)) if np.isinf(high - low) else max(high - low, np.finfo(float).tiny)
    drawn = []
    for line in lines:
        at = thinned(WIDTH, [line]) if len(line) else np.zeros(0, dtype=int)
        x = 2 + (WIDTH - 4) * at / max(len(line) - 1, 1)
        y = 2 + (HEIGHT - 4) * (high / span - line[at] / span if high > low else 0.5 + 0 * line[at])
        points = " ".join(f"{u:.1f},{v:.1f}" for u, v in zip(x, y, strict=True) if np.isfinite(v))
        drawn.append(tag("polyline", points=points))
    return tag(
        "svg",
        *drawn,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        class_="spark",
        role="img",
        aria_label=f"{column.name}: {_short(column.low)} to {_short(column.high)}",
    )


def assignments(fields: Fields, sheet: Sheet) -> list[Assignment]:
    """Return what a form says that the columns are."""
    taken = []
    for k, column in enumerate(sheet.columns):
        signal = fields.one(f"signal-{k}")
        if signal not in SIGNALS:
            continue
        joint, unit = fields.one(f"joint-{k}", "0"), fields.one(f"unit-{k}")
        units = () if signal == SEGMENT else UNITS[DIMENSION[signal]]
        number = int(joint) if joint.isdecimal() and len(joint) < 4 else 0
        taken.append(
            Assignment(
                column.name, signal, number, unit if unit in units else "", -1 if fields.one(f"sign-{k}") == "-1" else 1
            )
        )
    return taken


def live_answer(fields: Fields, known: Answer, spelling: Spelling = str, missing: Sequence[str] = ()) -> Element:
    """Return what the check says about a mapping, and the mapping, with a button that saves it."""
    offers = [
        tag(
            "p",
            f"{offer.signal} looks like {offer.unit}{': ' + offer.why if offer.why else ''} ",
            tag(
                "button",
                f"Take {offer.signal} in {offer.unit}",
                type="button",
                data_signal=offer.signal,
                data_unit=offer.unit,
            ),
            class_="note",
        )
        for offer in known.units
    ]
    said, told = ([tag("p", known.problem, class_="problem")] if known.problem else []), known.problem.lower()
    # Of a mapping without positions, the problem has these sentences itself.
    said += [tag("p", f"to complete: {s}", class_="soft") for s in missing if told and s.lower() not in told]
    if known.report is not None:
        said.append(tag("p", tag("b", known.summary)))
        said.append(tag("pre", "\n".join(known.report.lines(spelling))))
    save = tag(
        "div",
        labelled("Save as", field("save", fields.one("save"))),
        box("replace", "replace it if it exists", "yes", bool(fields.one("replace"))),
        tag("button", "Save the mapping", type="button", data_post="columns/save", data_into="saved"),
        tag("span", id="saved", role="status"),
        class_="fields",
    )
    return tag(
        "section",
        tag("h2", "What the check says"),
        tag("div", *said, *offers, id="answer", aria_live="polite"),
        tag("h2", "The mapping"),
        tag("pre", known.text or "nothing yet", id="mapping"),
        save,
        tag("p", "The first guess is that of", class_="soft"),
        _shell(suggest, fields, "suggested"),
        *_run_row("columns", fields),
        id="live",
    )


def live_command(form: str, fields: Fields) -> Element:
    """Return the command that a form stands for, with the button that runs it."""
    more = (
        [tag("p", "In three dimensions, typed in a shell:", class_="soft"), _shell(view, fields, "view")]
        if form == "robot"
        else []
    )
    return tag("section", *_run_row(form, fields), *(more if fields.one("robot") else []), id="live")


def _run_row(form: str, fields: Fields) -> list[Child]:
    known = FORMS[form]
    try:
        known.words(fields)
        ready = True
    except TaupiError:
        ready = False
    return [
        _shell(known.words, fields, "command"),
        tag(
            "p",
            tag(
                "button",
                known.button,
                type="button",
                class_="run",
                data_post=f"{form}/run",
                data_into="job",
                disabled=not ready,
            ),
        ),
    ]


def _shell(words: Callable[[Fields], list[str]], fields: Fields, identity: str) -> Element:
    """Return a command as it is typed, with a button that copies it; or what is missing."""
    try:
        text = shlex.join(["taupi", *words(fields)])
    except TaupiError as error:
        return tag("p", str(error), class_="soft", id=identity)
    return tag(
        "p",
        tag("code", text, id=identity),
        tag("button", "Copy", type="button", data_copy=identity, aria_label="Copy the command"),
        class_="shell",
    )


def fit_form(fields: Fields, folder: Folder) -> Element:
    """Return what the page of the fit asks."""
    fitted, held = set(fields.all("fit")), set(fields.all("hold"))
    logs = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            tag("td", box("fit", "fit", name, name in fitted)),
            tag("td", box("hold", "hold out, and predict", name, name in held)),
        )
        for name in folder.logs()
    ]
    mappings = {"": "guess from the headers"} | {name: name for name in folder.mappings()}
    estimators = {name: name for name in (*ESTIMATORS, *ADDED.names())}
    return tag(
        "section",
        tag("h2", "Identify a robot from logs"),
        tag(
            "div",
            labelled("Robot", field("robot", fields.one("robot"), list="robots")),
            labelled("Columns", choice("columns", mappings, fields.one("columns"))),
            labelled("Estimator", choice("estimator", estimators, fields.one("estimator"))),
            labelled(
                "Terms",
                field("terms", fields.one("terms"), placeholder="viscous,coulomb"),
                "of the joints; the default ones if empty",
            ),
            labelled(
                "Cutoff, Hz",
                field("cutoff", fields.one("cutoff"), inputmode="decimal"),
                "chosen from the spectrum if empty",
            ),
            labelled("Results in", field("fit_output", fields.one("fit_output")), "a folder in this one"),
            labelled(
                "More options",
                field("fit_more", fields.one("fit_more")),
                "as in a shell; taupi identify --help-all lists them",
            ),
            class_="fields",
        ),
        _robots(folder),
        tag("div", tag("table", tag("caption", "Logs in this folder"), tag("tbody", *logs)), class_="wide")
        if logs
        else tag("p", "There is no log in this folder.", class_="problem"),
        box("fit_force", "replace results that exist", "yes", bool(fields.one("fit_force"))),
        box("anyway", "export a fit even if its verdict is \u201cwrong\u201d", "yes", bool(fields.one("anyway"))),
    )


def excite_form(fields: Fields, folder: Folder) -> Element:
    """Return what the page of the motion asks."""
    formats = fields.all("format")
    tables = [name for name in folder.robots() if name.endswith(".toml")]
    return tag(
        "section",
        tag("h2", "Design a motion to record"),
        tag(
            "div",
            labelled("Robot", field("robot", fields.one("robot"), list="robots")),
            labelled("Duration, s", field("duration", fields.one("duration"), inputmode="decimal")),
            labelled(
                "Terms",
                field("motion_terms", fields.one("motion_terms"), placeholder="viscous,coulomb"),
                "that it should show",
            ),
            labelled(
                "Limits",
                field("limits", fields.one("limits"), list="limits"),
                "a .toml file, if the description lacks some",
            ),
            labelled(
                "Speed",
                field("speed", fields.one("speed"), inputmode="decimal"),
                "share of full speed; 0.3 for the first try",
            ),
            labelled("Files in", field("motion_output", fields.one("motion_output")), "a folder in this one"),
            labelled(
                "More options",
                field("motion_more", fields.one("motion_more")),
                "as in a shell; taupi excite --help lists them",
            ),
            class_="fields",
        ),
        _robots(folder),
        names_to_choose("limits", tables),
        tag(
            "fieldset",
            tag("legend", "Files for the controller"),
            *(box("format", name, name, name in formats) for name in FORMATS),
        ),
        box(
            "no_floor",
            "there is no floor: the robot hangs, or reaches below its base",
            "yes",
            bool(fields.one("no_floor")),
        ),
        box("motion_force", "replace files that exist", "yes", bool(fields.one("motion_force"))),
    )


def files_page(folder: Folder, shown_at: str) -> Element:
    """Return the files of the folder, those that can be opened as links."""
    names = folder.files()
    pages = [name for name in names if is_page(name)]
    return tag(
        "section",
        tag("h2", "Pages"),
        tag("ul", *(tag("li", _link(name, shown_at)) for name in pages))
        if pages
        else tag("p", "None yet: a fit or a motion writes one.", class_="soft"),
        tag("h2", "Files"),
        tag("ul", *(tag("li", _link(name, shown_at)) for name in names if not is_page(name)))
        if names
        else tag("p", "The folder is empty."),
    )


def _link(name: str, shown_at: str, text: str = "", **attributes: str) -> Element:
    """Return a link to a file, which opens in a tab of its own; its `text` is the file's name by default."""
    address = f"{shown_at}{quote(name)}"
    return tag("a", text or name, href=address, target="_blank", rel="noopener noreferrer", **attributes)


def job_section(job: Job | None, folder: Folder, shown_at: str, problem: str = "") -> Element:
    """Return what the last command is doing, or did: its progress, its words, the pages that it wrote."""
    trouble = tag("p", problem, class_="problem", role="alert") if problem else None
    if job is None:
        return tag("section", trouble, id="job", data_state="idle")
    state = job.state
    why = f" with status {job.status}" if state == "failed" else ""
    parts: list[Child] = [
        trouble,
        tag("h2", "The last command"),
        tag("p", tag("code", job.command), class_="shell"),
        tag("p", tag("b", f"{state}{why}", class_=f"state {state}"), f" {job.seconds:.0f} s", role="status"),
    ]
    if state == "running":
        parts += [_bar(task) for task in job.tasks]
        parts.append(tag("p", tag("button", "Cancel", type="button", data_post="cancel", data_into="job")))
    results = folder.results(job.output) if job.output and state == "done" else []
    if results:
        pages = [name for name in results if is_page(name)]
        parts += [tag("p", _link(name, shown_at, text=f"Open {name}", class_="open")) for name in pages]
        parts.append(tag("ul", *(tag("li", _link(name, shown_at)) for name in results if name not in pages)))
    parts += [tag("pre", text) for text in (job.talk, job.output_text) if text.strip()]
    return tag("section", *parts, id="job", data_state=state, aria_label="The last command")


def _bar(task: Mapping[str, Any]) -> Element:
    total, title = task["total"], task["title"]
    bar = tag(
        "progress", value=str(task["done"]) if total else None, max=str(total) if total else None, aria_label=title
    )
    return tag("p", bar, f" {title}", f" {task['done']} of {total}" if total else None)
