"""Verbs that take settings, with every keyword: for type checkers and editors, written by tools/write_public_names.py."""

# ruff: noqa: E501, I001

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from taupi.bridges.mujoco.write import MjcfExport
from taupi.budget import Budget
from taupi.control.law import Law
from taupi.dynamics.terms import TermsLike
from taupi.dynamics.types import ArrayLike
from taupi.excitation.excitation import Excitation
from taupi.excitation.limits.motion_limits import LimitsLike
from taupi.excitation.settings import Course
from taupi.excitation.settings import Goal
from taupi.excitation.settings import Margins
from taupi.excitation.settings import Search
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.estimators import Estimator
from taupi.identification.estimators import EstimatorLike
from taupi.identification.estimators.friction_shapes import ShapedFit
from taupi.identification.estimators.friction_shapes import ShapesLike
from taupi.identification.fleet.fleet_fit import Fleet
from taupi.identification.gains.gain_estimate import GainEstimate
from taupi.identification.inputs import LogsLike
from taupi.identification.inputs import PriorLike
from taupi.identification.payloads.change_list import ChangeList
from taupi.identification.payloads.payload_estimate import PayloadEstimate
from taupi.identification.physical.bounds import BoundsLike
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.other_models import ModelComparison
from taupi.identification.results.validation import Comparison
from taupi.identification.results.validation import Validation
from taupi.identification.rows.preparation import OneOrEach
from taupi.identification.rows.preparation import Preparation
from taupi.model.robot import Robot
from taupi.robustness.study import RobustnessStudy
from taupi.signals.filtering.delay import Delays
from taupi.signals.filtering.smoothing import Gaps
from taupi.signals.filtering.smoothing import Smoothing
from taupi.signals.log import Log
from taupi.signals.mapping.columns import ColumnsLike
from taupi.signals.read import LogLike
from taupi.signals.read import PathLike
from taupi.signals.reading import Reading
from taupi.signals.reading import RowsLike
from taupi.signals.reading import Streaming
from taupi.signals.suggestion import Suggestion
from taupi.simulation.controller import ControllerLike
from taupi.simulation.horizon import Horizon
from taupi.simulation.plants.plant import Plant
from taupi.simulation.references import ReferenceLike
from taupi.simulation.rollouts.batch import Initial
from taupi.simulation.rollouts.batch import Values
from taupi.simulation.rollouts.ensemble import Ensemble
from taupi.simulation.rollouts.loads import PayloadLike
from taupi.simulation.run import Run
from taupi.simulation.run import RunBatch
from taupi.simulation.run_summary import RunSummary
from taupi.simulation.sensors import Sensors
from typing import Any
import numpy as np
import os

def build_problem(
    robot: Robot,
    logs: LogsLike,
    terms: TermsLike | None = None,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    stream: bool | None = None,
    block: int = 50000,
    *,
    elastic: bool | None = None,
    base: BaseParameters | None = None,
    prior: PriorLike = None,
    workers: int | None = None,
    seed: int = 0,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = None,
    long_gaps: str = "refuse",
    cutoff_hz: float | None = None,
    decimate: int | None = None,
    order: int = 4,
    derivatives: str = "central",
    velocity: str = "auto",
    trim: bool = True,
    slow: OneOrEach | Sequence[float] | np.ndarray = None,
    threshold: OneOrEach | Sequence[float] | np.ndarray = None,
    leave_out: str = "row",
    torque: str | None = None,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = None,
    known_torque: tuple[str, ...] | str | Sequence[Any] = ...,
    reading: Streaming | None = None,
    preparation: Preparation | None = None,
) -> Problem:
    """Return the problem that `taupi.identify` solves, its logs prepared and compressed: a second estimator then costs little.

    `robot`, `logs`, `terms`, `elastic`, `base`, `prior`, `workers` and `seed` are as in `taupi.identify`.

    Fields of `reading` (`taupi.Streaming`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.
    - `stream`: Whether a file is read block by block, in bounded memory; by default, if it is larger than 64 MB and both its format and the derivatives allow it.
    - `block` (50000): Samples per block of a streamed file.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps` ('refuse'): How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order` (4): Order of the filter, up to 16; higher is steeper.
    - `derivatives` ('central'): How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity` ('auto'): Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim` (True): Whether the standstill before and after the motion is cut off.
    - `slow`: Speed v over which dry friction builds up, F tanh(qd / v), rad/s or m/s, one or one per joint; 0 means F sgn(qd). By default the shape of friction that explains the logs best.
    - `threshold`: Rows of joints (of motors, for elastic joints) slower than this are left out, rad/s or m/s, one or one per joint; none by default.
    - `leave_out` ('row'): What is left out when a joint is slow: only its own "row", or the "sample" with the rows of all joints.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    - `known_torque` (()): Torque that acts on a joint besides the motor's, such as that of a counterbalance, as a formula of q, where q1, q2, ... are the robot's joints in order: "elbow = 12*sin(q2)", in Python also {"elbow": "12*sin(q2)"}. None by default.
    """
    ...

def check_mjcf(
    fit: Fit,
    export: MjcfExport,
    log: LogLike,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    *,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = ...,
    long_gaps: str = ...,
    cutoff_hz: float | None = ...,
    decimate: int | None = ...,
    order: int = ...,
    derivatives: str = ...,
    velocity: str = ...,
    trim: bool = ...,
    torque: str | None = ...,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = ...,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
) -> ModelComparison:
    """Return what taking a `fit` to MuJoCo costs on a `log`: its error, step by step from the fit to MuJoCo's torques.

    `export` is what `taupi.write_mjcf` returned. The steps are "placed", without the parameters that MJCF has no place for;
    "no memory", with dry friction that depends only on the present speed, whereas that of the fit depends on the earlier
    motion; and "mujoco", MuJoCo's own inverse dynamics of the file. Steps that change nothing are left out. Logs are prepared as
    by `compare_with`.

    Fields of `reading` (`taupi.Reading`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps`: How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order`: Order of the filter, up to 16; higher is steeper.
    - `derivatives`: How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity`: Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim`: Whether the standstill before and after the motion is cut off.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    """
    ...

def clean_log(
    log: Log,
    *,
    rate_hz: float | None = None,
    short_gap: float | None = None,
    long_gaps: str = "refuse",
    gaps: Gaps | None = None,
) -> Log:
    """Return the `log` sorted, complete, and uniform in time, by the rules that `check_log` states.

    Samples are sorted by time, and the first of equal stamps is kept. Missing values and short gaps are interpolated; longer ones
    are refused, unless `long_gaps` says otherwise (`log.segments()` gives all stretches without one). Then every signal is
    interpolated by cubic splines on a grid of `rate_hz` samples per second, by default the rate of the mean step; stamps that are
    uniform already stay as they are. The `notes` of the result say what was done.

    Fields of `gaps` (`taupi.Gaps`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps` ('refuse'): How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    """
    ...

