"""The contract of a law: shapes, batches, states, settings, and what bad settings are told."""

import inspect

import numpy as np
import pytest
from refusals import refused
from support import error, random_robot, random_states

import taupi as tp
from taupi.control.gains import typical
from taupi.settings import described_fields

ARM = tp.load("elbow2r")
REST = np.zeros(2)
MAKERS = {
    "slotine_li": lambda **k: tp.SlotineLi(ARM, **k),
    "niemeyer_slotine": lambda **k: tp.NiemeyerSlotine(ARM, **k),
    "walker": lambda **k: tp.Walker(ARM, **k),
    "composite": lambda **k: tp.laws.CompositeAdaptation(ARM, **k),
    "natural": lambda **k: tp.laws.NaturalAdaptation(ARM, **k),
    "pd_gravity": lambda **k: tp.PDGravity(ARM, **k),
    "computed_torque": lambda **k: tp.ComputedTorque(ARM, **k),
}
LAW = pytest.mark.parametrize("name", MAKERS)


def real(law, estimate):
    """The robot of these tests is flat, which the law about bodies does not take."""
    return law.real(estimate) if isinstance(law, tp.laws.NaturalAdaptation) else estimate


@LAW
def test_a_law_starts_from_a_share_of_the_robot_and_may_be_held(name):
    law = MAKERS[name]()
    start = law.initial_estimate(0.5)
    assert error(start, real(law, 0.5 * law.parameters.values)) < 1e-12
    law.init(start)  # of real bodies, where the law needs them
    held = law.without_learning()
    if name in ("slotine_li", "niemeyer_slotine", "walker"):
        state = random_states(ARM, 5, 5)
        assert np.any(law.adaptation(*state, parameters=start)) and not np.any(
            held.adaptation(*state, parameters=start)
        )
    else:
        assert held is None


@LAW
def test_contract(name):
    law = MAKERS[name](terms=("viscous",))
    p = len(law.parameters)
    assert law.parameters.names[-2:] == ("shoulder.viscous", "elbow.viscous")
    program = law.program()
    assert [i.name for i in program.inputs] == ["q", "qd", "q_des", "qd_des", "qdd_des", "pi_hat"]
    assert [(o.name, o.shape) for o in program.outputs] == [("tau", (2,)), ("dpi", (law.size,))]
    state = random_states(ARM, 4, 5).reshape(5, 2, 2, 2)
    estimate = real(law, law.parameters.values * 1.1)
    tau, rate = law.torque(*state, parameters=estimate), law.adaptation(*state, parameters=estimate)
    assert tau.shape == (2, 2, 2)
    assert rate.shape == (2, 2, p)
    both = program(*state, law.init(estimate).vector)
    assert error(both[0], tau) < 1e-13
    assert error(both[1][..., :p], rate) < 1e-13
    one = law.torque(*state[:, 1, 0], parameters=estimate)
    assert error(one, tau[1, 0]) < 1e-13
    assert error(law.torque(*state), law.torque(*state, parameters=law.parameters.values)) == 0


@LAW
def test_step_is_one_step_of_eulers_rule(name):
    law = MAKERS[name]()
    state = [x[0] for x in random_states(ARM, 1, 5)]
    estimate, dt = real(law, law.parameters.values * 1.2), 1e-7 if name == "natural" else 1e-4
    start = law.init(estimate)
    tau, after = law.step(start, *state, dt=dt)
    assert error(tau, law.torque(*state, parameters=estimate)) < 1e-13
    rate = law.adaptation(*state, parameters=estimate)
    # The natural step is a geodesic, which departs from Euler's by dt^2.
    assert error((after.parameters - estimate) / dt, rate) < (1e-3 if name == "natural" else 1e-8)
    assert after.memory.shape == start.memory.shape
    both = np.stack([start.vector] * 3)
    _, many = law.step(tp.laws.LawState(both[:, : len(estimate)], both[:, len(estimate) :]), *state, dt=dt)
    assert error(many.parameters, np.stack([after.parameters] * 3)) < 1e-13


def test_programs_compose_over_symbols():
    """A law's program can be traced into another one, as a roll-out does."""
    import casadi as cs

    law = tp.NiemeyerSlotine(ARM, Gamma_inv=0.1)
    p = law.size
    ports = [*law.program().inputs]
    twice = tp.program.trace(
        "twice", lambda *x: law.program()(*map(cs.SX, x))[0] * 2, ports, [tp.program.Port("tau", (2,))]
    )
    state = [x[0] for x in random_states(ARM, 1, 5)]
    estimate = np.linspace(0.1, 1, p)
    assert error(twice(*state, estimate), 2 * law.torque(*state, parameters=estimate)) < 1e-13


