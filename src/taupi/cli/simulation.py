"""What `taupi simulate` and `taupi control` share: the plant, the motion to follow, their options, and the files of runs."""

from __future__ import annotations

import dataclasses
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.laws import ELASTIC_LAW, GainOption
from taupi.cli.options import Description, ForceOption, JsonOption, TermsOption
from taupi.cli.parsing import json_value, names, per_joint, seconds
from taupi.cli.settings import Changes, Defaults, OptionGroup, Without
from taupi.command_line import recorded_command
from taupi.errors import TaupiError, unknown
from taupi.files import refuse_to_replace, write_folder
from taupi.settings import Settings
from taupi.simulation.horizon import PERIOD, Horizon
from taupi.simulation.sensors import Sensors
from taupi.tables import table

if TYPE_CHECKING:
    import numpy as np

    from taupi.control.law import Law
    from taupi.control.law_trial import Trial
    from taupi.model.robot import Robot
    from taupi.simulation.plants.elastic_plant import ElasticPlant
    from taupi.simulation.plants.plant import Payload
    from taupi.simulation.plants.rigid_plant import RigidPlant
    from taupi.simulation.references import Reference, Sinusoids
    from taupi.simulation.run import Run


_TURN = 0.7  # rad: in a step of this size RK4 loses a thousandth of an oscillation's amplitude

# How long a simulation runs; not the steps per period, which by default depend on the springs.
# Five periods of the default reference: the first and the last fifth of a run then have the same motion.
HorizonOption = Annotated[Horizon, Without("substeps"), Defaults(duration=5 * PERIOD)]


@dataclass(frozen=True)
class PlantOptions(Settings):
    """The plant: everything between the torque that a law commands and the motion.

    Attributes:
        rigid: Take elastic joints as rigid.
        stiction: Let joints stick and break away; needs --integrator rk45, dop853 or lsoda.
        payload_at: Load at the tip from a given time on, as time:mass, such as 2s:1.5kg.
        torque_limit: Largest torque, N m: one, one per joint separated by commas, or "description" for the limits in the file.
        rate_limit: Largest change of the torque, N m/s: one, or one per joint separated by commas.
        delay: Time from command to torque: 0.002 or 2ms.
        disturbance: Torque that the motors have to compensate, N m: one, or one per joint separated by commas.
    """

    rigid: bool = False
    stiction: bool = False
    payload_at: tuple[str, ...] = ()
    torque_limit: str | None = None
    rate_limit: str | None = None
    delay: str = "0"
    disturbance: str | None = None

    def default_law(self, robot: Robot, rigid: str) -> str:
        """Return the law that a robot is simulated under by default: `rigid`, or another if links and motors are simulated."""
        return ELASTIC_LAW if self._springs(robot) else rigid

    def _springs(self, robot: Robot) -> tuple[str, ...]:
        """Return the joints whose springs are simulated."""
        return () if self.rigid else robot.elastic_joints

    def plant(self, robot: Robot, terms: tuple[str, ...]) -> RigidPlant | ElasticPlant:
        """Return the plant with joint terms by name; if the robot has elastic joints, simulate links and motors, and say so."""
        import taupi as tp

        described = self.torque_limit == "description"
        outside: dict[str, Any] = {
            "payloads": payload_changes(self.payload_at),
            "torque_limits": True if described else per_joint("torque_limit", self.torque_limit, robot.n),
            "rate_limits": per_joint("rate_limit", self.rate_limit, robot.n),
            "delay": seconds("delay", self.delay),
            "disturbance": per_joint("disturbance", self.disturbance, robot.n),
        }
        springs = self._springs(robot)
        if not springs:
            return tp.RigidPlant(robot, terms, stiction=self.stiction, **outside)
        if self.stiction:
            raise TaupiError(
                "--stiction is for rigid joints, and {robot} has elastic ones: add --rigid.", robot=robot.name
            )
        plant = tp.ElasticPlant(robot, terms or None, **outside)
        count, friction = len(springs), ", ".join(t.name for t in plant.terms) or "no friction"
        print(
            f"{robot.name} has {count} elastic joint{'s' * (count > 1)}: simulating links and motors, {friction}; "
            "--rigid makes the joints rigid",
            file=sys.stderr,
        )
        return plant

    def warn_of_late_payloads(self, duration: float) -> None:
        """Warn if a payload comes after the end."""
        for time, _ in payload_changes(self.payload_at):
            if time >= duration:
                print(
                    f"warning: --payload-at {time:g}s is after the end of the run, {duration:g} s: nothing changes",
                    file=sys.stderr,
                )