def compare(
    first: Fit,
    second: Fit,
    log: LogLike,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    *,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = ...,
    long_gaps: str = ...,
    cutoff_hz: float | None = ...,
    decimate: int | None = ...,
    order: int = ...,
    derivatives: str = ...,
    velocity: str = ...,
    trim: bool = ...,
    torque: str | None = ...,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = ...,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
) -> Comparison:
    """Return the comparison of two fits of a robot, `first` and `second`, on a `log`, or a file; see `taupi.validate`.

    Fields of `reading` (`taupi.Reading`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps`: How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order`: Order of the filter, up to 16; higher is steeper.
    - `derivatives`: How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity`: Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim`: Whether the standstill before and after the motion is cut off.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    """
    ...

def compare_with(
    fit: Fit,
    engine: str,
    model: str | os.PathLike[str],
    log: LogLike,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    *,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = ...,
    long_gaps: str = ...,
    cutoff_hz: float | None = ...,
    decimate: int | None = ...,
    order: int = ...,
    derivatives: str = ...,
    velocity: str = ...,
    trim: bool = ...,
    torque: str | None = ...,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = ...,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
) -> ModelComparison:
    """Return the torques of another engine's model on a `log`, beside those of a `fit`: joint by joint, with what differs.

    `engine` is "mujoco", `model` the path of its model, whose joints are found by name. The log, or the file that holds it, is
    prepared as the fit's own logs were, except for the settings named here; all torques pass the same filter.

    Fields of `reading` (`taupi.Reading`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps`: How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order`: Order of the filter, up to 16; higher is steeper.
    - `derivatives`: How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity`: Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim`: Whether the standstill before and after the motion is cut off.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    """
    ...

def compress_log(
    fit: Fit,
    log: LogLike,
    path: PathLike,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    stream: bool | None = None,
    block: int = 50000,
    *,
    force: bool = False,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    reading: Streaming | None = None,
) -> None:
    """Write what a fit needs of a `log`, a Log or a file, to the file at a `path`: triangles of its rows, for `identify_pieces`.

    An earlier `fit` says how: terms and shapes of friction, cutoff, and the load that friction depends on. So the log itself, a
    hundred bytes per sample, need not leave the robot that recorded it; a piece has a few hundred kB. A file that exists is
    overwritten only with `force`, False by default.

    Fields of `reading` (`taupi.Streaming`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.
    - `stream`: Whether a file is read block by block, in bounded memory; by default, if it is larger than 64 MB and both its format and the derivatives allow it.
    - `block` (50000): Samples per block of a streamed file.
    """
    ...

def excite(
    robot: Robot,
    duration: float = 10.0,
    motion: str = "bspline",
    points: int | None = None,
    harmonics: int | None = None,
    bandwidth: float | None = None,
    closed: bool = True,
    periods: int = 1,
    *,
    terms: TermsLike = ...,
    sigma: Any = None,
    given: Any = None,
    start: Any = None,
    limits: LimitsLike = None,
    rate: float = 100.0,
    criterion: str = "d",
    only: tuple[str, ...] | str | Sequence[Any] = ...,
    power: float | None = None,
    scale: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    margin: float = 0.05,
    effort: float | None = 0.9,
    uncertainty: float = 0.0,
    clearance: float = 0.02,
    floor: float | None = None,
    box: tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    ignore: tuple[str, ...] | str | Sequence[Any] = ...,
    capsules: str = "auto",
    packages: tuple[str, ...] | str | Sequence[Any] = ...,
    starts: int = 4,
    seed: int = 0,
    budget: float | None = None,
    course: Course | None = None,
    goal: Goal | None = None,
    margins: Margins | None = None,
    search: Search | None = None,
) -> Excitation:
    """Return a motion that identifies a `robot`'s base parameters as precisely as its limits allow, with a proof of the limits.

    The information in N samples of a motion is G = G0 + sum_k Y_k^T S^-1 Y_k, with Y the base regressor and S = diag(sigma^2) the
    noise of the torques; G^-1 is the covariance of the parameters. The motion minimises -log det G (Goodwin & Payne 1977), or
    another criterion, by a gradient that costs about two regressors. Position, speed, acceleration and jerk keep their limits
    at all times by hulls of control points, torques by interval arithmetic.

    `terms` are the columns that will be fitted besides links. `sigma` is the standard deviation of torques in N m at the rate of
    the design, a number, one per joint, or a `Fit`; by default 1 % of the effort limits. `given` are earlier logs, fits or
    excitations that the motion should complement. `start` (n,), or a log that ends there, is where the robot is: a slow approach
    to the motion's start is put before it. `limits` state what the description does not, by quantity or by joint: lower,
    upper, velocity, acceleration, jerk, effort, torque_rate, as a mapping or as a TOML file.

    Fields of `course` (`taupi.Course`), which may also be given as keywords:

    - `duration` (10.0): Seconds of one period of the motion.
    - `motion` ('bspline'): "bspline", of degree 5 and at rest at both ends, or "fourier", one period of a Fourier series.
    - `points`: Control points of each joint of a B-spline; by default 5 + 2.5 per second.
    - `harmonics`: Harmonics of a Fourier series; by default 5.
    - `bandwidth`: Highest frequency of the motion in Hz, instead of points or harmonics. Keep it well below the cutoff of the identification, and below the first resonance.
    - `closed` (True): Whether a B-spline ends where it begins, so that it can be repeated; a Fourier series always does.
    - `periods` (1): How often the motion is repeated.

    Fields of `goal` (`taupi.Goal`), which may also be given as keywords:

    - `rate` (100.0): Rate in Hz of the samples that the identification will use, after decimation.
    - `criterion` ('d'): "d", the volume of the confidence ellipsoid; "ds", that of the parameters named by only; "a", the mean variance; "e", nearly the largest; "p", their mean of a power; "cond", the condition, for comparison with papers.
    - `only` (()): Names of the base parameters that "ds" is about, such as link6.*.
    - `power`: Power of "p": 1 is the mean variance, larger values give more weight to the largest variances.
    - `scale`: Sizes relative to which "a", "e", "p" and "cond" count errors: one number per base parameter, or one for all. By default the description's values, and 1 for "cond".

    Fields of `margins` (`taupi.Margins`), which may also be given as keywords:

    - `margin` (0.05): Share of every limit of position, speed, acceleration and jerk that is left unused.
    - `effort` (0.9): Share of the effort limits that torques of the description's parameters may take; 0 leaves torques unchecked.
    - `uncertainty` (0.0): Share by which each of those parameters may be off.
    - `clearance` (0.02): Distance in m that links keep from each other, from the floor and from the walls of the box.
    - `floor`: Height in m of the floor; by default there is none.
    - `box`: Corners x, y, z, x, y, z in m of a box that the arm stays in, inf or -inf where it has no wall; by default there is none.
    - `ignore` (()): Pairs of links, such as link5,link7, whose distance does not matter, or an SRDF file that lists them.
    - `capsules` ('auto'): "auto" takes the collision geometry of the description if it has any; "none" leaves collisions unchecked; else a TOML file with a capsule table for each.
    - `packages` (()): Folders in which the packages of meshes are looked for, besides those above the description.

    Fields of `search` (`taupi.Search`), which may also be given as keywords:

    - `starts` (4): Number of random motions to improve, of which the best is kept.
    - `seed` (0): The seed of everything random.
    - `budget`: Seconds after which the best motion so far is taken; unlimited by default.
    """
    ...