def test_gains_of_every_shape_mean_the_same():
    state = [x[0] for x in random_states(ARM, 1, 5)]
    plain = tp.SlotineLi(ARM, Lambda=4.0, K=3.0, Gamma_inv=0.5)
    for shape in (np.ones(2), np.eye(2)):
        other = tp.SlotineLi(ARM, Lambda=4.0 * shape, K=3.0 * shape, Gamma_inv=0.5 * np.eye(20))
        assert error(other.torque(*state), plain.torque(*state)) < 1e-14
        assert error(other.adaptation(*state), plain.adaptation(*state)) < 1e-14


def test_adapt_holds_the_rest_at_the_robots_values():
    state = [x[0] for x in random_states(ARM, 1, 5)]
    every, some = tp.SlotineLi(ARM, K=1.0), tp.SlotineLi(ARM, K=1.0, Gamma_inv=0.3, adapt=("forearm.m", "*.mx"))
    assert some.parameters.names == ("upper_arm.mx", "forearm.m", "forearm.mx")
    estimate = every.parameters.values.copy()
    places = [every.parameters.layout.index(n) for n in some.parameters.names]
    estimate[places] *= 1.5
    assert error(some.torque(*state, parameters=estimate[places]), every.torque(*state, parameters=estimate)) < 1e-13
    assert some.adaptation(*state).shape == (3,)


def test_defaults_follow_the_robot():
    light, heavy = tp.SlotineLi(ARM), tp.SlotineLi(ARM.with_parameters(10 * ARM.parameters.values))
    assert np.allclose(heavy.K, 10 * light.K)
    assert np.allclose(light.Lambda, 5)
    masses = [tp.mass_matrix(ARM)(q).diagonal() for q in random_states(ARM, 50, 1)[0]]
    assert (20 * 0.9 * np.max(masses, axis=0) <= light.K).all()


BAD = [
    ({"K": -1.0}, r"K has an entry of -1, expected positive: a number, one per joint \(2\), or a 2 x 2 matrix"),
    ({"K": 0.0}, "K has an entry of 0, expected positive"),
    ({"K": [1.0, 2.0, 3.0]}, r"K has shape \(3,\), expected positive: a number, one per joint \(2\)"),
    ({"K": [[1.0, 2.0], [0.0, 1.0]]}, "K is not symmetric"),
    ({"K": [[1.0, 2.0], [2.0, 1.0]]}, "K has an eigenvalue of -1"),
    ({"K": np.nan}, "K has entries that are not finite"),
    ({"K": "strong"}, "K is 'strong', expected positive"),
    ({"Lambda": [5.0, -5.0]}, "Lambda has an entry of -5"),
    ({"Lambda": [[0.0, 1.0], [-1.0, -0.1]]}, "Lambda has an eigenvalue"),
    ({"Gamma_inv": -np.ones(20)}, "Gamma_inv has an entry of -1, expected 0 or more: a number, one per parameter"),
    ({"Gamma_inv": np.ones(10)}, r"Gamma_inv has shape \(10,\), expected 0 or more: .* \(20\)"),
    ({"adapt": "forearm.mass"}, "No parameter 'forearm.mass'"),
    ({"adapt": 3}, "adapt is 3, expected names"),
    ({"terms": "vicsous"}, "Did you mean 'viscous'"),
    ({"modifications": "dead zone"}, "A modification is 'dead zone', expected DeadZone"),
    ({"modifications": tp.laws.Projection(lower={"*.mass": 0})}, "No parameter"),
    ({"modifications": tp.laws.Projection(lower=1.0, upper=0.0)}, "lower is above upper for upper_arm.m"),
    ({"modifications": tp.laws.Projection(lower=[1.0, 2.0])}, "expected 20 numbers"),
    ({"modifications": tp.laws.Projection(lower=0), "Gamma_inv": np.eye(20)}, "goes with a diagonal Gamma_inv"),
]


