"""Closed loops of robots with elastic joints, simulated without the package's own simulation: RK4 in one CasADi function."""

from functools import cache

import casadi as cs
import numpy as np

import taupi as tp

FRICTION = ("coulomb", "viscous")


def reference(n, seed, duration, size, harmonics=8):
    """Return a Fourier motion and its velocity as functions of time, at rest in 0 at the start but for its speed."""
    k = np.arange(1, harmonics + 1)
    w = 2 * np.pi / duration * k
    a, b = np.random.default_rng(seed).normal(size=(2, harmonics, n)) * size / k[:, None]

    def at(t):
        r = cs.DM(a.T) @ cs.sin(w * t) - cs.DM(b.T) @ (cs.cos(w * t) - 1)
        return r, cs.DM(a.T) @ (w * cs.cos(w * t)) + cs.DM(b.T) @ (w * cs.sin(w * t))

    return at


@cache
def states(arm, seed=0, duration=8.0, rate=500.0, size=0.8, steps=20, terms=FRICTION, held=False, damping=0.04):
    """Return time (N,), states (N, 2 (n + e)) in the order q, theta, qd, thetad, and motor torques (N, n) of a PD loop.

    The law is De Luca, Siciliano and Zollo's (2005) with a velocity reference; `held` keeps its torque for a sample.
    """
    n, plant, g = arm.n, tp.elastic.forward_dynamics(arm, terms=terms), tp.gravity_torque(arm)
    k = np.array([float(j.transmission.stiffness) for j in arm.joints])
    at = reference(n, seed, duration, size)
    x, t, u = cs.SX.sym("x", 4 * n), cs.SX.sym("t"), cs.SX.sym("u", n)

    def law(t, x):
        r, rd = at(t)
        rest = g(r) / k
        return k * (r + rest - x[n : 2 * n]) + damping * k * (rd - x[3 * n :]) + g(x[n : 2 * n] - rest)

    def rate_of(t, x):
        qdd, thetadd = plant(x[:n], x[2 * n : 3 * n], x[n : 2 * n], x[3 * n :], u if held else law(t, x))
        return cs.vertcat(x[2 * n :], qdd, thetadd)

    h = 1 / (rate * steps)
    k1 = rate_of(t, x)
    k2 = rate_of(t + h / 2, x + h / 2 * k1)
    k3 = rate_of(t + h / 2, x + h / 2 * k2)
    k4 = rate_of(t + h, x + h * k3)
    step = cs.Function("step", [x, t, u], [x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])
    torque = cs.Function("torque", [x, t], [law(t, x)])
    begin, now = cs.MX.sym("begin", 4 * n), cs.MX.sym("now")
    end, applied = begin, torque(begin, now)
    for i in range(steps):
        end = step(end, now + i * h, applied)
    count = int(duration * rate)
    loop = cs.Function("loop", [begin, now], [end, cs.vertcat(begin, applied)]).mapaccum(count)
    time = np.arange(count) / rate
    start = np.concatenate([np.zeros(n), np.array(g(np.zeros(n))).ravel() / k, np.zeros(2 * n)])
    path = np.array(loop(start, time[None, :])[1]).T
    return time, path[:, : 4 * n], path[:, 4 * n :]


def log_of(arm, position_noise=0.0, torque_noise=0.0, noise_seed=100, **settings):
    """Return the log of such a run: q, theta and tau = u, with noise (rad, N m)."""
    time, x, u = states(arm, **settings)
    n, rng = arm.n, np.random.default_rng(noise_seed)
    q, theta = (v + position_noise * rng.normal(size=v.shape) for v in (x[:, :n], x[:, n : 2 * n]))
    return tp.Log(time, q, theta=theta, tau=u + torque_noise * rng.normal(size=u.shape), names=arm.joint_names)
