"""Rows of the regressor and torque through one filter, and dry friction along a motion."""

import numpy as np
import pytest
from excite import fourier, motion
from refusals import refused

import taupi as tp
from taupi.identification.friction.dry_friction import Past, dahl_friction, friction_plan
from taupi.identification.friction.fitted_terms import base_with_terms
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import filter_plan
from taupi.identification.rows.row_maker import Filter, RowMaker, RowSamples
from taupi.identification.tuning.cutoffs import explained_bandwidths

TERMS = ("rotor", "viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def arm():
    robot = tp.load("elbow2r")
    return robot.with_friction(viscous=[2.0, 1.0], coulomb=[1.5, 0.8], offset=[0.3, -0.2])


def samples(arm, seed=0, count=3000, rate=100.0):
    t, q, qd, qdd = motion(arm.n, seed, count, rate)
    tau = tp.inverse_dynamics(arm, terms=("rotor", "viscous", tp.terms.Coulomb(0.05), "offset"))(q, qd, qdd)
    return RowSamples(q, qd, qdd, tau, np.ones(q.shape, dtype=bool), t)


def piece(s, rows):
    return RowSamples(*(getattr(s, name)[rows] for name in ("q", "qd", "qdd", "tau", "use", "time")))


def maker_of(arm, friction):
    basis = base_with_terms(arm, tp.dynamics.terms.resolve_terms(("rotor", "viscous", friction, "offset")))
    return basis, RowMaker(friction_plan(basis))


def concatenate_logs(parts):
    parts = list(parts)
    y = np.concatenate([p.y for p in parts], axis=2)
    return y, *(np.concatenate([getattr(p, name) for p in parts]) for name in ("tau", "use", "time"))


def test_filtered_torque_is_filtered_regressor_times_parameters(arm):
    """F(tau) = F(Y) pi to rounding, dry friction and the record's ends included; the filter is SciPy's on each column."""
    s = samples(arm)
    basis, maker = maker_of(arm, tp.terms.Coulomb(0.05))
    through = Filter(100.0, 2.0, step=3)
    y, tau, use, time = concatenate_logs(maker.rows(iter([s]), through))
    truth = basis.project(tp.regressor(arm, terms=TERMS).parameters)
    assert np.abs(tau - np.tensordot(y, truth, axes=(0, 0)).T).max() < 1e-9 * np.abs(tau).max()
    columns = tp.signals.parallel_filter(basis.regressor()(s.q, s.qd, s.qdd), 100.0, 2.0)[50:-50:3]
    assert np.allclose(y.transpose(2, 1, 0), columns, atol=1e-9) and np.allclose(time, s.time[50:-50:3])
    assert use.all()


@pytest.mark.parametrize("friction", [tp.terms.Coulomb(0.05), tp.terms.Coulomb(0.05, 0.2)])
@pytest.mark.parametrize("size", [170, 1000])
def test_rows_from_blocks_are_those_from_the_whole(arm, friction, size, monkeypatch):
    monkeypatch.setattr("taupi.identification.rows.row_maker._CHUNK", 300)
    s = samples(arm)
    _, maker = maker_of(arm, friction)
    through = Filter(100.0, 2.0, step=3)
    at_once = concatenate_logs(maker.rows(iter([s]), through))
    blocks = (piece(s, slice(a, a + size)) for a in range(0, len(s), size))
    for a, b in zip(concatenate_logs(maker.rows(blocks, through)), at_once, strict=True):
        assert a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-9)


def test_rows_that_do_not_count_keep_away_from_those_that_do(arm):
    """What is left out is left out with the filter's reach around it."""
    s = samples(arm)
    s.use[1000:1100, 0] = False
    _, maker = maker_of(arm, tp.terms.Coulomb(0.05))
    _, _, use, time = concatenate_logs(maker.rows(iter([s]), Filter(100.0, 2.0)))
    out = time[~use[:, 0]]
    assert use[:, 1].all() and out.min() < 9.9 and out.max() > 11.1 and out.max() - out.min() < 3.0