@pytest.mark.parametrize(("settings", "message"), BAD)
def test_bad_settings_say_what_is_wrong(settings, message):
    with pytest.raises(tp.TaupiError, match=message):
        tp.SlotineLi(ARM, **settings)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tp.SlotineLi("elbow2r"), "robot is str, expected a Robot"),
        (lambda: tp.Walker(ARM, gamma=0), "gamma is 0, expected a finite number above 0"),
        (lambda: tp.Walker(ARM, gamma=[1, 2]), "gamma is .1, 2., expected a finite number above 0"),
        (lambda: tp.Walker(ARM, form="open"), "No form of Walker's law 'open'"),
        (lambda: tp.PDGravity(ARM, Kp=-1), "Kp has an entry of -1"),
        (lambda: tp.ComputedTorque(ARM, Kd=[1, 2, 3]), "Kd has shape"),
        (lambda: tp.laws.CompositeAdaptation(ARM, forgetting=-1), "forgetting is -1, expected"),
        (
            lambda: tp.laws.CompositeAdaptation(ARM, forgetting=1, gain_limit=1),
            r"gain_limit is 1\.0, expected more than 1",
        ),
        (lambda: tp.laws.CompositeAdaptation(ARM, forgetting=1, Gamma_inv=0), "Gamma_inv with forgetting"),
        (lambda: tp.laws.NaturalAdaptation(ARM, adapt="base"), "adapt is 'base', expected whole links"),
        (lambda: tp.laws.NaturalAdaptation(ARM, adapt="*.m"), r"part of upper_arm, expected all ten"),
        (lambda: tp.laws.NaturalAdaptation(ARM, gamma=[1, 2, 3]), "gamma has shape"),
        (lambda: tp.laws.OperationalSlotineLi(ARM, task="position"), "cannot have full row rank"),
        (lambda: tp.laws.OperationalSlotineLi(ARM, task="xyz"), "No task"),
        (lambda: tp.laws.DeadZone(0.0), "width is 0.0, expected"),
        (lambda: tp.laws.SigmaModification(-1.0), "sigma is -1.0, expected"),
        (lambda: tp.laws.lyapunov(ARM), "law is Robot, expected a control law"),
        (lambda: tp.laws.convergence_rate(tp.PDGravity(ARM)), "has no damping K of s"),
        # K damps the task, of which an arm near a singular configuration shows next to nothing.
        (lambda: tp.laws.convergence_rate(tp.laws.OperationalSlotineLi(ARM, task="xy")), "has no damping K of s"),
        (
            lambda: tp.laws.check_lyapunov(tp.SlotineLi(ARM), [1, 0], *[np.zeros((2, 2))] * 5),
            "expected two or more rising",
        ),
        (
            lambda: tp.laws.check_lyapunov(tp.SlotineLi(ARM), [0, 1], *[np.zeros((2, 2))] * 5, plant=[1]),
            "plant has shape",
        ),
    ],
)
def test_other_bad_input(make, message):
    with pytest.raises(tp.TaupiError, match=message):
        make()


def test_bad_calls():
    law = tp.SlotineLi(ARM)
    with refused("parameters", got=(3,), p=20):
        law.torque(REST, REST, REST, REST, REST, parameters=[1, 2, 3])
    with refused("qd", got=(3,), expected="(..., 2)"):
        law.torque(REST, np.zeros(3), REST, REST, REST)
    with refused("dt", got=0):
        law.step(law.init(), REST, REST, REST, REST, REST, dt=0)
    with pytest.raises(tp.TaupiError, match="qd has entries that are not finite"):
        law.step(law.init(), REST, [np.nan, 0], REST, REST, REST, dt=1e-3)
    with pytest.raises(tp.TaupiError, match=r"state is ndarray, expected what law\.init"):
        law.step(np.zeros(20), REST, REST, REST, REST, REST, dt=1e-3)


def test_natural_adaptation_refuses_a_start_that_no_body_has():
    law = tp.laws.NaturalAdaptation(ARM)
    with pytest.raises(tp.TaupiError, match=r"link 'upper_arm' has a pseudo-inertia with eigenvalue .*law.real"):
        law.init(-law.parameters.values)
    law.init(law.real(-law.parameters.values))
    robot = random_robot(3, joints=2)
    plain = tp.laws.NaturalAdaptation(robot)
    assert error(plain.real(plain.parameters.values, 1e-9), plain.parameters.values) < 1e-12


def test_operational_law_refuses_singular_configurations():
    law = tp.laws.OperationalSlotineLi(ARM, task="xy", K=1.0)
    with pytest.raises(tp.TaupiError, match="singular"):
        law.torque(REST, REST, REST, REST, REST)


