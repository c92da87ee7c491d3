"""Facts about laws: gains, changes of an adaptation and reports, in cases that a person can work out."""

from types import SimpleNamespace

import casadi as cs
import numpy as np
import pytest

import taupi as tp
from taupi.control.gains import default_adaptation, inverse_mass, typical
from taupi.control.laws.elastic_pd_gravity import default_gains
from taupi.control.laws.natural_adaptation import dual, log_divergence, pseudo
from taupi.control.lyapunov import LyapunovRecord, _reasons, plant_parameters
from taupi.model.body import pseudo_inertia, smallest_eigenvalue

ARM = tp.load("elbow2r")


def test_gains_of_adaptation_without_columns_are_squared_sizes():
    parameters = ARM.parameters
    mass = [k for k, name in enumerate(parameters.names) if name.endswith(".m")]
    heavy = parameters.values.copy()
    heavy[mass] = 7.0, 11.0
    gains = default_adaptation(ARM, ARM.with_parameters(heavy).parameters)
    np.testing.assert_allclose(gains[mass], [49.0, 121.0])


def test_dead_zone_takes_its_width_off_and_leaves_nothing_within():
    s = cs.SX.sym("s", 4)
    result = cs.Function("f", [s], [tp.laws.DeadZone(1.0).error(s)])([-3.0, -0.5, 0.2, 2.0])
    np.testing.assert_allclose(result.full()[:, 0], [-2.0, 0.0, 0.0, 1.0])


def test_a_box_that_is_empty_in_one_entry_alone_is_refused():
    name = ARM.parameters.names[10]
    box = tp.laws.Projection(lower={name: 2.0}, upper={name: 1.0})
    with pytest.raises(tp.TaupiError, match=f"lower is above upper for {name}, 2.0 > 1.0"):
        tp.SlotineLi(ARM, modifications=box)


def test_a_gap_in_the_claim_is_told_as_a_share_of_the_rate():
    law = tp.SlotineLi(ARM)
    plant = plant_parameters(law, None)
    rate = np.array([-1000.0, -10.0])
    assert _reasons(law, plant.values, plant, rate + 1e-4, rate) == ()
    assert "differs from the claim by 0.5 of its size" in _reasons(law, plant.values, plant, rate + 500.0, rate)[-1]


def test_composite_adaptation_weighs_the_prediction_error_by_the_gain_of_all_joints():
    a, weight, gain = 20.0, 0.7, 0.3
    same = {"K": [3.0, 2.0], "Lambda": 5.0, "Gamma_inv": gain}
    composite = tp.laws.CompositeAdaptation(ARM, filter_rad=a, weight=weight, **same)
    rng = np.random.default_rng(1)
    state, estimate = rng.normal(size=(5, 2)), ARM.parameters.values * 1.2
    q, qd = state[:2]
    # With filters at rest W = a Y_p, Y_p pi = M qd, and e = W pi_hat.
    W = a * tp.regressor(ARM.with_gravity((0, 0, 0)))(q, np.zeros(2), qd)
    factor = weight / (1 + weight * gain * np.square(W).sum() / a)
    plain = tp.SlotineLi(ARM, **same).adaptation(*state, parameters=estimate)
    rate = composite.adaptation(*state, parameters=estimate)[: len(estimate)]
    np.testing.assert_allclose(rate, plain - gain * factor * W.T @ (W @ estimate), rtol=1e-9, atol=1e-9)


def test_elastic_law_takes_the_default_for_the_gain_that_is_not_given():
    arm = tp.load("zollo2r")
    kp, kd = default_gains(arm)
    law = tp.laws.ElasticPDGravity(arm, Kp=[3000.0, 1800.0])
    np.testing.assert_allclose((law.Kp, law.Kd), ([3000.0, 1800.0], kd))
    law = tp.laws.ElasticPDGravity(arm, Kd=[150.0, 60.0])
    np.testing.assert_allclose((law.Kp, law.Kd), (kp, [150.0, 60.0]))


