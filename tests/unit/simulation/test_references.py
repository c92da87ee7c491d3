"""References: derivatives by differences, traced equal to sampled, ends at rest, files."""

import casadi as cs
import numpy as np
import pytest
from support import error

import taupi as tp
from taupi.simulation.references import as_reference

RNG = np.random.default_rng(2)
T = np.linspace(0, 2, 41)
MOTIONS = {
    "sinusoids": tp.Sinusoids.document("puma560"),
    "phase": tp.Sinusoids([0.1], [[0.5, 0.2]], [[2.0, 3.0]], [[0.3, 1.0]]),
    "bspline": tp.BSpline(RNG.uniform(-1, 1, (9, 3)), duration=2.0),
    "cubic": tp.BSpline(RNG.uniform(-1, 1, (9, 3)), duration=2.0, degree=3, rest=False),
    "jerk": tp.MinimumJerk(RNG.uniform(-1, 1, (4, 2)), times=[0.0, 0.5, 1.2, 2.0]),
    "samples": tp.SampledMotion(T, np.stack([np.sin(3 * T), np.cos(T)], axis=1)),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_velocities_and_accelerations_are_derivatives(name):
    motion, h = MOTIONS[name], 1e-6
    t = np.random.default_rng(0).uniform(0.01, 1.99, (5, 7))
    q, qd, qdd = motion(t)
    assert q.shape == qd.shape == qdd.shape == (5, 7, motion.n)
    assert error(qd, (motion(t + h).q - motion(t - h).q) / (2 * h)) < 1e-6
    assert error(qdd, (motion(t + h).qd - motion(t - h).qd) / (2 * h)) < 1e-6


@pytest.mark.parametrize("name", MOTIONS)
def test_traced_is_sampled(name):
    motion = MOTIONS[name]
    ports = [tp.program.Port(k, (motion.n,)) for k in ("q", "qd", "qdd")]
    program = tp.program.trace("motion", lambda t: tuple(motion.trace(t)), [tp.program.Port("t")], ports)
    t = np.concatenate([np.linspace(-0.5, 2.5, 61), [0.0, 0.5, 2.0]])
    if name in ("sinusoids", "phase"):
        t = np.abs(t)
    for got, want in zip(program.compile("numpy")(t), motion(t), strict=True):
        assert error(got, want) < 1e-10


def test_ends_are_at_rest_and_stay():
    for name in ("bspline", "jerk"):
        motion = MOTIONS[name]
        points = np.asarray(motion.points)
        for t, point in ((-1.0, points[0]), (0.0, points[0]), (2.0, points[-1]), (5.0, points[-1])):
            q, qd, qdd = motion(t)
            assert error(q, point) < 1e-12 and np.abs(qd).max() < 1e-9 and np.abs(qdd).max() < 1e-6


def test_a_clamped_spline_is_scipys():
    from scipy.interpolate import BSpline

    motion = MOTIONS["cubic"]
    knots = np.concatenate([[0.0] * 3, np.linspace(0, 2, 7), [2.0] * 3])
    theirs = BSpline(knots, motion.points, 3)
    t = np.linspace(0, 2, 33)[:-1]
    for order, got in enumerate(motion(t)):
        assert error(got, theirs(t, nu=order)) < 1e-12


def test_a_motion_from_a_csv(tmp_path):
    path = tmp_path / "motion.csv"
    rows = "\n".join(f"{t + 5:.6f},{np.sin(2 * t):.12f},{t**2:.12f}" for t in T)
    path.write_text("time,q1,q2\n" + rows + "\n")
    motion = tp.SampledMotion.read(path)
    assert error(motion(1.03).q, [np.sin(2.06), 1.03**2]) < 1e-6
    assert error(motion(1.03).qdd, [-4 * np.sin(2.06), 2.0]) < 1e-3
    run = tp.simulate(tp.RigidPlant(tp.load("elbow2r")), None, motion, duration=0.1)
    assert error(run.reference.q, motion(run.time).q) == 0 and error(run.q[0], motion(0.0).q) == 0
    path.write_text("time,q1,q2\n" + "".join(f"{k},{k},{'nan' if k == 3 else k}\n" for k in range(9)))
    with pytest.raises(tp.TaupiError, match=r"motion\.csv: samples has entries that are not finite"):
        tp.SampledMotion.read(path)


def test_the_documents_motion_is_the_specs():
    motion = tp.Sinusoids.document("planar2")
    t = 0.7
    want = [-0.8 + 0.8 * np.sin(1.3 * t) + 0.5 * np.sin(3.1 * t), 0.6 + 0.6 * np.sin(2 * t) + 0.7 * np.sin(4.3 * t)]
    assert error(motion(t).q, want) < 1e-14


def test_bad_references_are_named():
    for make, message in (
        (lambda: tp.Sinusoids([0.0, 1.0], [[1.0]], [[1.0]]), "amplitude has shape"),
        (lambda: tp.Sinusoids([0.0], [[1.0]], [[1.0], [2.0]]), "omega has shape"),
        (lambda: tp.Sinusoids(["a"], [[1.0]], [[1.0]]), "offset is"),
        (lambda: tp.Sinusoids([np.nan], [[1.0]], [[1.0]]), "not finite"),
        (lambda: tp.Sinusoids.document("puma"), "Did you mean 'puma560'"),
        (lambda: tp.BSpline([[1.0]], 1.0), "expected at least 2"),
        (lambda: tp.BSpline(np.ones((9, 1)), 0.0), "duration is 0"),
        (lambda: tp.BSpline(np.ones((9, 1)), 1.0, degree=1), "degree is 1"),
        (lambda: tp.MinimumJerk([[0.0], [1.0]], [1.0, 0.0]), "do not increase"),
        (lambda: tp.MinimumJerk([[0.0], [1.0]], [1.0]), "expected one each"),
        (lambda: tp.SampledMotion([0, 1], [[0.0], [1.0]]), "at least 4"),
        (lambda: as_reference(lambda t: [1, 2], 2)(np.zeros(1)), r"gave \[1, 2\]"),
        (lambda: tp.SampledMotion(np.arange(300.0), np.zeros((300, 1))).trace(cs.SX.sym("t")), "too many to trace"),
    ):
        with pytest.raises(tp.TaupiError, match=message):
            make()