# What the user specifies about the sensors; the low-pass filter belongs to how velocities are measured.
SensorChanges = Annotated[dict[str, Any], Changes(Sensors), Without("cutoff_hz")]


def sensors_of(changes: Mapping[str, Any]) -> Sensors | None:
    """Return the sensors with `changes`, None if they are perfect; by default, encoders with a resolution measure differences."""
    if not any(changes.values()):
        return None
    counted = {"velocity": "difference"} if changes.get("resolution") else {}
    return Sensors(**{**counted, **changes})


def payload_changes(texts: Sequence[str]) -> list[tuple[float, Payload | None]]:
    """Return changes of the load, each a time and a mass, from texts such as 2s:1.5kg."""
    import taupi as tp

    changes: list[tuple[float, Payload | None]] = []
    for text in texts:
        time, _, mass = text.partition(":")
        try:
            start, kg = float(time.strip().removesuffix("s")), float(mass.strip().removesuffix("kg"))
        except ValueError:
            raise TaupiError("--payload-at is {got!r}, expected time:mass, such as 2s:1.5kg.", got=text[:40]) from None
        changes.append((start, tp.Payload(kg) if kg else None))
    return changes


def with_substeps(horizon: Horizon, plant: RigidPlant | ElasticPlant, substeps: int | None) -> Horizon:
    """Return a horizon with this many steps per period, or enough that the fastest spring turns by at most 0.7 rad per step."""
    import numpy as np

    import taupi as tp
    from taupi.simulation.integrators import UNDAMPED

    if substeps is not None:
        return dataclasses.replace(horizon, substeps=substeps)
    if horizon.integrator not in UNDAMPED or not isinstance(plant, tp.ElasticPlant):
        return horizon
    swing = plant.fastest(np.zeros(plant.robot.n))
    steps = max(1, math.ceil(swing / horizon.rate / _TURN))
    print(
        f"springs swing at up to {swing:.4g} rad/s: "
        f"{steps} step{'s' * (steps > 1)} of {horizon.integrator} per control period",
        file=sys.stderr,
    )
    return dataclasses.replace(horizon, substeps=steps)


_FILES = (".csv", ".txt", ".tsv", ".dat", ".gz", ".parquet", ".npz", ".mat", ".mcap", ".bag", ".db3")
_DOCUMENTS = ("planar2", "puma560")
_KNOWN = ("sine", *_DOCUMENTS, "none", "[[q], [q], ...]", "minjerk:[[q], ...]", "bspline:[[q], ...]", "a file")


@dataclass(frozen=True)
class MotionOptions(Settings):
    """What an arm should follow.

    Attributes:
        reference: sine (sums of sines that repeat every 4 s), planar2 or puma560 (motions from the papers), none, way-points
            [[q], [q], ...] or minjerk:[...], control points bspline:[...], sines {"offset": ..., "amplitude": ...,
            "omega": ...}, or a file of positions.
        initial: Where it starts, at rest: a JSON list q. By default on the reference.
    """

    reference: str = "sine"
    initial: str | None = None

    def motion(self, robot: Robot, duration: float) -> Reference | None:
        """Return the motion to follow, None for none."""
        return build_reference(self.reference, robot, duration)

    def start(self, n: int) -> np.ndarray | None:
        """Return the position that an arm of n joints starts from; None to start on the reference."""
        if self.initial is None:
            return None
        point = _array(self.initial)
        if point.shape != (n,):
            raise TaupiError(
                "{initial} is {got!r}, expected {expected} numbers: [...].", got=self.initial[:60], expected=n
            )
        return point


def build_reference(text: str, robot: Robot, duration: float) -> Reference | None:
    """Return the motion that a text describes, None for "none".

    It is "sine", a motion from a paper, way-points, control points, the sines of a JSON object, or a file of positions.
    """
    import numpy as np

    import taupi as tp
    from taupi.signals.formats.sources import file_name
    from taupi.simulation.motion_limits import gentle_sines

    if text == "none":
        return None
    if text in _DOCUMENTS:
        return tp.Sinusoids.document(text)
    if text == "sine":
        return gentle_sines(robot)
    value = text.strip()
    kind, colon, rest = value.partition(":")
    if value.startswith("[") or (colon and kind == "minjerk"):
        way = _points(value if value.startswith("[") else rest, robot.n)
        return tp.MinimumJerk(way, np.linspace(0.0, duration, len(way)))
    if colon and kind == "bspline":
        return tp.BSpline(_points(rest, robot.n), duration)
    if value.startswith("{"):
        return _sines(value)
    if Path(file_name(text)).suffix.lower() in _FILES:
        return tp.SampledMotion.read(text, robot)
    raise unknown("reference", text, _KNOWN)