def identify(
    robot: Robot,
    logs: LogsLike,
    estimator: EstimatorLike = "consistent",
    terms: TermsLike | None = None,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    stream: bool | None = None,
    block: int = 50000,
    *,
    elastic: bool | None = None,
    base: BaseParameters | None = None,
    prior: PriorLike = None,
    prior_weight: float | None = None,
    bounds: BoundsLike = None,
    workers: int | None = None,
    seed: int = 0,
    contact: str | None = None,
    feet: str = "point",
    client: Any = None,
    resume: str | os.PathLike[str] | None = None,
    skip_bad: bool = False,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = None,
    long_gaps: str = "refuse",
    cutoff_hz: float | None = None,
    decimate: int | None = None,
    order: int = 4,
    derivatives: str = "central",
    velocity: str = "auto",
    trim: bool = True,
    slow: OneOrEach | Sequence[float] | np.ndarray = None,
    threshold: OneOrEach | Sequence[float] | np.ndarray = None,
    leave_out: str = "row",
    torque: str | None = None,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = None,
    known_torque: tuple[str, ...] | str | Sequence[Any] = ...,
    reading: Streaming | None = None,
    preparation: Preparation | None = None,
) -> Fit:
    """Return the base parameters pi_b of a `robot`, estimated from `logs`: tau = Y_b(q, qd, qdd) pi_b + noise.

    `logs` is a Log, a path, or a list of both; they are fitted together, each joint of each log with its own noise. `estimator`
    is a name ("consistent" by default, "wls", ...), or an object such as `taupi.estimators.Feasible(total_mass=(20, 30))`.
    `terms` are the columns of each joint besides those of its link: rotor inertia, an offset and friction by default, which may
    grow with the load of the gear and bend with speed. `base` are the base parameters for these terms, if you have them already;
    by default they are computed. `prior` are standard parameters (p,), or a robot, used where the logs leave parameters
    undetermined; by default those of the description. With a `prior_weight`, the parameters nearest to the prior are taken whose
    sum of squares is at most 1 + `prior_weight` times the least (for "ridge" it is the weight). `bounds` on links are a mapping,
    such as {"forearm": {"mass": (3, 5)}, "total_mass": (20, 30)}, or the path of a TOML file that holds the same; a link has a
    "mass" (lower, upper), kg, a "centre" of mass within (lower corner, upper corner), m, and a "box" (corners), an "ellipsoid"
    (centre, radii) or a "hull" (points) around its body, m, in the frame of the link; "*" stands for every link. There are none
    by default. `workers` is the number of files processed at once, by default the number of cores. Large files are streamed in
    blocks. None of this changes the result: what cannot be done block by block is refused. `seed` (0) is for everything random,
    such as which eight of many logs settings are chosen from, and is kept in the fit's record.

    A path may be a pattern (runs/*.csv), or an address (s3://bucket/run-*.parquet; extra `remote`), with credentials from the
    environment. With a `client`, a `dask.distributed.Client` or the address of a scheduler (extra `cluster`), the workers of a
    cluster read and compress the logs, which they must be able to open; by default, this process does. On machines of one kind,
    no bit of the estimate depends on it. `resume` is a folder in which the pieces of finished logs are kept, so that the same
    call continues after an interruption; none by default. With `skip_bad` (False), logs that cannot be used are left out, and
    the notes of the fit name them.

    `fit.verdict` says whether the fit is "good", "doubtful" or "wrong", and why, with the likely cause; if it is not good, there
    is also a warning.

    A robot with elastic joints is identified from both sides of its springs, (0, u) = Y_b(q, qd, qdd, theta, thetad, thetadd)
    pi_b, from logs with q of the links, theta of the motors on the joint side of the gears, and tau = u, conjugate to theta
    (Zollo et al. 2014). The cutoff is then the one for which the parameters are most certain; it, and whether torques are held
    from sample to sample, are found from the first log. The delay of the encoders is found from all logs. If springs bend little
    beyond what their encoders resolve, the deflection is fitted as a measurement, with an offset of the encoders per log;
    `fit.springs` says what was found. `elastic=False` takes the joints as rigid; by default the description decides. If only
    the motors of elastic joints were measured, use `estimator="output_error"`.

    A floating robot is identified from logs of its joints, `log.base`, `log.wrench` and `log.contact`: six rows of its base and
    one per joint. `contact` says what is done about contact forces. With "measured" their wrenches are part of the equations,
    with "base" only the six rows of the base are used, which need no torque of the joints, and with "projected" unknown forces
    at the frames in contact are taken out of the equations. None, the default, takes what the log has. `feet` says whether frames
    in contact that are projected touch at a "point" (the default), which transmits only forces, or are "flat". The term
    "wrench_offset" is for force sensors that drift: a constant offset of each, in each log, is taken out. Forces of closed
    loops are taken out in the same way, for fixed robots too; a log of such a robot may contain only its motors, and the other
    joints follow by closing the loops.

    Fields of `reading` (`taupi.Streaming`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.
    - `stream`: Whether a file is read block by block, in bounded memory; by default, if it is larger than 64 MB and both its format and the derivatives allow it.
    - `block` (50000): Samples per block of a streamed file.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps` ('refuse'): How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order` (4): Order of the filter, up to 16; higher is steeper.
    - `derivatives` ('central'): How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity` ('auto'): Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim` (True): Whether the standstill before and after the motion is cut off.
    - `slow`: Speed v over which dry friction builds up, F tanh(qd / v), rad/s or m/s, one or one per joint; 0 means F sgn(qd). By default the shape of friction that explains the logs best.
    - `threshold`: Rows of joints (of motors, for elastic joints) slower than this are left out, rad/s or m/s, one or one per joint; none by default.
    - `leave_out` ('row'): What is left out when a joint is slow: only its own "row", or the "sample" with the rows of all joints.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    - `known_torque` (()): Torque that acts on a joint besides the motor's, such as that of a counterbalance, as a formula of q, where q1, q2, ... are the robot's joints in order: "elbow = 12*sin(q2)", in Python also {"elbow": "12*sin(q2)"}. None by default.
    """
    ...

