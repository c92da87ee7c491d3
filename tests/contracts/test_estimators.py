"""What every estimator keeps, on the same problems: one line in `CONTRACTS` for a new one.

Truth is known, descriptions are wrong by a fifth, motions are exact: what an estimate misses is noise.
"""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from estimation import ELASTIC, HIDDEN, RIGID, SHAPES, Family, Units, rigid_log
from excite import motion, simulated
from scipy.stats import binom

import taupi as tp
from taupi.errors import NotIdentifiedError
from taupi.identification.estimators import ESTIMATORS


@dataclass(frozen=True)
class Contract:
    """Which problems an estimator solves, and what it promises beyond what all do.

    `pools`: one log, or the same log cut in two, is the same to it: it has no weights of files. `real`: its parameters are
    those of bodies that can exist, or it says that there are none. `trusts`: its intervals hold where the description is
    right, since that is what it moves towards. `believes`: they hold where descriptions are as wrong as it assumes, which its own
    tests draw.
    `defects` are facts, or facts of a family, that it is known to break, with the reason.
    """

    families: tuple[Family, ...]
    pools: bool = False
    real: bool = False
    trusts: bool = False
    believes: bool = False
    defects: Mapping[str, str] = field(default_factory=dict)


LEAST_SQUARES = (RIGID, ELASTIC)
CONTRACTS = {
    "ols": Contract(LEAST_SQUARES, pools=True),
    "wls": Contract(LEAST_SQUARES),
    "huber": Contract(LEAST_SQUARES),
    "ridge": Contract(LEAST_SQUARES, trusts=True),
    "entropic": Contract(
        (RIGID,),
        believes=True,
        defects={"proportion": "what the description decides does not shrink in proportion to noise"},
    ),
    "consistent": Contract(LEAST_SQUARES, real=True),
    "feasible": Contract(LEAST_SQUARES, real=True),
    "output_error": Contract((HIDDEN,)),
    "friction_shapes": Contract((SHAPES,)),
}

# Rounding, and the digits to which Clarabel solves where constraints hold.
ROUNDED, SOLVED = 1e-9, 1e-5
# Errors of one draw of noise, scaled, are in proportion but for weights and choices that change with its size.
PROPORTION = 1.5


def cases(fact, wanted=lambda family, contract: True):
    """Return (estimator, family) for every registered estimator and each of its families, with known defects marked."""
    result = []
    for name in ESTIMATORS:
        contract = CONTRACTS.get(name, Contract(()))
        for family in contract.families:
            if wanted(family, contract):
                reason = contract.defects.get(fact) or contract.defects.get(f"{fact}-{family.name}")
                marks = [pytest.mark.xfail(reason=reason)] if reason else []
                result.append(pytest.param(name, family, id=f"{name}-{family.name}", marks=marks))
    return pytest.mark.parametrize(("estimator", "family"), result)


def test_every_estimator_has_a_row():
    missing = [name for name in ESTIMATORS if not CONTRACTS.get(name, Contract(())).families]
    assert not missing, f"add a line to CONTRACTS in {__file__} for {', '.join(missing)}"


# Right ----------------------------------------------------------------------------------------------------------------


@cases("proportion")
def test_errors_are_in_proportion_to_noise(estimator, family):
    """Of one draw of noise in three sizes; in standard errors of the largest, so that parameters are alike."""
    errors, unit = [], None
    for noise in (1.0, 0.1, 0.01):
        fit = family.identify(estimator, family.log(noise, seed=3))
        unit = fit.stderr if unit is None else unit
        errors.append(float(np.linalg.norm((fit.values - family.truth(fit)) / unit)))
    # Of b standard normal numbers the norm is about the root of b, and hardly ever three times that.
    assert errors[0] < 3 * np.sqrt(len(unit))
    for large, small in itertools.pairwise(errors):
        assert 1 / PROPORTION < 10 * small / large < PROPORTION


@cases("intervals", lambda family, contract: family.seeds and not contract.believes)
def test_intervals_cover_the_truth(estimator, family):
    """95 % intervals hold the truth 95 times of 100, give or take what so many draws leave open.

    Intervals of one fit are not independent. Whether |z| < c is an even function of z, and even functions of two normal
    numbers that are correlated by r are correlated by r^2 at most: b intervals count as b^2 / sum r^2.
    """
    guess = family.robot if CONTRACTS[estimator].trusts else family.guess
    inside = []
    for seed in range(family.seeds):
        log = family.log(seed=seed)
        fit = tp.identify(guess(Units()), log, estimator, family.terms, **family.settings)
        low, high = fit.intervals().T
        truth = family.truth(fit)
        inside.append((low <= truth) & (truth <= high))
    r = fit.covariance / np.outer(fit.stderr, fit.stderr)
    count = int(family.seeds * len(r) ** 2 / np.sum(r**2))
    least, most = binom.ppf([0.005, 0.995], count, 0.95) / count
    # What moves towards the truth, by a weight that it chooses itself, errs less than its noise says.
    assert least <= np.mean(inside) <= (0.99 if CONTRACTS[estimator].trusts else most)


