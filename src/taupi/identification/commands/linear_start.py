"""Where the search begins: linear least squares of the law's torque, joint by joint, with the delay found by trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.inverse import inverse_dynamics
from taupi.dynamics.parametric import parametric
from taupi.identification.commands.model import DrivenModel
from taupi.identification.commands.stretches import Stretch

# s: the delays that are tried, and those beyond them, where the last one is the best.
_DELAYS = np.arange(-0.02, 0.0401, 0.0025)
_BEYOND = (np.arange(-0.03, -0.2, -0.01), np.arange(0.05, 0.5, 0.01))
# Hz: the least cutoff; and how many times the frequency below which 95 % of the motion's power is.
_CUTOFF, _ABOVE = 5.0, 4.0
# Mean derivatives, and signs, below which a joint stands.
_STANDS = 1e-6
_SLOW = 0.05  # rad/s or m/s: the speed over which dry friction changes its sign here


@dataclass(frozen=True, eq=False)
class LinearStart:
    """What linear least squares finds: (n,) of each kind, and the delay.

    Attributes:
        rotor: kg m^2 or kg.
        viscous: N m s/rad or N s/m.
        coulomb: N m or N.
        offset: N m or N.
        delay: s.
        gain: How many times the torque that moves the description's links the law's torque has, beside all of the above; 1 where
            gains and masses belong together.
        seen: The share of the law's torque, beside all of the above, that those links explain with this factor.
    """

    rotor: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    offset: np.ndarray
    delay: float
    gain: float = 1.0
    seen: float = 0.0

    def values(self, model: DrivenModel) -> np.ndarray:
        """Return the start (p,) of a model: these values, and its own where there are none here."""
        table = {"rotor": self.rotor, "viscous": self.viscous, "coulomb": self.coulomb, "offset": self.offset}
        result = model.column("start")
        for k, parameter in enumerate(model.parameters):
            if parameter.kind == "delay":
                result[k] = self.delay
            elif parameter.kind in table and parameter.joint is not None:
                result[k] = table[parameter.kind][parameter.joint]
        return result


def linear_start(model: DrivenModel, stretches: Sequence[Stretch]) -> LinearStart:
    """Return the least squares of kp (qdes(t - d) - q) - kd qd = ID(q, qd, qdd) + rotor qdd + viscous qd + coulomb s + offset."""
    from scipy.optimize import nnls

    n = model.robot.n
    kept = [s for s in stretches if len(s) > 60] or list(stretches)
    rigid = parametric(inverse_dynamics, model.robot)
    bodies = model.bodies
    motions = [SmoothMotion.of(stretch) for stretch in kept]
    links = [rigid(m.q, m.qd, m.qdd, bodies) for m in motions]
    factors = []
    for j in range(n):
        rows = np.vstack([np.column_stack([m.qdd[:, j], m.qd[:, j], m.sign[:, j], m.one])[m.use] for m in motions])
        size = np.sqrt((rows**2).mean(axis=0))
        rows[:, size < _STANDS] = 0.0  # of a joint that stands, derivatives are what computers round
        size[size < _STANDS] = 1.0
        across, triangle = np.linalg.qr(rows / size)
        factors.append((size, across, np.column_stack([triangle, -triangle[:, 3]])))  # an offset has both signs

    def tried(delay: float) -> tuple[float, np.ndarray, float]:
        """Return what is left with a delay, and the values of each joint (n, 4)."""
        cost, values = 0.0, np.zeros((n, 4))
        torque = [m.torque(stretch, delay) - link for m, stretch, link in zip(motions, kept, links, strict=True)]
        right = np.concatenate([t[m.use] for t, m in zip(torque, motions, strict=True)])
        for j, (size, across, triangle) in enumerate(factors):
            along = across.T @ right[:, j]
            found, left = nnls(triangle, along)
            values[j] = np.append(found[:3], found[3] - found[4]) / size
            squares = left**2 + float(right[:, j] @ right[:, j] - along @ along)
            cost += squares / max(float(np.var(right[:, j])), 1e-30)
        return cost, values, delay

    results = [tried(float(delay)) for delay in _DELAYS]
    best = min(results, key=lambda result: result[0])
    for end, beyond in zip((results[0], results[-1]), _BEYOND, strict=True):
        if best is end:
            best = min((end, *(tried(float(delay)) for delay in beyond)), key=lambda result: result[0])
            break
    _, values, delay = best
    # Of both torques, what is unlike inertia and friction of the joint itself: gravity, and what joints do to each other.
    beside = []
    for torques in ([m.torque(s, delay) for m, s in zip(motions, kept, strict=True)], links):
        stacked = np.concatenate([t[m.use] for t, m in zip(torques, motions, strict=True)])
        axes = [across for _, across, _ in factors]
        beside.append(np.column_stack([t - a @ (a.T @ t) for t, a in zip(stacked.T, axes, strict=True)]))
    law, link = beside
    product, square = float((law * link).sum()), max(float((link**2).sum()), 1e-30)
    seen = product**2 / square / max(float((law**2).sum()), 1e-30)
    return LinearStart(values[:, 0], values[:, 1], values[:, 2], values[:, 3], delay, product / square, seen)


@dataclass(frozen=True, eq=False)
class SmoothMotion:
    """A stretch without phase shift below a cutoff: positions and derivatives (N, n), and which samples are used (N,)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    sign: np.ndarray
    one: np.ndarray
    use: np.ndarray
    filter: np.ndarray | None
    uniform: np.ndarray

    @classmethod
    def of(cls, stretch: Stretch) -> SmoothMotion:
        """Return a stretch smoothed up to a few times the frequencies at which it moves."""
        from scipy.signal import butter

        rate = (len(stretch) - 1) / stretch.duration
        uniform = np.linspace(stretch.time[0], stretch.time[-1], len(stretch))
        q = np.column_stack([np.interp(uniform, stretch.time, x) for x in stretch.q.T])
        power = (np.abs(np.fft.rfft(np.diff(q, axis=0), axis=0)) ** 2).sum(axis=1)
        share = np.cumsum(power) / max(power.sum(), 1e-30)
        band = np.searchsorted(share, 0.95) * rate / len(q)
        cutoff = max(_CUTOFF, min(_ABOVE * band, 12.0))
        low_pass = butter(4, cutoff, fs=rate, output="sos") if cutoff < 0.45 * rate and len(q) > 60 else None
        smooth = _filtered(low_pass, q)
        qd = np.gradient(smooth, uniform, axis=0)
        qdd = np.gradient(qd, uniform, axis=0)
        use = np.ones(len(q), dtype=bool)
        edge = min(round(rate / cutoff), len(q) // 4)
        use[:edge] = use[len(q) - edge :] = False
        use &= (np.interp(uniform, stretch.time, stretch.commands.enabled.min(axis=1)) > 0.99) & use
        if not use.any():
            use[:] = True
        return cls(smooth, qd, qdd, _filtered(low_pass, np.tanh(qd / _SLOW)), np.ones(len(q)), use, low_pass, uniform)

    def torque(self, stretch: Stretch, delay: float) -> np.ndarray:
        """Return the law's torque (N, n) for commands that come late, smoothed as the motion is."""
        n, given = stretch.q.shape[1], stretch.commands
        step = (self.uniform[-1] - self.uniform[0]) / max(len(self.uniform) - 1, 1)
        edges = np.append(self.uniform - step / 2, self.uniform[-1] + step / 2)
        mean, _ = given.means(edges, delay)
        kp, kd = stretch.drive.per_joint("kp", n), stretch.drive.per_joint("kd", n)
        raw = kp * (mean[:, :n] - self.q) + kd * (mean[:, n : 2 * n] - self.qd) + mean[:, 2 * n :]
        limit = stretch.drive.per_joint("torque_limit", n)
        return _filtered(self.filter, np.clip(raw, -limit, limit))


def _filtered(low_pass: np.ndarray | None, x: np.ndarray) -> np.ndarray:
    from scipy.signal import sosfiltfilt

    return x if low_pass is None else np.asarray(sosfiltfilt(low_pass, x, axis=0))