def identify_fleet(
    robot: Robot,
    logs: Mapping[str, LogsLike],
    own: Sequence[str] = ...,
    terms: TermsLike = ...,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    stream: bool | None = None,
    block: int = 50000,
    *,
    when: Mapping[str, Sequence[float]] | None = None,
    base: BaseParameters | None = None,
    prior: PriorLike = None,
    workers: int | None = None,
    seed: int = 0,
    client: Any = None,
    resume: str | os.PathLike[str] | None = None,
    skip_bad: bool = False,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = None,
    long_gaps: str = "refuse",
    cutoff_hz: float | None = None,
    decimate: int | None = None,
    order: int = 4,
    derivatives: str = "central",
    velocity: str = "auto",
    trim: bool = True,
    slow: OneOrEach | Sequence[float] | np.ndarray = None,
    threshold: OneOrEach | Sequence[float] | np.ndarray = None,
    leave_out: str = "row",
    torque: str | None = None,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = None,
    known_torque: tuple[str, ...] | str | Sequence[Any] = ...,
    reading: Streaming | None = None,
    preparation: Preparation | None = None,
) -> Fleet:
    """Return what arms of one kind share, and what is separate for each of them: tau_k = Y_s x_s + Y_o x_k + noise.

    `robot` describes all of them. `logs` maps the name of each arm to its logs, in the order in which they were recorded. `own`
    are the terms that are separate for each arm, viscous and dry friction and offset by default; everything else is shared.
    `terms` are the joint terms, as in `taupi.identify`, but without those that depend on load or bend with speed. `when` says
    when the logs of each arm were recorded, as numbers, such as days; by default 0, 1, 2, ...

    Own parameters are pulled to the fleet, x_k ~ N(centre, deviation^2), inside the least squares, with centre and deviation from
    the fleet itself; faults are not. Arms whose logs contradict the links of the others are found first, and fitted alone.
    Short logs gain most: the logs of all arms determine the links of each.

    `base`, `prior`, `workers`, `seed` (0), `client`, `resume` and `skip_bad` (False) are as in `taupi.identify`.

    Fields of `reading` (`taupi.Streaming`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.
    - `stream`: Whether a file is read block by block, in bounded memory; by default, if it is larger than 64 MB and both its format and the derivatives allow it.
    - `block` (50000): Samples per block of a streamed file.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps` ('refuse'): How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order` (4): Order of the filter, up to 16; higher is steeper.
    - `derivatives` ('central'): How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity` ('auto'): Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim` (True): Whether the standstill before and after the motion is cut off.
    - `slow`: Speed v over which dry friction builds up, F tanh(qd / v), rad/s or m/s, one or one per joint; 0 means F sgn(qd). By default the shape of friction that explains the logs best.
    - `threshold`: Rows of joints (of motors, for elastic joints) slower than this are left out, rad/s or m/s, one or one per joint; none by default.
    - `leave_out` ('row'): What is left out when a joint is slow: only its own "row", or the "sample" with the rows of all joints.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    - `known_torque` (()): Torque that acts on a joint besides the motor's, such as that of a counterbalance, as a formula of q, where q1, q2, ... are the robot's joints in order: "elbow = 12*sin(q2)", in Python also {"elbow": "12*sin(q2)"}. None by default.
    """
    ...

def identify_gains(
    robot: Robot,
    unloaded: LogsLike,
    loaded: LogsLike,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    *,
    mass: float,
    at: str | None = None,
    terms: TermsLike | None = None,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = None,
    long_gaps: str = "refuse",
    cutoff_hz: float | None = None,
    decimate: int | None = None,
    order: int = 4,
    derivatives: str = "central",
    velocity: str = "auto",
    trim: bool = True,
    slow: OneOrEach | Sequence[float] | np.ndarray = None,
    threshold: OneOrEach | Sequence[float] | np.ndarray = None,
    leave_out: str = "row",
    torque: str | None = None,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = None,
    known_torque: tuple[str, ...] | str | Sequence[Any] = ...,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
) -> GainEstimate:
    """Return the torque per ampere of each drive of a `robot`, from currents with and without a load of known `mass` (kg).

    i_j = a_j Y_j (pi_b + B_P pi_P) + noise, with pi_P = 0 in `unloaded` logs, and a_j = 1 / gain. The mass sets the scale; its
    centre and inertia are found as well. The likelihood of the currents is maximised over log a, everything else projected out
    (Golub & Pereyra 1973): gains as columns of a regressor would come out too small, since noise is in the currents.

    `unloaded` and `loaded` are Logs with `current`, paths, or lists of them. `mass` is the load of the loaded ones, fixed to
    the frame `at`, by default the tip. `terms` are those of `taupi.identify`. Torques that logs state, as currents times gains,
    are where the search begins; a current with the opposite sign of its joint needs a negative gain. Gains are on the joint's
    side of the gear: `result.motor_table(ratio)` has those of the motors. Errors are those of the model, or from leaving out
    stretches of time, whichever are larger.

    Fields of `reading` (`taupi.Reading`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps` ('refuse'): How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order` (4): Order of the filter, up to 16; higher is steeper.
    - `derivatives` ('central'): How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity` ('auto'): Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim` (True): Whether the standstill before and after the motion is cut off.
    - `slow`: Speed v over which dry friction builds up, F tanh(qd / v), rad/s or m/s, one or one per joint; 0 means F sgn(qd). By default the shape of friction that explains the logs best.
    - `threshold`: Rows of joints (of motors, for elastic joints) slower than this are left out, rad/s or m/s, one or one per joint; none by default.
    - `leave_out` ('row'): What is left out when a joint is slow: only its own "row", or the "sample" with the rows of all joints.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    - `known_torque` (()): Torque that acts on a joint besides the motor's, such as that of a counterbalance, as a formula of q, where q1, q2, ... are the robot's joints in order: "elbow = 12*sin(q2)", in Python also {"elbow": "12*sin(q2)"}. None by default.
    """
    ...