# The same, however it is put ------------------------------------------------------------------------------------------


@cases("units", lambda family, contract: family.units)
@pytest.mark.parametrize("noise", [1.0, 20.0], ids=["plain", "noisy"])
def test_units_do_not_matter(estimator, family, noise):
    """A robot in grams, or in tonnes and millimetres, has the same parameters; with much noise constraints hold, too."""
    fit = family.identify(estimator, family.log(noise, seed=3))
    for units in family.units:
        other = family.identify(estimator, family.log(noise, 3, units), units)
        scale = np.array([units.of(u) for u in other.basis.parameters.units])
        assert other.names == fit.names and np.array_equal(other.undetermined, fit.undetermined)
        known = ~fit.undetermined
        assert np.allclose((other.stderr / scale)[known], fit.stderr[known], rtol=SOLVED)
        assert np.abs(other.values / scale - fit.values)[known].max(initial=0) < SOLVED * np.abs(fit.values).max()
        assert other.relative == pytest.approx(fit.relative, rel=SOLVED)


def tree(folder, first, second):
    """Return a trunk with two arms, unlike each other, under names whose order is that of the joints."""

    def body(name, parent, mass, com, place, axis):
        return (
            f'<link name="{name}_link"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
            '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>'
            f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{name}_link"/>'
            f'<origin xyz="{place}"/><axis xyz="{axis}"/></joint>'
        )

    arms = body(first, "trunk_link", 2, "0.1 0.02 0.05", "0.3 0 0", "0 1 0")
    arms += body(second, "trunk_link", 1.2, "0.15 0.01 0.03", "-0.3 0.1 0", "1 0 0")
    trunk = body("trunk", "base", 5, "0.02 0.01 0.2", "0 0 0.1", "0 0 1")
    path = folder / f"{first}.urdf"
    path.write_text(f'<robot name="tree"><link name="base"/>{trunk}{arms}</robot>')
    return tp.load(path).with_friction(viscous=[1.0, 1.0, 1.0], coulomb=[0.5, 0.5, 0.5])


@cases("order", lambda family, contract: family is RIGID)
def test_the_order_of_joints_does_not_matter(estimator, family, tmp_path):
    """Two arms of a trunk, named so that either comes first: predictions and their uncertainty are the same."""
    terms = ("viscous", "coulomb")
    one, two = tree(tmp_path, "left", "right"), tree(tmp_path, "zleft", "right")
    order = [one.joint_names.index(name.removeprefix("z")) for name in two.joint_names]
    assert order != sorted(order)
    log = simulated(one, terms, 1, np.array([0.5, 0.3, 0.8]), 1000)
    moved = log.select(order).with_(names=two.joint_names)
    q, qd, qdd = motion(3, 9, 200, 100.0)[1:]
    predictions = []
    for robot, data, at in ((one, log, [0, 1, 2]), (two, moved, order)):
        wrong = robot.with_parameters(1.2 * robot.parameters.values)
        fit = tp.identify(wrong, data, estimator, terms, slow=0)
        y = fit.basis.regressor()(q[:, at], qd[:, at], qdd[:, at])[:, np.argsort(at)]
        predictions.append((y @ fit.values, np.sqrt(np.einsum("mnp,pq,mnq->mn", y, fit.covariance, y))))
    (tau, error), (other, others) = predictions
    assert np.allclose(other, tau, rtol=0, atol=SOLVED * np.abs(tau).max())
    assert np.allclose(others, error, rtol=SOLVED, atol=SOLVED * error.max())


@cases("columns", lambda family, contract: family is RIGID)
def test_the_order_of_columns_does_not_matter(estimator, family, tmp_path):
    log = family.log(seed=3)
    with_time = log.with_(qd=None, qdd=None, notes=())
    fits = []
    for order in ([0, 1], [1, 0]):
        path = tmp_path / f"{order[0]}.csv"
        tp.write_log(with_time.select(order), path)
        fits.append(family.identify(estimator, path, cutoff_hz=20.0))
    assert np.allclose(fits[1].values, fits[0].values, rtol=ROUNDED, atol=ROUNDED)
    # In memory nothing is moved behind the user's back; joints under each other's names are refused.
    with pytest.raises(tp.TaupiError, match=r"log\.select\(robot\.joint_names\)"):
        family.identify(estimator, log.select([1, 0]))


