"""The verdict on public recordings, as they are and with each mistake that people make.

The recordings are no part of the project; without them these tests are skipped, and `tests/unit/identification/test_verdict.py`
checks each cause on simulated logs. The table of docs/howto/verdict.md is what the long test prints.
"""

import warnings
from functools import partial

import numpy as np
import pytest
import spoilt

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

pytestmark = pytest.mark.skipif(not spoilt.DATA.is_dir(), reason="the recordings are not beside the checkout")

MOTION = ("q", "qd")


def on_logs(change):
    """Return the change of a case by a change(log, joint) of each of its logs."""
    return lambda case, other: case.changed(partial(change, j=case.joint))


def first_but_last(log, j):
    """Return the joint, but not the last one, whose offset turns the frame of its link: no torque tells of it."""
    return min(j, log.n - 2)


# Each with the causes of which one has to be named.
MISTAKES = {
    "degrees": (on_logs(lambda log, j: spoilt.degrees(log)), {"degrees"}),
    "seconds as milliseconds": (on_logs(lambda log, j: spoilt.milliseconds(log, factor=1e-3)), {"milliseconds"}),
    "joints 1 and 2 swapped": (on_logs(lambda log, j: spoilt.swapped(log, i=0, j=1)), {"swapped"}),
    "torques 1 and 2 swapped": (on_logs(lambda log, j: spoilt.swapped(log, i=0, j=1, signals=("tau",))), {"swapped"}),
    "positions 1 and 2 swapped": (on_logs(lambda log, j: spoilt.swapped(log, i=0, j=1, signals=MOTION)), {"swapped"}),
    "sign of q": (on_logs(partial(spoilt.flipped, signals=MOTION)), {"sign"}),
    "sign of tau": (on_logs(partial(spoilt.flipped, signals=("tau",))), {"sign"}),
    "sign of all tau": (on_logs(lambda log, j: log.with_(tau=-log.tau)), {"sign"}),
    "all tau times 1000": (on_logs(lambda log, j: log.with_(tau=1000 * log.tau)), {"torque_unit"}),
    "tau times 1000": (on_logs(lambda log, j: spoilt.scaled(log, first_but_last(log, j), 1000.0)), {"torque_factor"}),
    "tau times 3": (on_logs(partial(spoilt.scaled, factor=3.0)), {"torque_factor"}),
    "tau times 0.5": (on_logs(partial(spoilt.scaled, factor=0.5)), {"torque_factor"}),
    "tau times 1.3": (on_logs(partial(spoilt.scaled, factor=1.3)), {"torque_factor"}),
    "q off by 1 rad": (on_logs(lambda log, j: spoilt.offset(log, first_but_last(log, j), 1.0)), {"offset"}),
    "an angle wrapped": (on_logs(spoilt.wrapped), {"wrapped"}),
    "one spike of 1e6": (on_logs(spoilt.spiked), {"spikes"}),
    "tau clipped at 60 %": (on_logs(lambda log, j: spoilt.clipped(log)), {"clipped"}),
    "tau 0.1 s late": (on_logs(lambda log, j: spoilt.delayed(log, seconds=0.1)), {"delay"}),
    "tau 0.02 s late": (on_logs(lambda log, j: spoilt.delayed(log, seconds=0.02)), {"delay"}),
    "samples dropped": (on_logs(lambda log, j: spoilt.dropped(log)), {"dropped"}),
    "stamps repeated": (on_logs(lambda log, j: spoilt.repeated_stamps(log)), {"stamps"}),
    "noise for tau": (on_logs(lambda log, j: spoilt.noise(log)), {"unrelated"}),
    "gravity subtracted": (lambda case, other: spoilt.without_gravity(case), {"gravity_compensated"}),
    "another robot's log": (spoilt.with_another, {"logs_differ", "payload"}),
    "another robot's file": (
        lambda case, other: spoilt.described_by(case, other.robot),
        {"other_robot", "gravity_direction"},
    ),
}
# Those that need another robot with as many joints.
OF_TWO = {"another robot's log", "another robot's file"}
# What recordings as they are give rise to, with what supports it: the torque of a lift that is not in N; torques that count the
# other way by the description and by friction; samples that are missing, torques that reach a limit, and torques that no gain
# of a drive explains.
SUPPORTED = {
    "tiago": {"torque_factor", "spikes"},
    "lbr_med7": {"sign"},
    "krang": {"dropped", "clipped"},
    "schunk": {"torque_factor", "dropped"},
}


def verdict_on(case):
    """Return the verdict on a case, whose warning is expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        return case.identify().verdict


@pytest.fixture(scope="module")
def ur10e():
    return spoilt.ur10e()


def test_a_recording_as_it_is_has_a_good_verdict(ur10e):
    verdict = verdict_on(ur10e)
    assert verdict.level == "good" and verdict.reasons == ()


@pytest.mark.parametrize("mistake", ["degrees", "joints 1 and 2 swapped", "sign of tau", "q off by 1 rad"])
def test_a_mistake_in_a_recording_is_named(mistake, ur10e):
    change, causes = MISTAKES[mistake]
    verdict = verdict_on(change(ur10e, None))
    assert verdict.level != "good" and causes & set(verdict.causes), verdict


def test_a_part_of_a_recording_has_no_cause_that_limits_contradict():
    """In the first two thirds, too, the lift's torque is what does not fit; exchanged, it would leave its rail."""
    case = spoilt.tiago()
    verdict = verdict_on(case.changed(lambda log: log.rows(slice(0, 3879))))
    assert "torque_factor" in verdict.causes and "swapped" not in verdict.causes


