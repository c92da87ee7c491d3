"""Hundreds of joints: the regressor is refused at once with the way out, and what grows with their number alone works."""

import time

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.regressors.classical import _blocks


def chain(n):
    rows = [dict(a=0.1, alpha="pi/2" if k % 2 else 0, d=0.05) for k in range(n)]
    inertia = ((0.01, 0, 0), (0, 0.01, 0), (0, 0, 0.01))
    return tp.Robot.from_dh(rows, links=[dict(m=0.1, com=(0.05, 0, 0), inertia=inertia)] * n)


def test_200_joints():
    robot = chain(200)
    start = time.process_time()
    for build in (tp.regressor, tp.slotine_li_regressor):
        with pytest.raises(TaupiError, match=r"has 201000 entries, too many .* use taupi.inverse_dynamics\(robot\)"):
            build(robot)
    assert time.process_time() - start < 1


def test_the_way_out_works():
    """The remedy of the message: gravity of a long chain from the torque program, against the potential energy's slope."""
    robot = chain(60)
    q = np.random.default_rng(0).uniform(-1, 1, 60)
    tau = tp.inverse_dynamics(robot).compile("numpy")(q, 0 * q, 0 * q)
    energy = tp.potential_energy(robot).compile("numpy")
    step = np.zeros(60)
    step[7] = 1e-5
    assert tau[7] == pytest.approx((energy(q + step) - energy(q - step)) / 2e-5, rel=1e-5)


def test_blocks_are_counted_along_branches():
    assert _blocks(chain(100)) == 5050 and _blocks(tp.load("puma560")) == 21