def test_friction_with_memory_obeys_its_equation():
    """Against small steps of dz/dx = (sgn dx - z) / d, on a path that reverses and rests, sampled 40 times as coarsely."""
    t = np.linspace(0, 10, 80001)
    x = np.where(t < 6, np.sin(t) + 0.3 * np.sin(3.1 * t), np.sin(6) + 0.3 * np.sin(18.6))
    v = np.where(t < 6, np.cos(t) + 0.93 * np.cos(3.1 * t), 0.0)
    distances, z = np.array([0.01, 0.1, 1.0]), np.ones(3)
    want = np.array([z := z + (np.sign(dx) - z) * abs(dx) / distances for dx in np.diff(x)])[39::40]
    t, x, v = t[::40], x[::40], v[::40]
    got = dahl_friction(x[1:], v[1:], t[1], distances, Past(x[0], v[0], np.ones(3)))
    assert np.abs(got - want).max() < 5e-3 and np.abs(got).max() <= 1
    assert np.all(got[t[1:] > 6.01] == got[-1]) and np.abs(got[-1]).min() > 0.1  # held at standstill
    halves = dahl_friction(x[1:901], v[1:901], t[1], distances, Past(x[0], v[0], np.ones(3)))
    rest = dahl_friction(x[901:], v[901:], t[1], distances, Past(x[900], v[900], halves[-1]))
    assert np.allclose(np.concatenate([halves, rest]), got, atol=1e-12)


def test_friction_without_distance_is_the_sign_of_the_velocity():
    """At every sample: a reversal between two samples is not put off to the next."""
    t = np.arange(2000) * 0.01
    x, v = np.sin(t) + 0.3 * np.sin(3.1 * t), np.cos(t) + 0.93 * np.cos(3.1 * t)
    z = dahl_friction(x[1:], v[1:], 0.01, np.array([1e-12]), Past(x[0], v[0], np.ones(1)))
    assert np.array_equal(np.sign(z[:, 0]), np.sign(v[1:])) and np.abs(z).min() > 0.99


def test_what_never_reverses_has_constant_friction(arm):
    basis, maker = maker_of(arm, "coulomb")
    y, *_ = concatenate_logs(maker.rows(iter([samples(arm)]), Filter(100.0, 2.0), {"elbow": -1.0}))
    at = basis.names.index("elbow.coulomb")
    assert np.allclose(y[at, 1], -1) and not y[at, 0].any()
    assert np.ptp(y[basis.names.index("shoulder.coulomb"), 0]) > 1


def remembering(arm, distance, seed, noise=0.0, rest=0.0):
    """Return a log whose dry friction builds up over a distance, and which may end at rest."""
    t, q, qd, qdd = motion(arm.n, seed, 6000, 200.0)
    still = t > t[-1] - rest
    q = np.where(still[:, None], q[~still][-1], q)
    qd, qdd = np.where(still[:, None], 0.0, qd), np.where(still[:, None], 0.0, qdd)
    z = [
        dahl_friction(x, v, 0.005, np.array([distance]), Past(x[0], v[0], np.sign(v[:1])))[:, 0]
        for x, v in zip(q.T, qd.T, strict=True)
    ]
    z = np.stack(z, axis=1)
    tau = tp.inverse_dynamics(arm, terms=("rotor", "viscous", "offset"))(q, qd, qdd) + z * [1.5, 0.8]
    tau = tau + noise * np.random.default_rng(seed).normal(size=tau.shape)
    log = tp.Log(t, q, tau=tau, names=arm.joint_names)
    return log.with_(qd=qd, qdd=qdd) if rest else log


def test_the_shape_of_friction_is_found(arm):
    """A memory where there is one, of about its distance; speed where it is that; and both predict other motions."""
    log = remembering(arm, 0.005, 0, 0.05)
    fit = tp.identify(arm, log, cutoff_hz=15)
    (friction,) = (t for t in fit.terms if t.name == "coulomb")
    assert all(0.002 < d < 0.012 for d in friction.distance)
    assert any("builds up over d after a reversal" in note for note in fit.notes)
    other = remembering(arm, 0.005, 1)
    plain = tp.identify(arm, log, cutoff_hz=15, slow=0.05)
    assert fit.validate(other).relative < 0.6 * plain.validate(other).relative
    smooth = tp.identify(arm, fourier(arm, TERMS, 0, 6000, 200.0, noise=0.05), cutoff_hz=15)
    (friction,) = (t for t in smooth.terms if t.name == "coulomb")
    assert friction.distance == (0.0, 0.0) and all(0.02 < v < 0.2 for v in friction.velocity)