def _sines(text: str) -> Sinusoids:
    import taupi as tp

    needed, keys = {"offset", "amplitude", "omega"}, json_value(text)
    if not isinstance(keys, dict) or not needed <= set(keys) <= needed | {"phase"}:
        raise TaupiError(
            "{reference} is {got!r}, expected a JSON object with offset, amplitude, omega and, if you like, phase.",
            got=text[:60],
        )
    return tp.Sinusoids(keys["offset"], keys["amplitude"], keys["omega"], keys.get("phase", 0.0))


def _points(text: str, n: int) -> np.ndarray:
    """Return way-points or control points from a JSON list of lists."""
    points = _array(text)
    if points.ndim != 2 or points.shape[1] != n or len(points) < 2:
        raise TaupiError(
            "{reference} is {got!r}, expected at least two way-points of {n} numbers: [[...], [...]].",
            got=text[:60],
            n=n,
        )
    return points


def _array(text: str) -> np.ndarray:
    """Return a JSON list as an array, or an empty array if the text is not a list."""
    import numpy as np

    try:
        return np.array(json_value(text), dtype=float)
    except (TypeError, ValueError):
        return np.zeros(0)


@dataclass(frozen=True)
class SimulatedScene:
    """A plant, the motion to follow (or None), and everything else that a run depends on except its law."""

    plant: RigidPlant | ElasticPlant
    reference: Reference | None
    horizon: Horizon
    options: SimulationOptions

    def run(self, law: Law | None, parameters: np.ndarray | None = None) -> Run:
        """Return the run under a law, None for no torque; the estimate starts at `parameters`, by default the robot's own."""
        import taupi as tp

        robot = self.plant.robot
        reference, initial = self.reference, self.options.motion.start(robot.n)
        if isinstance(law, tp.laws.OperationalSlotineLi) and reference is not None:
            # The task reference is the joints' motion seen in the task, from where the joints start.
            initial = reference(0.0).q if initial is None else initial
            motion = tp.operational.TaskMotion(reference, robot, law.task, law.frame)
            motion.require_regular(self.horizon.duration)
            reference = motion
        return tp.simulate(
            self.plant,
            law,
            reference,
            horizon=self.horizon,
            sensors=sensors_of(self.options.sensors),
            initial=initial,
            parameters=parameters,
            seed=self.options.seed,
        )


@dataclass(frozen=True, kw_only=True)
class SimulationOptions(OptionGroup):
    """The options of a simulation."""

    gain: GainOption = None
    motion: MotionOptions
    horizon: HorizonOption
    substeps: Annotated[
        int | None,
        typer.Option(
            "--substeps", help="Steps of the integrator per control period. By default 1, or enough for springs."
        ),
    ] = None
    terms: TermsOption = ""
    surroundings: PlantOptions
    sensors: SensorChanges
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sensor noise.")] = 0
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for report.html, arm.svg and the runs.")
    ] = None
    force: ForceOption = False
    as_json: JsonOption = False
    description: Description

    @property
    def term_names(self) -> tuple[str, ...]:
        """The names of the joint terms."""
        return names(self.terms)

    def scene(self, robot: Robot) -> SimulatedScene:
        """Return the scene for a robot, and print what may surprise a user."""
        self.surroundings.warn_of_late_payloads(self.horizon.duration)
        plant = self.surroundings.plant(robot, self.term_names)
        reference = self.motion.motion(robot, self.horizon.duration)
        return SimulatedScene(plant, reference, with_substeps(self.horizon, plant, self.substeps), self)


PAGE, STRIP, RUN, PICTURE = "report.html", "arm.svg", "run.parquet", "run.png"
MEASURED = "measured.parquet"  # what the sensors measured: a log for identification
FILES = (PAGE, STRIP, RUN, PICTURE, MEASURED)