@cases("streamed")
def test_streamed_is_whole(estimator, family, tmp_path):
    """Block by block from a file, or all of it at once; what cannot be streamed is refused with a sentence about it."""
    path = tmp_path / "run.parquet"
    robot, log = family.raw()
    tp.write_log(log, path)
    at_once = tp.identify(robot, path, estimator, family.terms, stream=False, **family.raw_settings)
    try:
        streamed = tp.identify(robot, path, estimator, family.terms, stream=True, block=1500, **family.raw_settings)
    except tp.TaupiError as refusal:
        assert "stream" in str(refusal)
        return
    size = np.abs(at_once.values).max()
    assert np.abs(streamed.values - at_once.values).max() < ROUNDED * size
    assert np.allclose(streamed.stderr, at_once.stderr, rtol=1e-6)


@cases("cut", lambda family, contract: family is not HIDDEN)  # hidden links start anew with every log
def test_a_log_cut_in_two_is_the_same_log(estimator, family):
    """To the last digit where files have no weights of their own; else to a part of the standard errors."""
    log = family.log(seed=3)
    half = len(log) // 2
    one, two = (
        family.identify(estimator, logs) for logs in (log, [log.rows(slice(half)), log.rows(slice(half, None))])
    )
    if CONTRACTS[estimator].pools:
        assert np.allclose(two.values, one.values, rtol=ROUNDED, atol=ROUNDED * np.abs(one.values).max())
    else:
        assert np.abs((two.values - one.values) / one.stderr).max() < 0.5


@cases("again")
def test_the_same_twice(estimator, family):
    first, second = (family.identify(estimator, family.log(seed=3), seed=5) for _ in range(2))
    assert np.array_equal(first.values, second.values) and np.array_equal(first.covariance, second.covariance)
    assert first.notes == second.notes


# Honest ---------------------------------------------------------------------------------------------------------------


@cases("complete")
def test_a_fit_is_complete(estimator, family):
    fit = family.identify(estimator, family.log(seed=3))
    b = len(fit.names)
    assert fit.estimator == estimator and fit.status.ok
    assert fit.values.shape == (b,) and np.isfinite(fit.values).all()
    assert fit.covariance.shape == (b, b) and np.isfinite(fit.covariance).all()
    assert np.allclose(fit.covariance, fit.covariance.T, rtol=1e-12, atol=0)
    scaled = fit.covariance / np.outer(fit.stderr, fit.stderr)
    assert np.linalg.eigvalsh(scaled).min() > -1e-9  # a correlation matrix, up to rounding
    assert not fit.undetermined.any() and (fit.stderr > 0).all() and (fit.freedom >= 1).all()
    seen = [j for j in fit.joints if j.rows]  # links that are not measured have no rows
    assert seen and all(j.rms > 0 and j.relative < 0.5 and j.r2 > 0.5 for j in seen)
    if family is not HIDDEN:
        predicted = fit.predict(family.log(seed=4))
        assert len(predicted) == 1000 and np.isfinite(predicted).all()
    back = tp.Fit.from_dict(json.loads(json.dumps(fit.to_dict())), fit.robot)
    assert np.array_equal(back.values, fit.values) and repr(back) == repr(fit)


@cases("untold", lambda family, contract: family.poor)
def test_what_a_log_does_not_tell_has_no_standard_error(estimator, family):
    """A joint stands still: the answer is finite, and does not claim to know the joint's friction."""
    log, names = family.poor
    fit = family.identify(estimator, log())
    known = dict(zip(fit.names, fit.stderr, strict=True))
    assert np.isfinite(fit.values).all() and [n for n in names if np.isfinite(known[n])] == []
    low, high = fit.intervals()[[fit.names.index(n) for n in names]].T
    assert np.isneginf(low).all() and np.isposinf(high).all()
    assert any("does not move" in note for note in fit.notes)
    unknown = [n for n, u in zip(fit.names, fit.undetermined, strict=True) if u]
    assert any(all(n in note for n in unknown[:12]) for note in fit.notes)
    assert np.isfinite(fit.predict(family.log())).all()


@cases("few", lambda family, contract: family is not HIDDEN)
def test_fewer_equations_than_parameters_are_refused(estimator, family):
    with pytest.raises(NotIdentifiedError, match=r"samples are left, \d+ equations for \d+ parameters"):
        family.identify(estimator, family.log().rows(slice(3)))


@cases("silent")
def test_a_log_without_torque_is_refused(estimator, family):
    log = family.log()
    with pytest.raises(tp.TaupiError, match="nothing was measured"):
        family.identify(estimator, log.with_(tau=0 * log.tau))


@cases("real", lambda family, contract: contract.real and family is RIGID)
def test_a_torque_that_no_robot_has_is_said_so(estimator, family):
    """The sign of the torque is wrong: bodies of negative mass would explain it."""
    log = rigid_log()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = family.identify(estimator, log.with_(tau=-log.tau))
    words = " ".join([*fit.notes, *(str(w.message) for w in caught)])
    assert "No robot that can exist explains the logs" in words or "raises the weighted residual" in words
    # What bodies explain best, in other words than ours: none of the gravity torque, so most of the torque is left.
    if "No robot" not in words:
        assert fit.relative > 0.5