def test_friction_is_held_at_standstill(arm):
    log = remembering(arm, 0.005, 0, 0.02)
    fit = tp.identify(arm, log, cutoff_hz=15)
    other = remembering(arm, 0.005, 3, rest=5.0)
    error = np.abs(fit.predict(other) - other.tau)[-400:].max(axis=0)
    assert np.all(error < [0.3, 0.16])  # a fifth of what would be lost with tanh(qd / v)
    again = tp.Fit.from_dict(fit.to_dict(), arm)
    assert np.allclose(again.predict(other), fit.predict(other))


def test_the_cutoff_is_where_the_model_ends(arm):
    """Torque from elsewhere above 4 Hz: q alone knows nothing of it."""
    log = fourier(arm, TERMS, 0, 12000, 200.0, noise=0.01)
    rng = np.random.default_rng(0)
    hum = rng.normal(size=log.tau.shape)
    hum = hum - tp.signals.butterworth(hum, 200.0, 4.0)
    loud = log.with_(tau=log.tau + 5 * hum * log.tau.std(axis=0))
    quiet, noisy = (tp.identify(arm, x).provenance["logs"][0]["cutoff_hz"] for x in (log, loud))
    assert noisy < 0.7 * quiet and 0.8 < noisy < 4.5
    problem = tp.estimators.build_problem(arm, loud)
    assert "the model explains half of the torque's power up to" in " ".join(problem.notes)
    assert explained_bandwidths(problem.base.linear, problem.recordings).half_hz < 4.5
    stated_hz = tp.identify(arm, loud, cutoff_hz=12).provenance["logs"][0]["cutoff_hz"]
    assert stated_hz == 12


def test_decimation_is_what_was_asked_for():
    for decimate in (None, 1, 4, 6, 7):
        light, first, through = filter_plan(Preparation(decimate=decimate), 1000.0, 10.0)
        assert light == 30 and first <= 3 and through.rate_hz == 1000.0 / first
        assert first * through.step == (9 if decimate is None else decimate)
    assert filter_plan(Preparation(), 100.0, 30.0)[0] == 40.0  # no more than the rate allows
    with refused("decimate", got=0):
        Preparation(decimate=0)


def test_bad_friction():
    with refused("distance", got=-1, expected="a number of at least 0"):
        tp.terms.Coulomb(0.1, -1)
    with refused("distance", got=1):
        tp.regressor(tp.load("elbow2r"), terms=(tp.terms.Coulomb(0.1, (0.1,)),))


def test_what_a_run_does_not_show_is_taken_to_be_held(arm):
    """Friction that jumps, under noise: a steep tanh and a short memory explain it alike, and the memory is taken."""
    t, q, qd, qdd = motion(arm.n, 0, 6000, 200.0)
    tau = tp.inverse_dynamics(arm, terms=TERMS)(q, qd, qdd) + np.random.default_rng(0).normal(0, 1.0, q.shape)
    fit = tp.identify(arm, tp.Log(t, q, tau=tau, names=arm.joint_names), cutoff_hz=10)
    (friction,) = (t for t in fit.terms if t.name == "coulomb")
    assert min(friction.distance) > 0


def test_noise_at_rest_does_not_tell_friction_from_offset(arm):
    """A joint that turns one way begins at rest, where the sign of its measured velocity is chance."""
    t, q, qd, qdd = motion(arm.n, 0, 6000, 200.0)
    s = np.clip(t - 3, 0, None)
    q[:, 1], qd[:, 1], qdd[:, 1] = 0.4 * s**2 + 0.05 * (1 - np.cos(3 * s)), 0.8 * s + 0.15 * np.sin(3 * s), 0.0
    qdd[:, 1] = (t > 3) * (0.8 + 0.45 * np.cos(3 * s))
    q = q + np.random.default_rng(1).normal(0, 1e-4, q.shape)
    tau = tp.inverse_dynamics(arm, terms=("rotor", "viscous", tp.terms.Coulomb(0.05), "offset"))(q, qd, qdd)
    fit = tp.identify(arm, tp.Log(t, q, tau=tau, names=arm.joint_names), cutoff_hz=5)
    assert "elbow never reverses: its coulomb and offset are one." in fit.notes
    lost = {n for n, u in zip(fit.names, fit.undetermined, strict=True) if u}
    assert lost == {"elbow.coulomb", "elbow.offset"}