def identify_payload(
    fit: Fit | str | os.PathLike[str],
    log: LogsLike,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    *,
    at: str | None = None,
    gain_uncertainty: float | None = None,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = ...,
    long_gaps: str = ...,
    cutoff_hz: float | None = ...,
    decimate: int | None = ...,
    order: int = ...,
    derivatives: str = ...,
    velocity: str = ...,
    trim: bool = ...,
    torque: str | None = ...,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = ...,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
) -> PayloadEstimate:
    """Return the payload that a robot carries in a `log`, which its `fit` was made without: mass, centre of mass, inertia.

    tau = Y_b (pi_b + B_P pi_P): the ten parameters pi_P of a body fixed to a link change the base parameters through B.
    `fit` is a Fit, or the path of a fit.json: the logs that it was made from are not needed. `log` is a Log, a path, or a
    list of them with the same payload. `at` is the frame that the payload is fixed to, by default the tip, or the end of the
    longest chain of a tree that names none; results are in its axes. The log is prepared like those of the fit, except for the
    settings named here.

    The body is physically possible. Its errors are those of the noise, of the fit, of friction that drifts from run to run, and
    of the gains between motor currents and torques: masses scale with these, and `gain_uncertainty` is the share by which they
    may be off, one standard deviation. By default it is 0.1 if torques are currents or voltages times stated gains, since
    published gains of one robot differ by as much, and 0.05 if they were measured. State a smaller one if you have calibrated
    them (`taupi.identify_gains`), and 0 for a simulation. What the log leaves open, such as the inertia if the wrist hardly
    moves, has an infinite error.

    Fields of `reading` (`taupi.Reading`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps`: How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order`: Order of the filter, up to 16; higher is steeper.
    - `derivatives`: How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity`: Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim`: Whether the standstill before and after the motion is cut off.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    """
    ...

def identify_shapes(
    robot: Robot,
    logs: LogsLike,
    shapes: ShapesLike,
    start: Sequence[float] | np.ndarray,
    terms: TermsLike | None = None,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    stream: bool | None = None,
    block: int = 50000,
    *,
    estimator: str | Estimator = "wls",
    elastic: bool | None = None,
    factor: float = 30.0,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = None,
    long_gaps: str = "refuse",
    cutoff_hz: float | None = None,
    decimate: int | None = None,
    order: int = 4,
    derivatives: str = "central",
    velocity: str = "auto",
    trim: bool = True,
    slow: OneOrEach | Sequence[float] | np.ndarray = None,
    threshold: OneOrEach | Sequence[float] | np.ndarray = None,
    leave_out: str = "row",
    torque: str | None = None,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = None,
    known_torque: tuple[str, ...] | str | Sequence[Any] = ...,
    reading: Streaming | None = None,
    preparation: Preparation | None = None,
) -> ShapedFit:
    """Return base parameters and shapes of friction: `taupi.identify` with `FrictionShapes(shapes, start, estimator, factor)`.

    `robot`, `logs` and `elastic` are as in `taupi.identify`. `shapes` is a function of positive numbers s (k,) that returns
    terms; the search begins at `start` (k,) and stays within a `factor` of it, 30 by default. `terms` are the linear terms
    besides these, by default those of `taupi.identify`; `estimator`, "wls" by default, fits the parameters once the shapes are
    known.

    Fields of `reading` (`taupi.Streaming`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.
    - `stream`: Whether a file is read block by block, in bounded memory; by default, if it is larger than 64 MB and both its format and the derivatives allow it.
    - `block` (50000): Samples per block of a streamed file.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps` ('refuse'): How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order` (4): Order of the filter, up to 16; higher is steeper.
    - `derivatives` ('central'): How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity` ('auto'): Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim` (True): Whether the standstill before and after the motion is cut off.
    - `slow`: Speed v over which dry friction builds up, F tanh(qd / v), rad/s or m/s, one or one per joint; 0 means F sgn(qd). By default the shape of friction that explains the logs best.
    - `threshold`: Rows of joints (of motors, for elastic joints) slower than this are left out, rad/s or m/s, one or one per joint; none by default.
    - `leave_out` ('row'): What is left out when a joint is slow: only its own "row", or the "sample" with the rows of all joints.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    - `known_torque` (()): Torque that acts on a joint besides the motor's, such as that of a counterbalance, as a formula of q, where q1, q2, ... are the robot's joints in order: "elbow = 12*sin(q2)", in Python also {"elbow": "12*sin(q2)"}. None by default.
    """
    ...

def log_blocks(
    path: PathLike,
    size: int = 100000,
    robot: Robot | None = None,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    *,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    reading: Reading | None = None,
) -> Iterator[Log]:
    """Yield a long log in blocks of `size` samples, 100 000 by default, in bounded memory: CSV, Parquet and NPZ.

    `path`, `robot` and everything else are as in `read_log`.

    Fields of `reading` (`taupi.Reading`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.
    """
    ...

def output_error(
    robot: Robot,
    log: LogLike,
    terms: TermsLike | None = None,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    stream: bool | None = None,
    block: int = 50000,
    *,
    prior: PriorLike = None,
    base: BaseParameters | None = None,
    iterations: int = 60,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = None,
    long_gaps: str = "refuse",
    cutoff_hz: float | None = None,
    decimate: int | None = None,
    order: int = 4,
    derivatives: str = "central",
    velocity: str = "auto",
    trim: bool = True,
    slow: OneOrEach | Sequence[float] | np.ndarray = None,
    threshold: OneOrEach | Sequence[float] | np.ndarray = None,
    leave_out: str = "row",
    torque: str | None = None,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = None,
    known_torque: tuple[str, ...] | str | Sequence[Any] = ...,
    reading: Streaming | None = None,
    preparation: Preparation | None = None,
) -> Fit:
    """Return base parameters of an elastic `robot` from its motors alone: `taupi.identify` with `OutputError(iterations)`.

    `log` is a Log or a path: its theta, or its q if it has none, are the motor positions on the joint side of the gears, its tau
    the motor torques. `terms` are those of `taupi.identify` for elastic joints, and "damping", by default; `prior` and `base` are
    as there. There are at most `iterations` (60) steps. All base parameters act on the motors; which of them a log determines
    follows from the sensitivities: see `fit.conditioning`, `fit.undetermined`, and the intervals.

    Fields of `reading` (`taupi.Streaming`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.
    - `stream`: Whether a file is read block by block, in bounded memory; by default, if it is larger than 64 MB and both its format and the derivatives allow it.
    - `block` (50000): Samples per block of a streamed file.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps` ('refuse'): How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order` (4): Order of the filter, up to 16; higher is steeper.
    - `derivatives` ('central'): How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity` ('auto'): Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim` (True): Whether the standstill before and after the motion is cut off.
    - `slow`: Speed v over which dry friction builds up, F tanh(qd / v), rad/s or m/s, one or one per joint; 0 means F sgn(qd). By default the shape of friction that explains the logs best.
    - `threshold`: Rows of joints (of motors, for elastic joints) slower than this are left out, rad/s or m/s, one or one per joint; none by default.
    - `leave_out` ('row'): What is left out when a joint is slow: only its own "row", or the "sample" with the rows of all joints.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    - `known_torque` (()): Torque that acts on a joint besides the motor's, such as that of a counterbalance, as a formula of q, where q1, q2, ... are the robot's joints in order: "elbow = 12*sin(q2)", in Python also {"elbow": "12*sin(q2)"}. None by default.
    """
    ...

