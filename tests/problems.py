"""Identification problems made of random states, without logs and filters in between."""

import numpy as np

import taupi as tp
from taupi.identifiability.conditioning import conditioning_of_factor
from taupi.identification.problem import Problem, prior_of
from taupi.identification.rows.factors import Compressor, merge_stretches, stack_factors

FRICTION = ("rotor", "viscous", "coulomb", "offset")


def states(robot, samples, seed):
    return np.random.default_rng(seed).normal(size=(3, samples, robot.n))


def problem_of(robot, truth, noise=0.0, samples=400, seed=0, sign=1.0, terms=FRICTION, prior=None, motion=None):
    """Return the problem of samples with tau = sign Y truth + noise, noise relative to each joint's own torque."""
    base = tp.base_parameters(robot, terms=terms)
    q, qd, qdd = states(robot, samples, seed) if motion is None else motion
    tau = sign * base.regressor()(q, qd, qdd) @ base.project(truth)
    tau = tau + noise * np.maximum(tau.std(axis=0), 1e-9) * np.random.default_rng(seed + 1).normal(size=tau.shape)
    gather = Compressor(base.regressor().sparsity())
    gather.add(base.regressor()(q, qd, qdd).transpose(2, 1, 0), tau, np.ones(tau.shape, dtype=bool))
    pieces = tuple(gather.result(file=0))
    factors = tuple(merge_stretches(pieces))
    seen = conditioning_of_factor(base.regressor(), len(tau), stack_factors(factors)[:, :-1])
    return Problem(robot, base.terms, base, base.regressor(), factors, pieces, seen, prior_of(prior, base), ())


def cloud(rng, count=12, size=0.3, centre=(0.0, 0.0, 0.0)):
    """Return masses, points, and the ten parameters from their definitions: sums over point masses."""
    m, x = rng.uniform(0.1, 1.0, count), rng.uniform(-size, size, (count, 3)) + centre
    inertia = sum(w * (p @ p * np.eye(3) - np.outer(p, p)) for w, p in zip(m, x, strict=True))
    return m, x, np.array([m.sum(), *(m @ x), *inertia[np.triu_indices(3)]])


def real_truth(robot, rng, terms=FRICTION):
    """Return standard parameters of clouds of point masses, with positive friction and rotors."""
    links = [cloud(rng)[2] for _ in robot.links]
    return np.concatenate([*links, *(rng.uniform(0.2, 1.0, robot.n) for _ in terms)])


def assert_real(pi, links):
    """Check in other words than ours: mass above zero, principal moments at the centre of mass with the triangle inequality."""
    for ten in np.asarray(pi)[: 10 * links].reshape(-1, 10):
        m, h = ten[0], ten[1:4]
        inertia = np.zeros((3, 3))
        inertia[np.triu_indices(3)] = ten[4:]
        inertia += np.triu(inertia, 1).T
        assert m > 0
        c = h / m
        low, middle, high = np.linalg.eigvalsh(inertia - m * (c @ c * np.eye(3) - np.outer(c, c)))
        assert low > -1e-9 and low + middle - high > -1e-9