def test_dead_zone_sigma_and_projection():
    state = [x[0] for x in random_states(ARM, 1, 5)]
    plain = tp.SlotineLi(ARM, K=2.0, Gamma_inv=0.5)
    estimate = plain.parameters.values + 0.1
    s = tp.laws.reference_motion(*state, Lambda=5.0)[2]
    wide = tp.SlotineLi(ARM, K=2.0, Gamma_inv=0.5, modifications=tp.laws.DeadZone(float(np.abs(s).max()) + 1))
    assert not wide.adaptation(*state, parameters=estimate).any()
    assert error(wide.torque(*state, parameters=estimate), plain.torque(*state, parameters=estimate)) == 0
    leaking = tp.SlotineLi(ARM, K=2.0, Gamma_inv=0.5, modifications=(tp.laws.SigmaModification(0.3),))
    difference = leaking.adaptation(*state, parameters=estimate) - plain.adaptation(*state, parameters=estimate)
    assert error(difference, -0.3 * 0.5 * np.full(20, 0.1)) < 1e-12
    rate = plain.adaptation(*state, parameters=estimate)
    boxed = tp.SlotineLi(ARM, K=2.0, Gamma_inv=0.5, modifications=tp.laws.Projection(estimate, estimate + 1e-3))
    assert error(boxed.adaptation(*state, parameters=estimate), np.maximum(rate, 0)) < 1e-12
    _, after = boxed.step(boxed.init(estimate), *state, dt=10.0)
    assert error(after.parameters, np.where(rate > 0, estimate + 1e-3, estimate)) < 1e-12
    # A leak does not lead out of the box: the projection is last, in whatever order they are given.
    box, leak = tp.laws.Projection(estimate), tp.laws.SigmaModification(100.0)
    for both in ((box, leak), (leak, box)):
        law = tp.SlotineLi(ARM, K=2.0, Gamma_inv=0.5, modifications=both)
        assert (leaking.parameters.values < estimate).all()
        assert error(law.adaptation(*state, parameters=estimate), np.maximum(rate - 100.0 * 0.5 * 0.1, 0)) < 1e-12


def test_a_projection_has_two_bounds():
    """At its lower bound an entry may rise, at its upper bound it may fall, between them it does as it likes."""
    state = [x[0] for x in random_states(ARM, 1, 5)]
    plain = tp.SlotineLi(ARM, K=2.0, Gamma_inv=0.5)
    estimate = plain.parameters.values + 0.1
    rate = plain.adaptation(*state, parameters=estimate)
    assert (rate > 0).any() and (rate < 0).any()

    def projected(lower, upper):
        law = tp.SlotineLi(ARM, K=2.0, Gamma_inv=0.5, modifications=tp.laws.Projection(lower, upper))
        _, after = law.step(law.init(estimate), *state, dt=10.0)
        return law.adaptation(*state, parameters=estimate), after.parameters

    at_upper, after = projected(estimate - 1.0, estimate)
    assert error(at_upper, np.minimum(rate, 0)) < 1e-12
    assert (after <= estimate).all() and (after >= estimate - 1.0).all() and (after < estimate).any()
    at_lower, after = projected(estimate, None)
    assert error(at_lower, np.maximum(rate, 0)) < 1e-12 and (after >= estimate).all()
    between, after = projected(estimate - 1e-3, estimate + 1e-3)
    assert error(between, rate) < 1e-12
    assert error(after, estimate + 1e-3 * np.sign(rate) * (rate != 0)) < 1e-12  # the step is long: each is at a bound


def test_a_projection_bounds_what_it_names():
    state = [x[0] for x in random_states(ARM, 1, 5)]
    names, estimate = ARM.parameters.names, ARM.parameters.values + 0.1
    plain = tp.SlotineLi(ARM, K=2.0, Gamma_inv=0.5)
    limit = {name: value for name, value in zip(names, estimate, strict=True) if name.endswith((".m", ".mx"))}
    law = tp.SlotineLi(ARM, K=2.0, Gamma_inv=0.5, modifications=tp.laws.Projection(upper=limit))
    rate = plain.adaptation(*state, parameters=estimate)
    bounded = np.array([name in limit for name in names])
    assert (rate[bounded] > 0).any() and (rate[~bounded] > 0).any()
    assert error(law.adaptation(*state, parameters=estimate), np.where(bounded, np.minimum(rate, 0), rate)) < 1e-12