def prepare(
    log: Log,
    cutoff_hz: float | None = None,
    decimate: int | None = None,
    order: int = 4,
    derivatives: str = "central",
    velocity: str = "auto",
    trim: bool = True,
    *,
    score: Callable[[float], float] | None = None,
    filtering: str = "zero-phase",
    period: float | None = None,
    rate_hz: float | None = None,
    delays: Delays | None = None,
    short_gap: float | None = None,
    long_gaps: str = "refuse",
    smoothing: Smoothing | None = None,
) -> Log:
    """Return the `log` ready for a regressor: q, qd, qdd and tau filtered alike, so that F(tau) = F(Y) pi.

    Steps, in this order, each with a line in `notes`: clean the log (`clean_log`; `rate_hz` is the rate of its grid, Hz, by
    default that of the mean step); cut off the standstill at both ends; choose a cutoff from the spectrum of q if `cutoff_hz` is
    None (`choose_cutoff`, which takes `score`); filter q and all efforts by the same Butterworth filter; differentiate q by
    `derivatives`; cut one period of the cutoff at each end; keep every `decimate`-th sample. The motor side, if there is one, is
    treated in the same way.

    `filtering` is "zero-phase" by default; "causal" filters forwards only, as a controller does, and "none" not at all. Splines
    and series smooth q themselves, so `filtering` then applies to the efforts only. `period` is that of a "fourier" series, s; by
    default `find_period` finds it. `delays`, such as {"theta": 0.002}, are seconds by which signals are shifted earlier first; a
    torque that is held from sample to sample has a delay of minus half a sample.

    Fields of `smoothing` (`taupi.Smoothing`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps` ('refuse'): How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order` (4): Order of the filter, up to 16; higher is steeper.
    - `derivatives` ('central'): How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity` ('auto'): Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim` (True): Whether the standstill before and after the motion is cut off.
    """
    ...

def prepare_blocks(
    blocks: Iterable[Log],
    rate_hz: float,
    cutoff_hz: float | None = ...,
    decimate: int | None = ...,
    order: int = ...,
    derivatives: str = ...,
    velocity: str = ...,
    *,
    delays: Delays | None = None,
    smoothing: Smoothing | None = None,
) -> Iterator[Log]:
    """Yield the `blocks` of a long log ready for a regressor, as if it had been prepared as a whole; memory holds one block.

    The rows must be complete, in order, and uniform at `rate_hz` samples per second. Each block is filtered by a zero-phase
    Butterworth filter and differentiated as by `prepare`; settings that are left open are chosen from the first block. As many
    neighbours as the filter remembers (about ten periods of the cutoff) are included on both sides of a block, and then dropped;
    `derivatives` of the whole record are refused. `delays` are as in `prepare`. One period is cut at both ends of the record.

    Fields of `smoothing` (`taupi.Smoothing`), which may also be given as keywords:

    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order`: Order of the filter, up to 16; higher is steeper.
    - `derivatives`: How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity`: Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    """
    ...

def read_log(
    path: PathLike,
    robot: Robot | None = None,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    *,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    reading: Reading | None = None,
) -> Log:
    """Return the log in the file at a `path`: CSV (also .gz), Parquet, NPZ, MAT, ROS 1 and ROS 2 bags, MCAP.

    An address works as well: s3://, gs://, az:// or https:// (extra `remote`), with credentials from the environment.
    If `columns` names no signal, the signals are guessed from the headers; the guess is in `log.notes`, and headers that could
    mean two things are refused. With a `robot`, joints are matched by name and put in its order; by default they keep that of the
    file. The result is in SI units.

    Fields of `reading` (`taupi.Reading`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.
    """
    ...

def reading_budget(
    text_bytes: int = 33554432,
    data_bytes: int = 67108864,
    log_bytes: int = 1099511627776,
    unpacked_bytes: int = 134217728,
    unpacked_ratio: int = 64,
    nodes: int = 200000,
    columns: int = 10000,
    joints: int = 1000,
    seconds: float = 60.0,
    *,
    budget: Budget | None = None,
) -> Iterator[Budget]:
    """Let files that are read inside a `with` statement take more, or less, than by default.

    Limits that are not given keep their defaults. For commands, and for processes that are started later, set the same limits in
    the environment: TAUPI_BUDGET="unpacked_bytes=4294967296,seconds=600".

    Fields of `budget` (`taupi.signals.Budget`), which may also be given as keywords:

    - `text_bytes` (33554432): Largest robot description, column mapping, or file of limits or capsules.
    - `data_bytes` (67108864): Largest saved fit or mesh.
    - `log_bytes` (1099511627776): Largest log; long ones are read block by block.
    - `unpacked_bytes` (134217728): Most memory that the numbers of a file may take as doubles, and most bytes that a compressed file may unpack to.
    - `unpacked_ratio` (64): A file may unpack to more than `unpacked_bytes` if that is at most this many times its own size.
    - `nodes` (200000): Elements of an XML file, or keys and values of a TOML file, counting includes and copies.
    - `columns` (10000): Columns, or arrays, of a log.
    - `joints` (1000): Joints of a robot, or links.
    - `seconds` (60.0): Time to read one file, plus one second for every MiB of its size.
    """
    ...

