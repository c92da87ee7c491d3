"""Single facts of regressors: a reference motion with a matrix, and linear combinations as text."""

import numpy as np
from flint import fmpq

from taupi.regressors.classical import reference_motion
from taupi.regressors.lump import _linear


def test_a_reference_motion_with_a_matrix_mixes_joints():
    gain = np.array([[2.0, 1.0], [0.0, 3.0]])
    q, qd, q_des, qd_des, qdd_des = np.random.default_rng(0).normal(size=(5, 4, 2))
    qrd, qrdd, s = reference_motion(q, qd, q_des, qd_des, qdd_des, Lambda=gain)
    for k in range(4):
        assert np.allclose(qrd[k], qd_des[k] - gain @ (q[k] - q_des[k]), rtol=1e-13)
        assert np.allclose(qrdd[k], qdd_des[k] - gain @ (qd[k] - qd_des[k]), rtol=1e-13)
        assert np.allclose(s[k], qd[k] - qrd[k], rtol=1e-13)


def test_a_linear_combination_has_the_signs_of_its_coefficients():
    half, three = fmpq(1, 2), fmpq(3)
    assert _linear([(half, "a"), (half, "b")]) == "a/2 + b/2"
    assert _linear([(-half, "a"), (-three, "b")]) == "-a/2 - 3*b"
    assert _linear([(fmpq(0), "a"), (three, "b"), (-half, "c")]) == "3*b - c/2"