def test_a_reference_out_of_reach_is_told_where_it_is_furthest():
    arm = tp.load("planar3r").bind(l1=1, l2=1, l3=1)
    law = tp.laws.OperationalSlotineLi(arm, task="planar", K=10.0)
    motion = SimpleNamespace(q=np.array([[1.0, 0.0, 0.0], [0.0, 4.0, 0.0], [3.5, 0.0, 0.0]]))
    (warning,) = law.reference_warnings(motion, np.array([0.0, 0.1, 0.2]))
    assert "4 m from the base at 0.1 s" in warning
    assert "the stretched arm reaches 3 m" in warning


def test_the_dual_of_a_pseudo_inertia_gives_the_inner_product():
    """tr(P(x) L(b)) = x^T b for all ten parameters."""
    x, b = cs.SX.sym("x", 10), cs.SX.sym("b", 10)
    product = cs.Function("f", [x, b], [cs.trace(pseudo(x) @ dual(b))])
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, b = rng.normal(size=(2, 10))
        assert float(product(x, b)) == pytest.approx(x @ b)


def test_the_divergence_of_bodies_is_that_of_their_determinants_and_traces():
    """D = log(|P_hat| / |P|) + tr(P_hat^-1 P) - 4, by dense linear algebra; zero for a body and itself."""
    x, y = cs.SX.sym("x", 10), cs.SX.sym("y", 10)
    divergence = cs.Function("f", [x, y], [log_divergence(x, y)])
    true, estimate = ([m, 0.1, 0.2, -0.1, 0.5, 0.02, 0.01, 0.6, -0.03, 0.4] for m in (2.0, 3.0))
    P, P_hat = (cs.Function("p", [x], [pseudo(x)])(v).full() for v in (true, estimate))
    logs = np.linalg.slogdet(P_hat)[1] - np.linalg.slogdet(P)[1]
    assert float(divergence(true, estimate)) == pytest.approx(logs + np.trace(np.linalg.solve(P_hat, P)) - 4)
    assert float(divergence(true, true)) == pytest.approx(0.0, abs=1e-12)


def test_a_rise_of_v_is_a_share_of_its_start():
    v = np.array([4.0, 3.0, 3.5, 2.0])
    record = LyapunovRecord(np.arange(4.0), v, v, v, v, v, ())
    assert record.largest_rise == pytest.approx(0.5 / 4.0)


@pytest.mark.parametrize("given", [{"Kp": 100.0}, {"Kd": 20.0}])
def test_the_gain_that_is_left_out_is_set_by_the_largest_inertia(given):
    law, both = tp.PDGravity(ARM, **given), tp.PDGravity(ARM)
    missing = "Kd" if "Kp" in given else "Kp"
    np.testing.assert_allclose(getattr(law, missing), getattr(both, missing))


def test_a_natural_adaptation_is_as_slow_as_the_largest_inertia_is_large():
    light = ARM.with_parameters(0.1 * ARM.parameters.values)
    slow, quick = (tp.laws.NaturalAdaptation(robot).gamma for robot in (ARM, light))
    np.testing.assert_allclose(quick, 0.1 * slow)


def test_wrong_friction_counts_in_v_of_natural_adaptation():
    law = tp.laws.NaturalAdaptation(ARM.with_friction(viscous=0.5), terms=("viscous",))
    true, rest = law.real(law.parameters.values), np.zeros(2)
    wrong = true + np.append(np.zeros(len(true) - 2), [0.3, 0.3])
    V = tp.laws.lyapunov(law)(rest, rest, rest, rest, rest, wrong, true)[0]
    assert float(V) == pytest.approx(0.5 * np.sum(0.3**2 / law.Gamma_inv))


