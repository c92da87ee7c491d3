"""Single facts of formulas: friction, scatter, stretches of time, means of logs, intervals, priors, springs."""

from types import SimpleNamespace

import numpy as np
import pytest

import taupi as tp
from taupi.identification.commands.friction import friction_along
from taupi.identification.commands.model import DrivenModel, Scales
from taupi.identification.commands.solver import LeastSquares
from taupi.identification.commands.stretches import stretches_of
from taupi.identification.estimators.friction_shapes import _independent
from taupi.identification.estimators.output_error import _pieces
from taupi.identification.fleet.identify_fleet import _mean_of_logs
from taupi.identification.payloads.difference import later_recordings
from taupi.identification.payloads.payload_estimate import PayloadEstimate
from taupi.identification.physical.entropy import _root
from taupi.identification.physical.region import consistent_region
from taupi.identification.physical.standard_parameters import exact_solution
from taupi.identification.results.torque_parts import Speeds, faster_joints
from taupi.identification.springs.spring_rows import regress_deflection
from taupi.model.parameters import LINK_KINDS

ARM = tp.load("elbow2r")


def test_plain_friction_along_a_motion_is_viscous_and_dry_alone():
    t = np.arange(400) / 200
    q = np.stack([np.sin(3 * t), 0.5 * np.cos(4 * t)], axis=1)
    stretches = stretches_of(tp.Log(t, q, qdes=q + 0.01, drive=tp.Drive(kp=(300.0, 200.0), kd=(9.0, 5.0))), ARM)
    bodies = np.array(ARM.parameters.values, dtype=float)
    model = DrivenModel(ARM, ("viscous", "coulomb"), Scales.of(stretches), bodies)
    values = {"shoulder.viscous": 2.0, "elbow.viscous": 1.2, "shoulder.coulomb": 1.5, "elbow.coulomb": 0.8}
    seen = friction_along(model, np.array([values[name] for name in model.names]), stretches[0])
    expected = [2.0, 1.2] * seen.velocity + [1.5, 0.8] * np.sign(seen.velocity)
    assert np.allclose(seen.identified, expected, rtol=1e-12)


def test_values_are_scattered_as_far_as_their_errors_but_not_as_far_as_nothing_is_known():
    """The error of a parameter counts up to half of its scale; steps are up to a hundred times as far."""
    free = {"lower": np.full(2, -np.inf), "upper": np.full(2, np.inf)}
    fake = SimpleNamespace(
        model=SimpleNamespace(column=free.__getitem__),
        stretches=[range(100)],
        noise=SimpleNamespace(sigma=np.ones(2)),
        normal=lambda x: (np.diag([1e4, 1e-8]), np.zeros(2)),  # one is known to 0.0007 scales, the other not at all
        cost=lambda x: 1.0,
        _scale=np.ones(2),
    )
    values = np.array(LeastSquares.scattered(fake, np.zeros(2), 2000, np.random.default_rng(0)))
    known, unknown = np.abs(values).max(axis=0)
    assert known < 100 * 5 * np.sqrt(1 / 200 / 1e4) and 10 < unknown < 100 * 5 * 0.5


def test_noise_below_a_cutoff_has_two_independent_values_per_period_of_it():
    problem = SimpleNamespace(
        recordings=[SimpleNamespace(cutoff_hz=10.0, rate_hz=100.0), SimpleNamespace(cutoff_hz=None, rate_hz=100.0)],
        factors=[
            SimpleNamespace(file=0, rows=500),
            SimpleNamespace(file=0, rows=300),
            SimpleNamespace(file=1, rows=40),
        ],
    )
    assert _independent(problem) == pytest.approx(2 * 10 * 5 + 40)  # 5 s below 10 Hz, and 40 samples without a filter


def test_stretches_of_a_simulated_log_last_three_periods_of_the_cutoff():
    rng = np.random.default_rng(0)
    slope, residual = rng.normal(size=(250, 1, 2)), rng.normal(size=(250, 1))
    solver = SimpleNamespace(
        slope=lambda v: slope,
        residual=lambda v: residual,
        weight=np.ones(1),
        drive=SimpleNamespace(h=0.005, steps=2, cutoff_hz=5.0),  # 100 Hz
        links=SimpleNamespace(n=1),
    )
    assert [f.rows for f in _pieces(solver, np.zeros(2))] == [60, 60, 60, 60, 10]