# Recordings without a description that explains their torque, with mostly friction in it, or that repeat a motion: half of the
# mistakes show.
WITHOUT_A_WITNESS = {"lbr_med7", "schunk", "double_pendulum", "dvrk", "krang", "tiago", "lwr4"}


@pytest.mark.long
@pytest.mark.parametrize("name", spoilt.RECORDINGS)
def test_every_mistake_on_every_recording(name):
    """Most mistakes are named, nothing is named without support, and no large error is called good without a word."""
    case, named, silent = spoilt.RECORDINGS[name](), [], []
    unspoilt = verdict_on(case)
    print(f"| {case.name} | as it is | {unspoilt.level} | {', '.join(unspoilt.causes)} |", flush=True)
    # What is left, and bodies that are odd, are facts about the fit, and no mistake in the log.
    facts = {"unexplained", "unreal", "masses", "fallback"}
    assert unspoilt.level == "good" or set(unspoilt.causes) <= SUPPORTED.get(name, set()) | facts
    other = spoilt.RECORDINGS[spoilt.OTHERS[name]]() if name in spoilt.OTHERS else None
    for mistake, (change, causes) in MISTAKES.items():
        if (other is None and mistake in OF_TWO) or ("columns" in case.settings and mistake == "gravity subtracted"):
            continue
        try:
            verdict = verdict_on(change(case, other))
        except TaupiError as error:
            print(f"| {case.name} | {mistake} | refused | {error} |", flush=True)
            named.append("unit" in str(error))
            continue
        named.append(bool(causes & set(verdict.causes)))
        print(f"| {case.name} | {mistake} | {verdict.level} | {', '.join(verdict.causes)} |", flush=True)
        left = verdict.left_out
        if verdict.level == "good" and left is not None and left.total > 0.1 and "Usable" not in left.sentence:
            silent.append(mistake)
    print(f"{case.name}: {sum(named)} of {len(named)} named")
    assert not silent
    assert np.mean(named) >= (0.5 if name in WITHOUT_A_WITNESS else 0.8)


def test_gravity_that_was_subtracted_is_no_factor():
    """What is left of the torque is mostly friction, so that the description explains none of it: it speaks all the same."""
    verdict = verdict_on(spoilt.without_gravity(spoilt.rokae()))
    assert verdict.causes[0] == "gravity_compensated" and "torque_factor" not in verdict.causes


@pytest.mark.parametrize("mistake", ["sign of tau", "tau times 1000"])
def test_mistakes_in_torques_that_are_mostly_friction(mistake):
    """Links hardly show in these currents: friction that would drive names the sign, a stated limit the factor."""
    change, causes = MISTAKES[mistake]
    case = spoilt.krang()
    assert not causes & set(verdict_on(case).causes)
    found = [reason for reason in verdict_on(change(case, None)).details if reason.cause in causes]
    assert [reason.joints for reason in found] == [(case.robot.joint_names[case.joint],)]


def test_a_factor_is_that_of_the_recorded_torque():
    """Half of it had been taken out as a relative gain of the drive, before the verdict looked."""
    verdict = verdict_on(spoilt.rokae().changed(lambda log: spoilt.scaled(log, 3, 3.0)))
    (reason,) = (r for r in verdict.details if r.cause == "torque_factor")
    assert reason.numbers["factor"] == pytest.approx(1 / 3, rel=0.05)


@pytest.mark.parametrize(
    ("folder", "description", "run", "mapping"),
    [
        pytest.param("dfki_double_pendulum_A0", "robot", "run_12", "pendulum", id="a-joint-that-swings-freely"),
        pytest.param("lbr_med7", "robot", "other_tool_recording", "lbr", id="masses-beside-a-remark"),
        pytest.param("xmate7p", "XM7p", "traj_3", "xmate", id="masses-that-nothing-explains"),
    ],
)
def test_no_cause_without_support(folder, description, run, mapping):
    """No factor where friction explains the torque as well; and masses alone are no reason to refuse an export."""
    robot = tp.load(spoilt.DATA / folder / f"{description}.urdf")
    verdict = verdict_on(spoilt.Case(run, robot, spoilt.read(folder, [run], robot, spoilt.mappings()[mapping])))
    assert verdict.level != "wrong" and "torque_factor" not in verdict.causes, verdict
    assert all(reason.level == "good" for reason in verdict.details if reason.cause == "masses")


@pytest.mark.long
def test_a_loaded_run_beside_others():
    robot = tp.load(spoilt.DATA / "ur10e" / "ur10e.urdf")
    files = ["exc_50s_12harm", "exc_50s_14harm_unloaded", "exc_50s_14harm_payload"]
    logs = spoilt.read("ur10e", files, robot, spoilt.mappings()["ur10e"])
    verdict = verdict_on(spoilt.Case("UR10e", robot, logs))
    assert verdict.level != "good" and "payload" in verdict.causes