def test_composite_adaptation_leaves_right_parameters_alone_when_others_are_held():
    """The torque that held parameters explain is taken off what the estimate must predict."""
    law = tp.laws.CompositeAdaptation(ARM, adapt="forearm.*")
    reference = tp.BSpline.random(
        [0.0, 0.5], [1.0, 1.0], count=10, duration=2.0, seed=1
    )  # from rest, as the filters are
    run = tp.simulate(tp.RigidPlant(ARM), law, reference, duration=2.0, rate=1000)
    true = law.parameters.values
    assert np.abs(run.parameters[-1, : len(true)] - true).max() < 0.02 * np.abs(true).max()


def test_damping_of_elastic_joints_is_held_below_what_a_light_motor_bears():
    """(B^-1)_ii Kd_i stays within 400/s: a motor a thousand times lighter gets less damping, not more."""
    heavy, light = (
        default_gains(ARM.with_transmissions(stiffness=900.0, rotor_inertia=v, gear_ratio=1.0)) for v in (0.1, 1e-4)
    )
    assert np.all(light[1] < heavy[1])
    np.testing.assert_allclose(light[1] / 1e-4, 400.0, rtol=0.05)


def test_a_task_is_followed_with_the_friction_of_the_joints():
    """With right parameters and no error, the torque is that of the motion, friction included."""
    arm = ARM.with_friction(viscous=[0.7, 0.4])
    law = tp.laws.OperationalSlotineLi(arm, task="xy", K=50.0, terms=("viscous",))
    q, qd, qdd = np.array([0.3, 0.8]), np.array([0.5, -0.4]), np.array([1.0, 2.0])
    path = tp.operational.task_coordinates(arm, task="xy")
    h = 1e-4
    before, now, after = (path(q + k * h * qd + (k * h) ** 2 / 2 * qdd) for k in (-1, 0, 1))
    tau, _ = law.step(law.init(), q, qd, now, (after - before) / (2 * h), (after - 2 * now + before) / h**2, dt=0.001)
    np.testing.assert_allclose(tau, tp.inverse_dynamics(arm, terms=("viscous",))(q, qd, qdd), rtol=1e-5)


def test_default_gains_of_an_arm_without_mass_are_numbers():
    nothing = ARM.with_parameters(np.zeros(len(ARM.parameters)))
    assert np.isfinite(typical(nothing).inverse).all()


def test_natural_adaptation_leaves_friction_alone_where_there_is_no_error():
    law = tp.laws.NaturalAdaptation(ARM.with_friction(viscous=0.5), terms=("viscous",))
    start = law.init(law.real(law.parameters.values))
    q, rest = np.array([0.2, 0.4]), np.zeros(2)
    _, state = law.step(start, q, rest, q, rest, rest, dt=0.01)
    np.testing.assert_allclose(state.parameters, start.parameters, rtol=1e-12)


def test_bodies_are_made_real_by_a_share_of_their_largest_entry():
    law = tp.laws.NaturalAdaptation(ARM)
    flat = law.parameters.values.copy()
    flat[4:10] = 0  # a mass with a first moment, and no extent
    for size in (1.0, 50.0):
        body = law.real(size * flat, margin=1e-2)[:10]
        entries = np.abs(pseudo_inertia((size * flat)[:10].tolist()))
        assert smallest_eigenvalue(body.tolist()) == pytest.approx(1e-2 * np.max(entries), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_inverse_of_a_mass_matrix_is_that_of_linear_algebra_however_light_the_arm_is(scale):
    arm, q = ARM.with_parameters(scale * ARM.parameters.values), np.array([[0.3, 0.8], [-1.0, 2.0]])
    inverse = np.linalg.inv(tp.mass_matrix(arm)(q))
    np.testing.assert_allclose(inverse_mass(arm, False, q), inverse, rtol=1e-6, atol=1e-6 * np.abs(inverse).max())


def test_what_a_step_of_a_composite_law_can_take():
    """Its adaptation gain is where the gain in its memory starts, so that a step has no say in it."""
    assert set(tp.laws.CompositeAdaptation(ARM).adjustable()) == {"Lambda", "K"}
    assert set(tp.SlotineLi(ARM).adjustable()) == {"Lambda", "K", "Gamma_inv"}
