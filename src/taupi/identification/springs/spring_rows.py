"""Rows of elastic joints that do not use the measured deflection as a regressor.

A stiff spring bends by little more than its encoders resolve. In the rows of Zollo et al. (2014), K (theta - q) is among the
columns of the link with the target 0, and noise in a column makes its parameter too small. Two combinations of these rows have
no such column:

    drive = link + motor:   u + t = Y_link pi + Y_motor pi             the spring's torque cancels
    link:                   theta - q = (Y_link pi - t) / K + nuisance the deflection is the target

t is a known torque on the link, 0 unless one is stated. The second is linearised about an estimate pi_0, K_0, with the modelled
deflection m_0 = (Y_link pi_0 - t) / K_0, and multiplied by K_0, so that pi is as in the first:

    t + K_0 (theta - q - m_0) = Y_link pi - m_0 K

Its noise is K_0 times that of the encoders. The nuisance is linear too: a delay between the encoders (thetad), lost motion (sgn
thetad) and an offset per log. It is removed by projection (Frisch & Waugh 1933; Lovell 1963).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations, spring_columns
from taupi.identification.friction.dry_friction import Past
from taupi.identification.rows.entries import Entries
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.row_maker import Rows

# The nuisance columns of a link's row: thetad, sgn thetad, 1.
NUISANCE = DELAY, LOST_MOTION, OFFSET = 0, 1, 2
# Terms on the link's side that would be the same column; if a fit has them, they are parameters and not nuisance.
SAME_COLUMN = ("link_viscous", "link_coulomb", "link_offset")
# sgn thetad is tanh(thetad / v) with v this share of the largest speed, as dry friction is by default.
WIDTH = 0.01


@dataclass(frozen=True, eq=False)
class SpringLayout:
    """Where the rows and columns of elastic joints are, in rows that are extended by those of drives and by nuisance columns.

    The rows are those of the `Equations`, then one drive per elastic joint. The columns are the base parameters, then three
    nuisance columns per elastic joint, which are not zero in the row of its link only, then the torque.

    `widths` (e,) are the velocities v of sgn thetad.
    """

    base: BaseParameters
    widths: np.ndarray

    @cached_property
    def equations(self) -> Equations:
        """The equations of links and motors."""
        return Equations.of(self.base)

    @cached_property
    def sprung(self) -> tuple[int, ...]:
        """The rows of links behind springs."""
        return self.equations.sprung

    @cached_property
    def parameters(self) -> int:
        """The number of base parameters."""
        return self.base.count

    @cached_property
    def _stiffness(self) -> tuple[int, ...]:
        return tuple(spring_columns(self.base, link)[0] for link in self.sprung)

    @cached_property
    def _motors(self) -> tuple[int, ...]:
        return tuple(self.equations.motors[link] for link in self.sprung)

    def stiffness(self, k: int) -> int:
        """Return the column of the stiffness of elastic joint number `k`."""
        return self._stiffness[k]

    def motor(self, k: int) -> int:
        """Return the row of the motor of elastic joint number `k`."""
        return self._motors[k]

    def drive(self, k: int) -> int:
        """Return the row of the drive of elastic joint number `k`."""
        return self.equations.count + k

    def nuisance(self, k: int) -> np.ndarray:
        """Return the nuisance columns of elastic joint number `k`."""
        return self.parameters + len(NUISANCE) * k + np.array(NUISANCE)

    @cached_property
    def measured(self) -> np.ndarray:
        """The columns of the base parameters and of the torque."""
        return np.append(np.arange(self.parameters), self.parameters + len(NUISANCE) * len(self.sprung))

    @property
    def is_nuisance(self) -> tuple[bool, ...]:
        """Which of the nuisance columns are not columns of the fit's own terms."""
        own = {term.name for term in self.base.terms}
        return tuple(name not in own for name in SAME_COLUMN)

    def used(self, used: np.ndarray) -> np.ndarray:
        """Return which columns of the extended rows are not always zero, from those (n, p) of the regressor."""
        count, springs = len(used), len(self.sprung)
        result = np.zeros((count + springs, self.parameters + len(NUISANCE) * springs), dtype=bool)
        result[:count, : self.parameters] = used
        for k, link in enumerate(self.sprung):
            result[self.drive(k), : self.parameters] = used[link] | used[self.motor(k)]
            result[link, self.nuisance(k)] = True
        return result

    def shapes(
        self, q: np.ndarray, qd: np.ndarray, seconds: float, past: Past | None
    ) -> tuple[np.ndarray, Past | None]:
        """Return thetad and sgn thetad of the motors (N, e, 2), to be filtered as the rows are."""
        speed = qd[:, [self.motor(k) for k in range(len(self.sprung))]]
        return np.stack([speed, np.tanh(speed / self.widths)], axis=2), past

    def extended(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return y (p + 3e, n + e, m), tau and use (m, n + e) of rows whose shapes are those above."""
        p, count, m = rows.y.shape
        springs = len(self.sprung)
        y = np.zeros((p + len(NUISANCE) * springs, count + springs, m))
        y[:p, :count] = rows.y
        tau, use = (np.concatenate([v, np.zeros((m, springs), v.dtype)], axis=1) for v in (rows.tau, rows.use))
        for k, link in enumerate(self.sprung):
            motor, drive = self.motor(k), self.drive(k)
            y[:p, drive] = rows.y[:, link] + rows.y[:, motor]
            tau[:, drive] = rows.tau[:, link] + rows.tau[:, motor]
            use[:, drive] = rows.use[:, link] & rows.use[:, motor]
            y[self.nuisance(k)[:-1], link] = rows.shapes[:, k].T
            y[self.nuisance(k)[-1], link] = 1.0
        return y, tau, use


@dataclass(frozen=True, eq=False)
class SpringModel:
    """The estimate about which the row of a link is linearised, and what is projected out of it.

    `values` (p,) are base parameters, `projection` (files, 3, p + 1) the combination of nuisance columns that is nearest to each
    column of the link's row and to its target, with 0 for nuisance that is not projected out.
    """

    values: np.ndarray
    projection: np.ndarray


@dataclass(frozen=True, eq=False)
class SpringRows:
    """The change from extended rows to those that are fitted: of links, linearised, and of drives in the place of motors.

    `models` has one entry per elastic joint; None leaves the row of that link out, because the logs do not determine its spring.
    """

    layout: SpringLayout
    models: tuple[SpringModel | None, ...]

    def link_block(self, k: int, file: int, block: np.ndarray) -> np.ndarray:
        """Return rows [Y tau] (m, p + 1) of the link of elastic joint number `k`, from its extended rows (m, p + 3e + 1)."""
        model = self.models[k]
        assert model is not None
        layout = self.layout
        block = block[:, layout.measured] - block[:, layout.nuisance(k)] @ model.projection[file]
        return linearised(block, layout.stiffness(k), model.values)

    def factors(self, extended: tuple[JointFactor, ...]) -> tuple[JointFactor, ...]:
        """Return the factors of the rows that are fitted, from those of the extended rows."""
        layout = self.layout
        links = {link: k for k, link in enumerate(layout.sprung)}
        drives = {layout.drive(k): layout.motor(k) for k in range(len(links))}
        motors = set(drives.values())
        result = []
        for f in extended:
            if f.joint in motors:
                continue
            if f.joint in links and self.models[links[f.joint]] is None:
                result.append(dataclasses.replace(f, stored=np.zeros((0, layout.parameters + 1)), rows=0, total=0.0))
                continue
            block = f.r[:, layout.measured] if f.joint not in links else self.link_block(links[f.joint], f.file, f.r)
            result.append(dataclasses.replace(f, stored=block, joint=drives.get(f.joint, f.joint)))
        return tuple(sorted(result, key=lambda f: (f.file, f.stretch, f.joint)))

    def rows(self, file: int, rows: Rows) -> Rows:
        """Return the rows of a log that are fitted, from those of the regressor."""
        layout = self.layout
        extended, tau, use = layout.extended(rows)
        y, tau, use = extended[: layout.parameters, :].copy(), tau.copy(), use.copy()
        for k, link in enumerate(layout.sprung):
            if self.models[k] is None:
                y[:, link], use[:, link] = 0.0, False
            else:
                block = self.link_block(k, file, np.column_stack([extended[:, link].T, tau[:, link]]))
                y[:, link], tau[:, link] = block[:, :-1].T, block[:, -1]
            motor, drive = layout.motor(k), layout.drive(k)
            y[:, motor], tau[:, motor], use[:, motor] = y[:, drive], tau[:, drive], use[:, drive]
        count = layout.equations.count
        return dataclasses.replace(rows, entries=Entries.of(y[:, :count]), tau=tau[:, :count], use=use[:, :count])


def linearised(block: np.ndarray, stiffness: int, values: np.ndarray) -> np.ndarray:
    """Return rows [Y tau] (m, p + 1) of a link, whose target is the deflection, from those in which it is a column.

    `stiffness` is that column, and `values` (p,) is the estimate about which they are linearised.
    """
    result, stiff = block.copy(), values[stiffness]
    others = np.delete(np.arange(len(values)), stiffness)
    modelled = (block[:, others] @ values[others] - block[:, -1]) / stiff
    result[:, stiffness] = -modelled
    result[:, -1] += stiff * (-block[:, stiffness] - modelled)
    return result
