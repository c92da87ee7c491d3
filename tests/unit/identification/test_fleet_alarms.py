"""Alarms of fleets: at most one healthy fleet in twenty raises one, and faults are still found."""

import numpy as np
import pytest
from scipy.signal import lfilter

import taupi as tp
from taupi.identification.fleet.fleet_fit import ArmEstimate, Fleet
from taupi.identification.fleet.population import spread_of

NAMES = ("a.viscous", "b.viscous", "a.coulomb", "b.coulomb", "a.offset", "b.offset")
SPREADS = {"equal": np.full(4, 0.15), "unequal": np.array([0.05, 0.1, 0.2, 0.4])}
FRICTION_ERROR, OFFSET_ERROR = 0.03, 0.05
SHARE = 0.05  # of healthy fleets that may raise an alarm


def estimated(rng, arms, spread, fault=1.0):
    """A fleet by its estimates alone: friction around 1 and offsets around 0; that of b in the first arm has a fault."""
    truth = np.hstack([np.exp(spread * rng.normal(size=(arms, 4))), np.zeros((arms, 2))])
    truth[0, 3] *= fault
    errors = np.array([FRICTION_ERROR] * 4 + [OFFSET_ERROR] * 2)
    values, variances = truth + errors * rng.normal(size=truth.shape), np.tile(errors**2, (arms, 1))
    spreads = {
        name: spread_of(name, values[:, i], variances[:, i], ratios="offset" not in name)
        for i, name in enumerate(NAMES)
    }
    estimates = {
        f"arm-{k}": ArmEstimate(values[k], variances[k], ("log",), (0.0,), values[k : k + 1], variances[k : k + 1])
        for k in range(arms)
    }
    return Fleet({}, {}, spreads, {}, estimates)


def alarms(arms, spread, count, seed=0):
    """How many of so many healthy fleets raise an alarm."""
    rng = np.random.default_rng([seed, arms])
    return sum(bool(estimated(rng, arms, SPREADS[spread]).outliers()) for _ in range(count))


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(("arms", "count"), [(3, 5), (5, 60), (8, 40), (12, 40), (30, 20)])
def test_healthy_fleets_raise_few_alarms(arms, count, spread):
    assert alarms(arms, spread, count) <= SHARE * count


@pytest.mark.long
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(("arms", "count"), [(3, 20), (5, 1000), (8, 800), (12, 600), (30, 300), (100, 100)])
def test_many_healthy_fleets_raise_few_alarms(arms, count, spread):
    assert alarms(arms, spread, count, seed=1) <= SHARE * count


@pytest.mark.parametrize(("arms", "factor", "share"), [(5, 5.0, 0.8), (8, 4.0, 0.9), (30, 3.0, 0.9)])
def test_faults_are_found(arms, factor, share):
    rng = np.random.default_rng(arms)
    found = [estimated(rng, arms, SPREADS["equal"], factor).outliers() for _ in range(20)]
    assert np.mean([("arm-0", "b.coulomb") in [(o.arm, o.parameter) for o in each] for each in found]) >= share


def test_a_fault_hides_no_other():
    """Two of eight arms have the same fault: neither makes the other look usual."""
    rng = np.random.default_rng(2)
    fleet = estimated(rng, 8, SPREADS["equal"], 6.0)
    own, by_log = fleet.estimates["arm-1"].own, fleet.estimates["arm-1"].by_log
    own[3], by_log[0, 3] = (6.0 * own[3],) * 2
    spread = spread_of(NAMES[3], np.array([e.own[3] for e in fleet.estimates.values()]), np.full(8, FRICTION_ERROR**2))
    fleet = Fleet({}, {}, {**fleet.spread, NAMES[3]: spread}, {}, fleet.estimates)
    assert [(o.arm, o.parameter) for o in sorted(fleet.outliers(), key=lambda o: o.arm)] == [
        ("arm-0", "b.coulomb"),
        ("arm-1", "b.coulomb"),
    ]