def refuse_results(directory: Path | None, names: Sequence[str], force: bool) -> None:
    """Refuse a directory that holds results already, before time is spent on new ones."""
    if directory is not None:
        refuse_to_replace(directory, (*FILES, *names), force)


def write_runs(trials: Sequence[Trial], directory: Path, names: Sequence[str], force: bool) -> list[Path]:
    """Write the page and picture strip of all trials, and the run of each, in its own folder if `names` has one for it.

    Return the paths of the files.
    """
    paths: list[Path] = []

    def fill(folder: Path) -> None:
        for trial, name in zip(trials, names or [""], strict=True):
            place = folder / name
            place.mkdir(exist_ok=True)
            paths.extend(place / file for file in _write_run(trial, place, page=len(trials) > 1))
        paths.extend(folder / file for file in _write_page(trials, folder))
        paths[:] = [directory / path.relative_to(folder) for path in paths]

    write_folder(directory, fill, force, (*FILES, *names))
    return paths[::-1]


def _write_run(trial: Trial, folder: Path, page: bool) -> list[str]:
    import taupi as tp

    trial.run.save(folder / RUN)
    files = [RUN]
    if trial.run.measured is not None:
        tp.write_log(trial.run.to_log(measured=True), folder / MEASURED)
        files.append(MEASURED)
    if find_spec("matplotlib") and len(trial.run) > 1:
        tp.plot(trial.run, path=folder / PICTURE)
        files.append(PICTURE)
    return files + (_write_page([trial], folder, strip=False) if page else [])


def _write_page(trials: Sequence[Trial], folder: Path, strip: bool = True) -> list[str]:
    from taupi.reporting.film import strip as arm_strip
    from taupi.reporting.run_content import run_content
    from taupi.reporting.sections.run import run_page

    shown = [t for t in trials if len(t.run) > 1]
    if not shown:
        return []
    provenance = {"command": recorded_command()}
    (folder / PAGE).write_text(run_page(shown, provenance=provenance), encoding="utf-8")
    runs = run_content(shown)
    if not strip or runs.robot is None:
        return [PAGE]
    (folder / STRIP).write_text(arm_strip(runs.robot, runs.arms(), alone=True), encoding="utf-8")
    return [STRIP, PAGE]


def written(paths: Sequence[Path], directory: Path) -> str:
    """Return the line that says what was written, and what to do with it."""
    page = next((p for p in paths if p.name == PAGE), None)
    log = next(p for name in (MEASURED, RUN) for p in paths if p.name == name)
    step = f"taupi log {shlex.quote(str(log))}"
    step = f"open {shlex.quote(str(page))} in a browser, or {step}" if page else step
    return f"wrote {directory}: {', '.join(str(p.relative_to(directory)) for p in paths)}; next: {step}"


def run_data(run: Run) -> dict[str, object]:
    """Return the results of a run as plain data."""
    import numpy as np

    return {
        "samples": len(run),
        "duration": float(run.time[-1]) if len(run) else 0.0,
        "complete": run.complete,
        "joints": list(run.names),
        "largest_error": np.abs(run.error).max(axis=0).tolist() if run.tracks and len(run) else None,
        "largest_torque": np.abs(run.tau).max(axis=0).tolist() if len(run) else None,
        "energy_residual": float(np.abs(run.residual).max()) if run.residual is not None and len(run) else None,
        "notes": list(run.notes),
        "provenance": dict(run.provenance),
    }


def comparison_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return the laws side by side."""
    columns = {"rms_error_first": "rms error, first fifth", "rms_error_last": "last fifth"}
    columns |= {"rms_error_held": "estimate held"} if any("rms_error_held" in row for row in rows) else {}
    columns |= {"largest_torque": "largest torque"}
    columns |= {"payload_estimate": "payload, kg"} if any("payload_estimate" in row for row in rows) else {}
    lines: list[tuple[str, ...]] = [("law", *columns.values(), "V", "largest rise of V")]
    for row in rows:
        v = f"{row['V_first']:.4g} -> {row['V_last']:.4g}" if "V_first" in row else "-"
        rise = f"{row['V_largest_rise']:.1e} of V" if "V_first" in row else "-"
        forms = {key: "{:.3e}" if key.startswith("rms") else "{:.4g}" for key in columns}
        sizes = [forms[key].format(row[key]) if row.get(key) is not None else "-" for key in columns]
        lines.append((row["law"], *sizes, v, rise))
    return "\n".join(table(lines))
