"""Facts about laws: gains, changes of an adaptation and reports, in cases that a person can work out."""

from types import SimpleNamespace

import casadi as cs
import numpy as np
import pytest

import taupi as tp
from taupi.control.gains import default_adaptation
from taupi.control.laws.elastic_pd_gravity import default_gains
from taupi.control.lyapunov import _reasons, plant_parameters

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