def test_what_stands_out_among_few_comparisons_may_not_among_many():
    """The same estimate beside more arms that are all alike: its chance is that of the worst of many."""
    rng = np.random.default_rng(3)
    chances = []
    for arms in (30, 300):
        fleet = estimated(rng, arms, SPREADS["equal"])
        values = np.array([e.own for e in fleet.estimates.values()])
        scale = (np.log(values[:, 0]).std(), np.log(values[:, 0]).mean())
        fleet.estimates["arm-0"].own[0] = np.exp(scale[1] + 4.2 * scale[0])
        chances.append(next(o.chance for o in fleet.outliers(3.5, 1.0) if (o.arm, o.parameter) == ("arm-0", NAMES[0])))
    assert chances[1] > chances[0]


def simulated(arms, seed, spread=0.15, noise=0.05, coloured=0.0, runs=1, duration=12.0, **settings):
    """A healthy fleet of planar arms whose friction differs by `spread`, with so many logs each, whose noise may be coloured."""
    rng, robot = np.random.default_rng([seed, arms]), tp.load("elbow2r")
    t, logs = np.arange(int(100 * duration))[:, None] / 100, {}

    def log(arm):
        w, phase = rng.uniform(1, 3, (3, 2)), rng.uniform(0, 6, (3, 2))
        angle = w * t[:, None] + phase
        q, qd, qdd = (np.sum(x, axis=1) for x in (np.sin(angle), w * np.cos(angle), -w * w * np.sin(angle)))
        error = lfilter([np.sqrt(1 - coloured**2)], [1, -coloured], rng.normal(size=q.shape), axis=0)
        tau = tp.inverse_dynamics(arm, terms=("viscous", "coulomb"))(q, qd, qdd) + noise * error
        return tp.Log(t[:, 0], q, tau=tau, names=robot.joint_names)

    for k in range(arms):
        viscous, coulomb = ([0.5, 0.4] * np.exp(spread * rng.normal(size=(2, 2)))).T
        arm = robot.with_friction(viscous=viscous, coulomb=coulomb)
        logs[f"arm-{k}"] = [log(arm) for _ in range(runs)]
    return tp.identify_fleet(robot, logs, **settings)


USUAL = {"own": ("viscous", "coulomb", "offset"), "cutoff_hz": 10}
OTHERS = {
    "defaults": {},
    "several logs": {"runs": 3},
    "coloured noise": {"coloured": 0.95},
    "wide spread": {"spread": 0.4},
    "noisy": {"noise": 0.5},
    "long logs": {"duration": 40.0},
}


def raises_alarm(fleet):
    return bool(fleet.outliers() or fleet.changes() or fleet.odd_arms)


def test_whole_healthy_fleets_are_quiet():
    assert not any(raises_alarm(simulated(5, seed, **USUAL)) for seed in range(6))


@pytest.mark.long
@pytest.mark.parametrize(("arms", "count"), [(3, 10), (5, 60), (8, 40), (12, 20), (30, 20), (100, 4)])
def test_many_whole_healthy_fleets_are_quiet(arms, count):
    assert sum(raises_alarm(simulated(arms, seed, **USUAL)) for seed in range(count)) <= SHARE * count


@pytest.mark.long
@pytest.mark.parametrize("what", OTHERS)
def test_healthy_fleets_of_other_kinds_are_quiet(what):
    sizes = {3: 20, 5: 40, 8: 20, 12: 10}
    alarms = [raises_alarm(simulated(n, seed, **OTHERS[what])) for n, count in sizes.items() for seed in range(count)]
    assert sum(alarms) <= SHARE * len(alarms)


@pytest.mark.parametrize("rate", [0, -1, np.nan, "rare"])
def test_a_rate_of_false_alarms_is_positive(rate):
    with pytest.raises(tp.TaupiError) as error:
        estimated(np.random.default_rng(0), 5, SPREADS["equal"]).outliers(4.0, rate)
    assert error.value.argument == "false_alarms"
