"""Singular configurations: measured, warned near, refused at; and who keeps the guard."""

import pickle
import warnings

import numpy as np
import pytest
from support import ROUNDING, error

import taupi as tp
from taupi.dynamics.kinematics import TASKS
from taupi.errors import TaupiError, TaupiWarning
from taupi.program import Port, trace

UNIT = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)


def test_measure_is_that_of_the_singular_values():
    q = np.random.default_rng(0).uniform(-2, 2, (4, 3, 6))
    arm = tp.load("puma560")
    got = tp.operational.singularity(arm, task="twist")(q)
    # The reach by hand: a2, then (a3, d3), then d4. What stands below the first joint does not count.
    reach = 0.4318 + np.hypot(0.0203, 0.15005) + 0.4318
    j = tp.jacobian(arm)(q) / np.array([1, 1, 1, reach, reach, reach])[:, None]
    values = np.linalg.svd(j, compute_uv=False)
    assert error(got.values, values) < ROUNDING
    assert error(got.smallest, values[..., -1]) < ROUNDING
    assert error(1 / got.condition, values[..., -1] / values[..., 0]) < ROUNDING
    assert error(np.linalg.norm(np.einsum("...m,...mn->...n", got.direction, j), axis=-1), got.smallest) < ROUNDING
    assert "condition" in repr(got)


@pytest.mark.parametrize(("name", "task"), [("puma560", "twist"), ("panda", "position"), ("planar3r", "planar")])
def test_quick_bound_is_at_least_the_square_of_the_condition(name, task):
    """So that no configuration that ought to be warned of is passed over; and at most m^2 times it, so that few are looked at."""
    arm = tp.load(name)
    measure = tp.operational.singularity(arm, task=task)
    q = np.random.default_rng(4).uniform(-3, 3, (500, arm.n))
    ratio = measure.bound(q) / measure(q).condition ** 2
    assert ratio.min() > 1 - 1e-6
    assert ratio.max() < measure(q).values.shape[-1] ** 2 + 1e-6


@pytest.mark.parametrize("task", TASKS)
def test_scale_does_not_depend_on_the_unit_of_length(task):
    """The same arm in millimetres has the same singular values; sliding joints too."""

    def arm(unit):
        slide = {"joint": "prismatic", "alpha": -np.pi / 3, "d": 0.2 * unit}
        return tp.Robot.from_dh([{"a": 0.4 * unit, "alpha": np.pi / 2}, slide, {"a": 0.3 * unit}])

    small = tp.operational.singularity(arm(1.0), task=task)([0.3, 0.2, 0.5])
    large = tp.operational.singularity(arm(1000.0), task=task)([0.3, 200.0, 0.5])
    assert small.values[0] > 0.1
    assert error(small.values, large.values) < ROUNDING


@pytest.mark.parametrize("stretch", [0.0, np.pi])
def test_lost_direction_of_a_stretched_arm(stretch):
    """A 2R that is stretched or folded cannot move along its own line."""
    for turn in (0.0, 0.7, -2.0):
        lost = tp.operational.singularity(UNIT, task="xy")([turn, stretch])
        assert lost.ratio < 1e-10
        along = np.array([np.cos(turn), np.sin(turn)])
        assert abs(abs(lost.direction @ along) - 1) < 1e-9


