"""Posterior samples of a fit from commands and encoders: robots, with their drives, that could all have made its logs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.identification.results.command_fit import CommandFit
from taupi.identification.results.samples import Samples
from taupi.identification.results.uncertainty import covariance_root
from taupi.model.body import with_real_inertia
from taupi.model.parameters import LINK_SIZE

# A combination with a larger share of what has no prior stays where it began: nothing says how far away it could be.
_OPEN = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class CommandSamples(Samples):
    """Robots that a fit from commands takes as possible.

    Attributes:
        raw: The parameters (K, p) of the fit's model, delays and what a description has no place for included.
    """

    fit: CommandFit  # type: ignore[assignment]  # what differs is in the properties below
    raw: np.ndarray

    @property
    def base(self) -> np.ndarray:
        """The parameters that the fit reports (K, b)."""
        return self.raw[:, [self.fit.model.names.index(name) for name in self.fit.names]]

    @property
    def delays(self) -> np.ndarray | None:
        """The delay of the commands of each robot (K,), s."""
        return self.raw[:, self.fit.model.names.index("delay")]

    @property
    def gains(self) -> dict[str, np.ndarray]:
        """The gain on the position error of each robot (K,), N m/rad or N/m, by the joints whose gain was fitted as well."""
        return {n.removesuffix(".kp"): self.raw[:, k] for k, n in enumerate(self.fit.model.names) if n.endswith(".kp")}

    @property
    def spread(self) -> np.ndarray:
        """NaN for each joint (n,): no torque was measured."""
        return np.full(self.fit.robot.n, np.nan)


def command_samples(fit: CommandFit, count: int, seed: int, anyway: bool) -> CommandSamples:
    """Return robots that could have made the logs of a fit from commands: normal draws, kept within the bounds of each parameter.

    What logs do not determine is drawn from its prior, where it has one, and stays where it began, where it has none.
    """
    fit.robot_identified(anyway)  # refuses a fit that is wrong, or in units of kp
    model, rng = fit.model, np.random.default_rng(seed)
    scale, spread = model.column("scale"), model.column("spread")
    known, keep = np.isfinite(spread), np.eye(len(scale))
    for direction in fit.free:
        if (direction[~known] ** 2).sum() > _OPEN:
            keep -= np.outer(direction * scale, direction / scale)
    draws = rng.normal(size=(count, len(scale))) @ covariance_root(keep @ fit.raw_covariance @ keep.T).T
    raw = np.clip(np.vstack([fit.raw, fit.raw + draws]), model.column("lower"), model.column("upper"))
    parameters = np.tile(fit.parameters.values, (count + 1, 1))
    place = {name: k for k, name in enumerate(fit.parameters.names)}
    for k, name in enumerate(model.names):
        if name in place:
            parameters[:, place[name]] = raw[:, k]
    bodies = parameters[:, : len(fit.robot.parameters)].reshape(-1, LINK_SIZE)
    parameters[:, : len(fit.robot.parameters)] = np.reshape([with_real_inertia(b) for b in bodies], (count + 1, -1))
    return CommandSamples(fit, parameters, seed, np.ones(count + 1, dtype=bool), raw)
