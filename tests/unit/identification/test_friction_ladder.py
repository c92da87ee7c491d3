"""Fewer friction terms: said in a note where left-out regions are predicted as well, and only there."""

import numpy as np
import pytest

import taupi as tp

RATE = 200.0


def log(load, seed=0):
    rng = np.random.default_rng(seed)
    real = tp.load("elbow2r").with_friction(viscous=[2.0, 1.0], coulomb=[1.5, 0.8], load=load)
    t = np.arange(8000)[:, None, None] / RATE
    w, a, p = rng.uniform(0.5, 4, (5, 2)), rng.uniform(0.2, 0.5, (5, 2)), rng.uniform(0, 6, (5, 2))
    q, qd, qdd = (
        x.sum(axis=1) for x in (a * np.sin(w * t + p), a * w * np.cos(w * t + p), -a * w * w * np.sin(w * t + p))
    )
    terms = ("viscous", tp.terms.Coulomb(0.02), "load")
    tau = tp.inverse_dynamics(real, terms=terms)(q, qd, qdd) + 0.5 * rng.normal(size=q.shape)
    return tp.Log(t[:, 0, 0], q, tau=tau)


@pytest.mark.parametrize(("load", "suffices"), [((0.0, 0.0), True), ((0.15, 0.1), False)])
def test_load_is_named_where_nothing_depends_on_it(load, suffices):
    notes = [n for n in tp.identify(tp.load("elbow2r"), log(load)).notes if n.startswith("friction: without")]
    assert bool(notes and '"load"' in notes[0]) == suffices
    if suffices:
        words = notes[0].rpartition(": ")[2].rstrip(".").split(",")
        tp.identify(tp.load("elbow2r"), log(load), terms=words)  # what it says to try can be tried


def test_terms_that_a_user_states_are_not_questioned():
    fit = tp.identify(tp.load("elbow2r"), log((0.0, 0.0)), terms=("viscous", "coulomb", "load"))
    assert not any(note.startswith("friction: without") for note in fit.notes)


def test_nothing_is_left_of_a_log_without_noise():
    """Rounding must not become a negative square."""
    arm, t = tp.load("elbow2r"), np.arange(4000)[:, None] / RATE
    w = np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd)))
    assert not fit.relative_gains.any()