def robustness(
    robot: Robot,
    laws: Sequence[Law] | None = None,
    reference: ReferenceLike | None = None,
    duration: float = 10.0,
    rate: float = 1000.0,
    integrator: str = "rk4",
    substeps: int = 1,
    control: str = "sampled",
    *,
    roll_outs: int = 256,
    spread: float = 0.2,
    within: float = 0.05,
    seed: int = 0,
    threads: int | None = None,
    device: str = "cpu",
    tolerance: float = 1e-09,
    every: int = 1,
    horizon: Horizon | None = None,
) -> RobustnessStudy:
    """Return a RobustnessStudy: simulated arms whose links differ from the model in the control laws, and how they performed.

    `robot`: the model in the laws. The links of the arms differ from it at random, and are physically possible.
    `laws`: by default PD with gravity, computed torque and Slotine and Li's law, each with its default gains.
    `reference`: a motion to follow; by default each joint swings by half a radian (or 0.1 m) or up to its limits, at its own
        frequency.
    `roll_outs`: how many arms.
    `spread`: how much their parameters differ, as a share.
    `within`: the rms error in the last fifth of the time, rad or m, below which a roll-out counts as converged, at every joint.
    `seed`: seed of the arms and of their initial positions, up to 0.1 rad (or m) from the reference.
    `threads` and `device`: as in `simulate_many`; on a GPU a hundred thousand roll-outs take minutes.

    Fields of `horizon` (`taupi.Horizon`), which may also be given as keywords:

    - `duration` (10.0): Length of the simulation, s.
    - `rate` (1000.0): Control periods per second, Hz.
    - `integrator` ('rk4'): Of fixed steps: "euler", "semi_implicit" (velocities first), "midpoint", "rk4", or "rosenbrock", linearly implicit, for stiff springs. Of SciPy, with adaptive steps: "rk45", "dop853", "lsoda", "radau", "bdf".
    - `substeps` (1): Fixed steps per control period.
    - `control` ('sampled'): "sampled" holds the torque for each control period; "continuous" evaluates the law inside the integrator, and integrates its estimate with the state.
    - `tolerance` (1e-09): Relative error that adaptive steps allow.
    - `every` (1): Keep one out of this many control periods in the run.
    """
    ...

def simulate(
    plant: Plant,
    controller: ControllerLike = None,
    reference: ReferenceLike | None = None,
    duration: float = 10.0,
    rate: float = 1000.0,
    integrator: str = "rk4",
    substeps: int = 1,
    control: str = "sampled",
    sensors: Sensors | None = None,
    initial: Initial = None,
    parameters: ArrayLike | None = None,
    inputs: Values | None = None,
    *,
    seed: int = 0,
    tolerance: float = 1e-09,
    every: int = 1,
    horizon: Horizon | None = None,
) -> Run:
    """Return a Run: the plant under a controller that follows a reference, dx/dt = f(x, tau).

    `plant`: a `RigidPlant` or an `ElasticPlant`.
    `controller`: a law, a Program of some of (t, q, qd, q_des, qd_des, qdd_des, pi_hat) that gives tau (and dpi), a
    function (t, q, qd) -> tau, an array of torques (N, n), or None for no torque. Row i of an array is held over control
    period i; rows beyond the last period are not used (the lecture's Euler scheme, equations.md, D18).
    `reference`: a motion to follow (`Sinusoids`, `BSpline`, ...), any function t -> (q, qd, qdd), or None.
    `sensors`: the sensors through which the controller sees the plant; by default it sees the plant itself.
    `initial`: (q, qd), or q at rest; by default the beginning of the reference, or zero.
    `parameters`: where a law's estimate starts; by default at the robot's own parameters.
    `inputs`: values of a Program's other inputs by name, such as gains.
    `seed`: of the sensors' noise.

    Laws, programs and None run compiled, all steps in one call; Python functions, adaptive steps and stiction go through Python
    in each period. The torque of an `ElasticPlant` is its motors', its laws see (theta, thetad) as well, and functions are called
    with (t, q, qd, theta, thetad). Its motors start where the springs carry the weight, unless `initial` has all positions, (q,
    theta).

    Fields of `horizon` (`taupi.Horizon`), which may also be given as keywords:

    - `duration` (10.0): Length of the simulation, s.
    - `rate` (1000.0): Control periods per second, Hz.
    - `integrator` ('rk4'): Of fixed steps: "euler", "semi_implicit" (velocities first), "midpoint", "rk4", or "rosenbrock", linearly implicit, for stiff springs. Of SciPy, with adaptive steps: "rk45", "dop853", "lsoda", "radau", "bdf".
    - `substeps` (1): Fixed steps per control period.
    - `control` ('sampled'): "sampled" holds the torque for each control period; "continuous" evaluates the law inside the integrator, and integrates its estimate with the state.
    - `tolerance` (1e-09): Relative error that adaptive steps allow.
    - `every` (1): Keep one out of this many control periods in the run.
    """
    ...

def simulate_many(
    plant: Plant,
    controller: ControllerLike = None,
    reference: ReferenceLike | None = None,
    duration: float = 10.0,
    rate: float = 1000.0,
    integrator: str = "rk4",
    substeps: int = 1,
    control: str = "sampled",
    sensors: Sensors | None = None,
    initial: Initial = None,
    parameters: ArrayLike | None = None,
    inputs: Values | None = None,
    payloads: Sequence[PayloadLike] | None = None,
    seeds: Sequence[int] | None = None,
    *,
    tolerance: float = 1e-09,
    every: int = 1,
    links: ArrayLike | None = None,
    threads: int | None = None,
    device: str = "cpu",
    horizon: Horizon | None = None,
    ensemble: Ensemble | None = None,
) -> RunBatch:
    """Return a RunBatch: B roll-outs at once, over the vector unit's lanes and the cores, each as `simulate` returns it.

    What differs between the roll-outs is in the fields of `ensemble`, and in a `controller` that is a list of B laws (those that
    share a program share a batch). Everything else, such as `plant`, `reference` and `sensors`, is shared and is as in
    `simulate`. A Python function is called with (t, q, qd), the latter two (B, n); an array of torques is (N, n) for all, or (B,
    N, n) if another argument also has B rows.

    Fields of `horizon` (`taupi.Horizon`), which may also be given as keywords:

    - `duration` (10.0): Length of the simulation, s.
    - `rate` (1000.0): Control periods per second, Hz.
    - `integrator` ('rk4'): Of fixed steps: "euler", "semi_implicit" (velocities first), "midpoint", "rk4", or "rosenbrock", linearly implicit, for stiff springs. Of SciPy, with adaptive steps: "rk45", "dop853", "lsoda", "radau", "bdf".
    - `substeps` (1): Fixed steps per control period.
    - `control` ('sampled'): "sampled" holds the torque for each control period; "continuous" evaluates the law inside the integrator, and integrates its estimate with the state.
    - `tolerance` (1e-09): Relative error that adaptive steps allow.
    - `every` (1): Keep one out of this many control periods in the run.

    Fields of `ensemble` (`taupi.ensembles.Ensemble`), which may also be given as keywords:

    - `initial`: (B, n) positions at rest, or a pair (q, qd) of such arrays; by default the beginning of the reference, or zero.
    - `parameters`: (B, p), where the estimate of a law starts; by default at the robot's own parameters.
    - `inputs`: Values of a Program's other inputs by name, (B, ...).
    - `payloads`: B entries, each a Payload, None, or a list of (time, Payload).
    - `seeds`: (B,) seeds of the sensors' noise; by default 0 to B - 1.
    - `links`: (B, 10 per link), other parameters of the plant's links, in the order of `robot.parameters`; the law does not know them.
    - `threads`: How many cores are used; by default all.
    - `device` ('cpu'): "cpu", or "cuda", which runs laws and Programs on a GPU, one thread per roll-out, in fixed steps.
    """
    ...

