"""A UR10e weighs 2.805 kg: payloads and gains of real recordings, which are no part of the project; skipped without them."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import taupi as tp

DATA = Path(os.environ.get("TAUPI_RECORDINGS") or Path(__file__).parents[3] / "shared" / "data") / "ur10e"
MASS = 2.805
# Torque over current in the controller's own target moments of unloaded runs, friction fitted: it knows nothing of the payload.
CONTROLLER = np.array([11.71, 11.87, 9.64, 10.27, 11.13, 13.07])
QUOTED = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])
# Of another publication.
QUOTED_ELSEWHERE = np.array([10.0, 10.7, 8.46, 9.0, 9.48, 10.12])

pytestmark = [
    pytest.mark.skipif(not DATA.is_dir(), reason="the recordings are not beside the checkout"),
    pytest.mark.filterwarnings("ignore::taupi.errors.TaupiWarning"),
]


def recorded(name, gains):
    columns = {
        "time": "t_s",
        "q": "q_rad_{i}",
        "qd": "qd_rad_s_{i}",
        "current": "current_A_{i}",
        "motor": {"torque_per_ampere": gains.tolist()},
    }
    return tp.read_log(DATA / f"{name}.csv.gz", robot(), columns=columns)


def robot():
    return tp.load(DATA / "ur10e.urdf")


def unloaded(gains):
    return recorded("exc_50s_14harm_unloaded", gains)


def loaded(gains):
    return recorded("exc_50s_14harm_payload", gains)


def identified(*logs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tp.identify(robot(), list(logs))


@pytest.fixture(scope="module")
def fit():
    """The fit of an unloaded run, with gains that know nothing of the payload."""
    return identified(unloaded(CONTROLLER))


def test_gains_that_know_nothing_of_the_payload_weigh_it_within_two_percent(fit):
    load = tp.identify_payload(fit, loaded(CONTROLLER))
    assert load.mass == pytest.approx(MASS, rel=0.02)
    assert abs(load.mass - MASS) < load.intervals().mass
    assert load.before > 0.15 and load.relative < 0.025  # load-dependent friction sees the payload


@pytest.mark.parametrize(("gains", "ratio"), [(QUOTED, 1.1), (QUOTED_ELSEWHERE, 0.87)])
def test_the_interval_with_quoted_gains_contains_the_mass(gains, ratio):
    load = tp.identify_payload(identified(unloaded(gains)), loaded(gains))
    assert load.mass == pytest.approx(ratio * MASS, rel=0.03)
    assert load.gain_uncertainty == 0.1
    assert abs(load.mass - MASS) < load.intervals().mass


@pytest.mark.long
def test_gains_agree_with_the_controllers_and_halves_with_each_other():
    log = loaded(QUOTED)
    half = len(log) // 2
    first, second = log.rows(slice(0, half)), log.rows(slice(half, None))
    gains = tp.identify_gains(robot(), unloaded(QUOTED), first, mass=MASS)
    assert np.abs(gains.values[1:4] / CONTROLLER[1:4] - 1).max() < 0.05
    load = tp.identify_payload(identified(gains.calibrated(unloaded(QUOTED))), gains.calibrated(second))
    assert load.mass == pytest.approx(MASS, rel=0.01)


def test_a_run_of_another_day_shows_no_payload(fit):
    changes = tp.what_changed(fit, recorded("exc_50s_12harm", CONTROLLER))
    assert all(change.kind != "mass" for change in changes.clear)
    with_load = tp.what_changed(fit, loaded(CONTROLLER))
    assert with_load.changes[0].kind == "mass" and with_load.changes[0].value == pytest.approx(MASS, rel=0.02)