def test_a_log_that_determines_nothing_has_no_part_in_the_mean_of_an_arm():
    values, variances = np.array([[1.0], [np.nan], [3.0]]), np.array([[0.1], [np.nan], [0.1]])
    assert _mean_of_logs(values, variances, np.array([9.0])).tolist() == [2.0]
    assert _mean_of_logs(values[1:2], variances[1:2], np.array([9.0])).tolist() == [9.0]


def test_the_first_number_of_a_state_says_how_far_an_observer_has_begun():
    observer = tp.momentum_observer(ARM)
    assert observer.described_state[0].startswith("0 before the first step, 0.5 if the momentum is known, then 1")
    state = observer.init()
    begun = [state.vector[0], observer.init([0.0, 0.0], [0.0, 0.0]).vector[0]]
    for _ in range(2):
        _, state = observer.step(state, [0.1, 0.2], [0.0, 0.0], [0.0, 0.0], 0.01)
        begun.append(state.vector[0])
    assert begun == [0.0, 0.5, 1.0, 1.0]


def test_a_later_log_in_a_file_is_read_as_a_whole(tmp_path):
    """However large it is: a difference is found from few logs, and blocks would only cost bits."""
    t, w = np.arange(1000)[:, None] / 100, np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(ARM)(q, qd, qdd))
    fit = tp.identify(ARM, log, terms=(), cutoff_hz=10)
    tp.write_log(log, tmp_path / "later.csv")
    (recording,) = later_recordings(fit.basis, fit.preparation, fit.logs, tmp_path / "later.csv", tp.Reading())
    assert not recording.source.streamed


def test_intervals_of_a_payload_reach_to_both_sides():
    ten = np.array([2.0, 0.2, 0.0, 0.0, 0.5, 0.0, 0.0, 0.5, 0.0, 0.5])
    fit = SimpleNamespace(robot=ARM)
    load = PayloadEstimate(fit, "tip", ten, 1e-4 * np.eye(10), np.ones(10, dtype=bool), 0.0, 0.1, 0.5, ("log",))
    (mass,) = (row for row in load.rows() if row[0] == "mass")
    low, high = (float(end) for end in mass[3].split(" .. "))
    assert high - 2.0 == pytest.approx(2.0 - low) == pytest.approx(load.intervals().mass, rel=0.05)


def test_a_point_of_mass_is_floored_in_units_of_its_own_mass_and_length():
    mass, length = 0.25, 0.3
    sizes = mass * np.repeat([1.0, length, length**2], [1, 3, 6])
    root = _root(mass * np.eye(10)[0], sizes, list(LINK_KINDS))
    expected = mass * np.diag([1e-4 * length**2] * 3 + [1.0])
    assert np.allclose(root @ root.T, expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", ["elbow2r", "ur10", "panda"])
def test_of_all_bodies_with_the_same_base_parameters_the_described_ones_are_nearest_to_themselves(name):
    base = tp.base_parameters(tp.load(name))
    prior = base.standard.values
    region = consistent_region(base.robot, base.standard, prior)
    found = exact_solution(region, base.projection * region.scale, base.projection @ prior)
    assert np.abs((found.pi - prior) / region.scale).max() < 1e-6


def test_friction_is_extrapolated_if_any_term_needs_a_speed():
    fit = SimpleNamespace(speeds={"j1": 1.0, "j2": 1.0}, terms=(tp.terms.Viscous(), tp.terms.Offset()))
    assert faster_joints(fit, {"j1": 2.0, "j2": 1.1}) == {"j1": Speeds(2.0, 1.0)}
    assert faster_joints(SimpleNamespace(speeds=fit.speeds, terms=fit.terms[1:]), {"j1": 2.0}) == {}


def test_each_log_has_a_compliance_of_its_own():
    rng, compliances, pieces = np.random.default_rng(0), (1e-3, 2e-3), []
    for file, compliance in enumerate(compliances):
        for stretch in range(3):
            load, speed = rng.normal(size=(2, 40))
            bend = compliance * load + 0.01 * file  # and an offset of each log
            columns = (-bend, load, speed, np.sign(speed), np.ones(40), np.zeros(40))
            pieces.append(SimpleNamespace(file=file, joint=0, stretch=stretch, r=np.column_stack(columns)))
    layout = SimpleNamespace(sprung=(0,), stiffness=(0,), parameters=2, nuisance=lambda k: np.array([2, 3, 4]))
    seen = regress_deflection(layout, pieces, 0, np.array([500.0, 1.0]), (True, True, True))
    assert np.allclose(seen.runs, compliances, rtol=1e-9) and seen.offsets == pytest.approx([0.0, 0.01], abs=1e-3)