def simulate_summary(
    plant: Plant,
    controller: ControllerLike = None,
    reference: ReferenceLike | None = None,
    duration: float = 10.0,
    rate: float = 1000.0,
    integrator: str = "rk4",
    substeps: int = 1,
    control: str = "sampled",
    sensors: Sensors | None = None,
    initial: Initial = None,
    parameters: ArrayLike | None = None,
    inputs: Values | None = None,
    payloads: Sequence[PayloadLike] | None = None,
    seeds: Sequence[int] | None = None,
    *,
    late: float = 0.8,
    tolerance: float = 1e-09,
    every: int = 1,
    links: ArrayLike | None = None,
    threads: int | None = None,
    device: str = "cpu",
    horizon: Horizon | None = None,
    ensemble: Ensemble | None = None,
) -> RunSummary:
    """Return a RunSummary: the results of B roll-outs without their records, so that there may be a hundred thousand of them.

    `plant`, `controller`, `reference`, `sensors` and `ensemble` are as in `simulate_many`; the controller is one law or Program
    for all.
    `late`: errors after this share of the duration are also reported separately, by default those of the last fifth.

    Fields of `horizon` (`taupi.Horizon`), which may also be given as keywords:

    - `duration` (10.0): Length of the simulation, s.
    - `rate` (1000.0): Control periods per second, Hz.
    - `integrator` ('rk4'): Of fixed steps: "euler", "semi_implicit" (velocities first), "midpoint", "rk4", or "rosenbrock", linearly implicit, for stiff springs. Of SciPy, with adaptive steps: "rk45", "dop853", "lsoda", "radau", "bdf".
    - `substeps` (1): Fixed steps per control period.
    - `control` ('sampled'): "sampled" holds the torque for each control period; "continuous" evaluates the law inside the integrator, and integrates its estimate with the state.
    - `tolerance` (1e-09): Relative error that adaptive steps allow.
    - `every` (1): Keep one out of this many control periods in the run.

    Fields of `ensemble` (`taupi.ensembles.Ensemble`), which may also be given as keywords:

    - `initial`: (B, n) positions at rest, or a pair (q, qd) of such arrays; by default the beginning of the reference, or zero.
    - `parameters`: (B, p), where the estimate of a law starts; by default at the robot's own parameters.
    - `inputs`: Values of a Program's other inputs by name, (B, ...).
    - `payloads`: B entries, each a Payload, None, or a list of (time, Payload).
    - `seeds`: (B,) seeds of the sensors' noise; by default 0 to B - 1.
    - `links`: (B, 10 per link), other parameters of the plant's links, in the order of `robot.parameters`; the law does not know them.
    - `threads`: How many cores are used; by default all.
    - `device` ('cpu'): "cpu", or "cuda", which runs laws and Programs on a GPU, one thread per roll-out, in fixed steps.
    """
    ...

def suggest_mapping(
    path: PathLike,
    robot: Robot | None = None,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    *,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    reading: Reading | None = None,
) -> Suggestion:
    """Return a column mapping for the file at a `path`, as its headers suggest it, to be checked and completed.

    Unlike `taupi.read_log`, it refuses nothing: if several groups of columns could be one signal, it takes the group with one
    column per joint of the `robot`, if there is one, or else the largest, and names the others in a comment.

    Fields of `reading` (`taupi.Reading`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.
    """
    ...

def validate(
    fit: Fit,
    log: LogLike,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    *,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = ...,
    long_gaps: str = ...,
    cutoff_hz: float | None = ...,
    decimate: int | None = ...,
    order: int = ...,
    derivatives: str = ...,
    velocity: str = ...,
    trim: bool = ...,
    torque: str | None = ...,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = ...,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
) -> Validation:
    """Return how well a `fit` predicts a `log`, or the log in the file at a path: tau_hat = Y_b pi_b compared with tau.

    The log is prepared as the fitted logs were, with the cutoff that was chosen for predictions, except for the settings named
    here. Every row counts, slow ones too.

    Fields of `reading` (`taupi.Reading`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps`: How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order`: Order of the filter, up to 16; higher is steeper.
    - `derivatives`: How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity`: Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim`: Whether the standstill before and after the motion is cut off.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    """
    ...

def what_changed(
    first: Fit | str | os.PathLike[str],
    second: Fit | LogsLike,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    topic: str | None = None,
    format: str | None = None,
    *,
    at: str | None = None,
    begin: float | None = None,
    end: float | None = None,
    rows: RowsLike = None,
    encoder_offset: float | tuple[float, ...] | Sequence[float] | np.ndarray | None = None,
    short_gap: float | None = ...,
    long_gaps: str = ...,
    cutoff_hz: float | None = ...,
    decimate: int | None = ...,
    order: int = ...,
    derivatives: str = ...,
    velocity: str = ...,
    trim: bool = ...,
    torque: str | None = ...,
    encoder_delay: OneOrEach | Sequence[float] | np.ndarray = ...,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
) -> ChangeList:
    """Return what has changed about a robot since its `first` fit: a load, the friction of joints, with standard errors.

    `second` is another Fit of the same robot, or a log, a path or a list of logs. A change of base parameters is explained by a
    body at the frame `at`, by default the tip, and by friction; what is compared is friction at the largest speed of the first
    fit's logs, which is known best. `first` may be the path of a fit.json. Logs are prepared as those of the first fit were,
    except for the settings named here.

    Fields of `reading` (`taupi.Reading`), which may also be given as keywords:

    - `columns`: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path of a TOML file; guessed from the headers by default.
    - `rate_hz`: Samples per second, Hz, for a file without a time column.
    - `topic`: Topic of a ROS bag, needed if the bag has several topics of joint states.
    - `format`: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    - `begin`: Samples before this time (s after the log's first sample) are left out; none by default.
    - `end`: Samples from this time on (s after the log's first sample) are left out; none by default.
    - `rows`: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
    - `encoder_offset`: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.

    Fields of `preparation` (`taupi.Preparation`), which may also be given as keywords:

    - `short_gap`: Longest gap that is interpolated, s; ten samples by default.
    - `long_gaps`: How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without one.
    - `cutoff_hz`: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
    - `decimate`: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
    - `order`: Order of the filter, up to 16; higher is steeper.
    - `derivatives`: How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward" differences, or not at all, taking qd and qdd as "recorded".
    - `velocity`: Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
    - `trim`: Whether the standstill before and after the motion is cut off.
    - `torque`: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they act half a sample later; by default "sampled", and found from the log for elastic joints.
    - `encoder_delay`: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by default. The late encoders are shifted.
    """
    ...
