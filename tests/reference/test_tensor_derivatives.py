"""Gradients in JAX and PyTorch against Pinocchio's analytical derivatives of inverse and forward dynamics."""

import numpy as np
import pinocchio as pin
import pytest
from support import PEER, error

import taupi as tp

PANDA = ("panda_description/urdf/panda.urdf", ("panda_finger_joint1", "panda_finger_joint2"))
SAMPLES = 5


@pytest.fixture(scope="module")
def pair(robots_dir):
    path, lock = robots_dir / PANDA[0], PANDA[1]
    ours = tp.Robot.from_urdf(path, lock=lock[:1], snap=False)
    full = pin.buildModelFromUrdf(str(path))
    theirs = pin.buildReducedModel(full, [full.getJointId(n) for n in lock], pin.neutral(full))
    return ours, theirs, theirs.createData()


def by_jax(program, arrays):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    try:
        return [np.asarray(j) for j in jax.vmap(jax.jacrev(program.jax(), argnums=(0, 1, 2)))(*arrays)]
    finally:
        jax.config.update("jax_enable_x64", False)


def by_torch(program, arrays):
    torch = pytest.importorskip("torch")
    rows = torch.func.jacrev(program.torch(), argnums=(0, 1, 2))
    return [j.numpy() for j in torch.func.vmap(rows)(*map(torch.tensor, arrays))]


@pytest.mark.parametrize("jacobians", [by_jax, by_torch])
def test_gradients_of_torque_and_acceleration(pair, jacobians):
    robot, model, data = pair
    q, v, x = np.random.default_rng(3).uniform(-1, 1, (3, SAMPLES, robot.n))
    inverse = jacobians(tp.inverse_dynamics(robot), (q, v, x))
    forward = jacobians(tp.forward_dynamics(robot), (q, v, 20 * x))
    for k in range(SAMPLES):
        pin.computeRNEADerivatives(model, data, q[k], v[k], x[k])
        mass = np.triu(data.M) + np.triu(data.M, 1).T
        for ours, theirs in zip(inverse, (data.dtau_dq, data.dtau_dv, mass), strict=True):
            assert error(ours[k], theirs) < PEER
        pin.computeABADerivatives(model, data, q[k], v[k], 20 * x[k])
        inverse_mass = np.triu(data.Minv) + np.triu(data.Minv, 1).T
        for ours, theirs in zip(forward, (data.ddq_dq, data.ddq_dv, inverse_mass), strict=True):
            assert error(ours[k], theirs) < 1e-9  # the wrist's inertias are small, and M is inverted