PROGRAMS = {
    "mass": (tp.operational.mass, 0),
    "dynamics": (tp.operational_dynamics, 1),
    "force": (tp.operational.force, 3),
    "regressor": (tp.operational_regressor, 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operational_programs_refuse_and_warn(name):
    build, more = PROGRAMS[name]
    program = build(UNIT, task="xy")
    rest = [np.ones(2)] * more
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program([0.3, 0.9], *rest)
        program(np.zeros((0, 2)), *rest)
        program([np.nan, 0.0], *rest)  # NaN passes through, as in NumPy
    batch = np.array([[[0.1, 0.8], [0.2, 0.9]], [[0.25, 0.0], [0.3, 1.0]]])
    with pytest.raises(
        TaupiError,
        match=r"sample 1, 0, q = \(0.25, 0\), is singular.* (0\.0e\+00|\d\.\de-1\d) of the largest, and it cannot move",
    ):
        program(batch, *rest)
    with pytest.raises(TaupiError, match=r"the configuration, q = \(0.3, 0\)"):
        program(q=[0.3, 0.0], **dict(zip([p.name for p in program.inputs[1:]], rest, strict=True)))
    batch[1, 0, 1] = 1e-4
    batch[0, 0, 1] = 1e-3
    with pytest.warns(TaupiWarning, match=r"2 of 4 configurations are near.*2.00e-05 of the largest") as caught:
        program(batch, *rest)
    assert caught[0].filename == __file__


def test_compiled_objects_and_symbols_are_not_guarded():
    import casadi as cs

    mass = tp.operational.mass(UNIT, task="xy")
    for target in ("cpu", "numpy"):
        with np.errstate(all="ignore"):
            assert not np.abs(mass.compile(target)([0.3, 0.0])).max() < 1e12
    assert mass(cs.SX.sym("q", 2)).shape == (2, 2)


@pytest.mark.parametrize(
    ("task", "wrist", "turn", "message"),
    [
        ("pose_zyz", (2, 1, 0), 0.0, "its coordinates have no derivative there"),
        ("pose", (2, 1, 2), np.pi / 2, "of the largest"),
    ],
)
def test_singularities_of_the_coordinates_are_refused(task, wrist, turn, message):
    """Euler's angles at no rotation, and roll, pitch and yaw at a pitch of 90 degrees, on three slides and a wrist."""
    screws = np.vstack([np.eye(6)[3:], np.eye(6)[list(wrist)]])
    arm = tp.Robot.from_poe(screws, [(0, 0, 0)] * 6, links=[{"m": 1, "inertia": np.eye(3)}] * 6)
    mass = tp.operational.mass(arm, task=task)
    assert np.isfinite(mass([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])).all()
    with pytest.raises(TaupiError, match=message):
        mass([0.1, 0.2, 0.3, 0.0, turn, 0.0])
    if wrist == (2, 1, 0):
        assert np.isfinite(tp.operational.mass(arm, task="pose_vector")(np.zeros(6))).all()


def test_many_singular_configurations_are_all_seen():
    """The quick bound must not be fooled by the rounding of a singular matrix: 2 x 1000 arms stretched or folded."""
    for arm, task in ((UNIT, "xy"), (tp.load("planar3r"), "planar")):
        q = np.random.default_rng(5).uniform(-3, 3, (1000, arm.n))
        q[:, 1] = np.where(q[:, 0] > 0, 0.0, np.pi)
        quick = tp.operational.singularity(arm, task=task).bound(q)
        assert not (quick < 1e6).any()


def test_symbols_bound_later_are_those_of_the_guard():
    arm = tp.Robot.from_dh([{"a": "l1"}, {"a": "l2"}], links=[{"m": "m1"}, {"m": "m2"}])
    mass = tp.operational.mass(arm, task="xy").bind(l1=1, l2=1, m1=1, m2=1)
    assert np.isfinite(mass([0.3, 0.9])).all()
    with pytest.raises(TaupiError, match="singular"):
        mass([0.3, 0.0])
    with pytest.warns(TaupiWarning, match="near"):
        mass.bind(l2=1e-4)([0.3, 0.9])


def test_who_keeps_the_guard():
    y = tp.operational_regressor(UNIT, task="xy")
    state = [0.3, 0.0], *np.ones((3, 2))
    for kept in (y.reduced(), y.columns("*.m"), y.take([0], axis=0), pickle.loads(pickle.dumps(y))):
        with pytest.raises(TaupiError, match="singular"):
            kept(*state)
    for dropped in (y.times(), y.transpose_times(), y.jacobian("q"), y.jvp("q"), y.vjp("q")):
        assert dropped.guard is None
    assert tp.regressor(UNIT).guard is None


def test_a_guard_sees_the_arrays_of_a_plain_call():
    import dataclasses

    seen = []
    square = trace("square", lambda x, y: x * y, [Port("x"), Port("y")], [Port("z")])
    watched = dataclasses.replace(square, guard=lambda program, *arrays: seen.append((program.name, arrays)))
    assert watched(y=3.0, x=2.0) == 6.0
    assert seen == [("square", (2.0, 3.0))]
    watched.compile("cpu")(1.0, 1.0)
    assert len(seen) == 1


def test_measure_refuses_what_is_not_a_robot():
    with pytest.raises(TaupiError, match="expected a Robot"):
        tp.operational.singularity("puma560")
    with pytest.raises(TaupiError, match="No frame 'hand'"):
        tp.operational.singularity(UNIT, frame="hand")