def test_what_is_adapted_had_another_name():
    with pytest.warns(DeprecationWarning, match="columns is now called adapt") as caught:
        law = tp.Walker(ARM, columns=("forearm.m",))
    assert law.adapt == ("forearm.m",) and law.parameters.names == ("forearm.m",) and caught[0].filename == __file__
    with pytest.raises(tp.TaupiError, match="columns and adapt are the same: give one"):
        tp.SlotineLi(ARM, columns="base", adapt="base")


def test_gains_stand_in_the_order_of_the_contract():
    orders = {
        tp.SlotineLi: "robot Lambda K Gamma_inv terms adapt modifications",
        tp.NiemeyerSlotine: "robot Lambda K Gamma_inv terms adapt modifications",
        tp.Walker: "robot Lambda gamma Gamma_inv terms adapt modifications form",
        tp.laws.NaturalAdaptation: "robot Lambda K gamma Gamma_inv terms adapt",
        tp.laws.OperationalSlotineLi: "robot task frame Lambda K Gamma_inv terms adapt modifications damping",
        tp.ComputedTorque: "robot Kp Kd terms",
    }
    for law, order in orders.items():
        assert list(inspect.signature(law).parameters) == order.split()
        for name in order.split():
            assert described_fields(law).get(name), f"{law.__name__} does not describe {name}"
            assert f"    {name}: " in law.__doc__, f"{law.__name__} does not show {name}"
    walker = tp.Walker(ARM, 4.0, 6.0, 0.3)
    assert (walker.Lambda[0], walker.gamma, walker.Gamma_inv[0]) == (4.0, 6.0, 0.3)


def test_dead_zone_is_the_same_in_both_forms():
    state, zone = random_states(ARM, 3, 5), tp.laws.DeadZone(0.7)
    closed = tp.SlotineLi(ARM, K=2.0, Gamma_inv=0.5, modifications=zone)
    recursive = tp.NiemeyerSlotine(ARM, K=2.0, Gamma_inv=0.5, modifications=zone)
    assert error(recursive.adaptation(*state), closed.adaptation(*state)) < 1e-11


def test_steps_by_the_short_way_are_those_of_the_program():
    law = tp.SlotineLi(ARM, Gamma_inv=0.3)
    signals = np.random.default_rng(5).normal(size=(5, 3, ARM.n))
    state, together = law.init(), law.init(np.tile(law.parameters.values, (3, 1)))
    torques, states = law.step(together, *signals, 1e-3)
    for k in range(3):
        for dt in (1e-3, np.float64(1e-3)):
            tau, after = law.step(state, *signals[:, k], dt)
            assert np.array_equal(tau, torques[k]) and np.array_equal(after.parameters, states.parameters[k])
    huge = signals[:, 0].copy()
    huge[4, 0] = 1.7e308
    huge[4, 1] = 1.7e308  # finite, though the sum is not
    law.step(state, *huge, 1e-3)
    for bad in (np.nan, np.inf, -np.inf):
        signals[3, 0, 1] = bad
        with pytest.raises(tp.TaupiError, match="qd_des has entries that are not finite"):
            law.step(state, *signals[:, 0], 1e-3)
    for dt in (0.0, -1.0, np.nan, np.inf, [1e-3], 0):
        with pytest.raises(tp.TaupiError, match=r"dt is .*expected a positive number of seconds"):
            law.step(state, *signals[:, 1], dt)


def test_default_adaptation_lets_no_group_of_parameters_stay_behind():
    """Mass, first moments and inertias of a link add a stiffness M^-1 Y Gamma^-1 Y^T alike, and all together 60^2.

    By equal gains of a link, those of its inertias would be up to 1600 times less than those of its first moments: what is left
    of that is its fourth root, 6.3.
    """
    arm = tp.load("puma560")
    law, states = tp.SlotineLi(arm), typical(arm)
    q, qd, qdd = states.motion
    Y = tp.slotine_li_regressor(arm)(q, qd, qd, qdd)

    def stiffness(columns):
        part = Y[..., columns]
        products = np.linalg.solve(states.M, (part * law.Gamma_inv[columns]) @ part.swapaxes(-1, -2))
        return np.linalg.eigvals(products).real.max()

    starts = [arm.parameters.layout.link(k).start for k in range(1, 6)]  # the first link only turns: nothing weighs it
    each = [stiffness(slice(k + a, k + b)) for k in starts for a, b in ((0, 1), (1, 4), (4, 10))]
    assert max(each) < 7 * min(each)
    assert stiffness(slice(None)) == pytest.approx(60.0**2, rel=1e-6)
