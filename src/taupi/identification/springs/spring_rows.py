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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import Past
from taupi.identification.row_layout import RowLayout, spring_columns
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.row_maker import Entries, Rows

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
    def row_layout(self) -> RowLayout:
        """The equations of links and motors."""
        return RowLayout.of(self.base)

    @cached_property
    def sprung(self) -> tuple[int, ...]:
        """The rows of links behind springs."""
        return self.row_layout.sprung

    @cached_property
    def parameters(self) -> int:
        """The number of base parameters."""
        return self.base.count

    @cached_property
    def stiffness(self) -> tuple[int, ...]:
        """The column of the stiffness of each elastic joint."""
        return tuple(spring_columns(self.base, link)[0] for link in self.sprung)

    @cached_property
    def motors(self) -> tuple[int, ...]:
        """The row of the motor of each elastic joint."""
        return tuple(self.row_layout.motors[link] for link in self.sprung)

    def drive(self, k: int) -> int:
        """Return the row of the drive of elastic joint number `k`."""
        return self.row_layout.count + k

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
            result[self.drive(k), : self.parameters] = used[link] | used[self.motors[k]]
            result[link, self.nuisance(k)] = True
        return result

    def shapes(
        self, q: np.ndarray, qd: np.ndarray, seconds: float, past: Past | None
    ) -> tuple[np.ndarray, Past | None]:
        """Return thetad and sgn thetad of the motors (N, e, 2), to be filtered as the rows are."""
        speed = qd[:, self.motors]
        return np.stack([speed, np.tanh(speed / self.widths)], axis=2), past

    def extended(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return y (p + 3e, n + e, m), tau and use (m, n + e) of rows whose shapes are those above."""
        p, count, m = rows.y.shape
        springs = len(self.sprung)
        y = np.zeros((p + len(NUISANCE) * springs, count + springs, m))
        y[:p, :count] = rows.y
        tau, use = (np.concatenate([v, np.zeros((m, springs), v.dtype)], axis=1) for v in (rows.tau, rows.use))
        for k, link in enumerate(self.sprung):
            motor, drive = self.motors[k], self.drive(k)
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
        return linearised(block, layout.stiffness[k], model.values)

    def factors(self, extended: tuple[JointFactor, ...]) -> tuple[JointFactor, ...]:
        """Return the factors of the rows that are fitted, from those of the extended rows."""
        layout = self.layout
        links = {link: k for k, link in enumerate(layout.sprung)}
        drives = {layout.drive(k): layout.motors[k] for k in range(len(links))}
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
            motor, drive = layout.motors[k], layout.drive(k)
            y[:, motor], tau[:, motor], use[:, motor] = y[:, drive], tau[:, drive], use[:, drive]
        count = layout.row_layout.count
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


# A compliance this many standard errors above zero is known to a third.
CLEAR = 3.0
# The load has to explain this share of the deflection that the nuisance leaves. The rest is not noise that an average removes,
# but gears that turn unevenly, and encoders: if it is larger than the effect of the load, the compliance can take any value.
_EXPLAINED = 0.5
# The sign of a compliance in one log counts if the log has at least this share of the information about it.
_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Deflection:
    """theta - q = c tau_link + coefficients . (thetad, sgn thetad) + offset of the log, by least squares over all logs.

    `errors` are standard errors, by stretches of time; `runs` (files,) are c from each log alone, `information` (files,) the
    sums of squares of tau_link that the nuisance does not explain. `misfit` is the share of the sum of squares of theta - q that
    c tau_link alone leaves; `explained` is the share that c tau_link explains of what the nuisance leaves.
    """

    compliance: float
    compliance_error: float
    coefficients: np.ndarray
    coefficient_errors: np.ndarray
    offsets: np.ndarray
    offset_errors: np.ndarray
    runs: np.ndarray
    information: np.ndarray
    misfit: float
    explained: float

    @property
    def doubt(self) -> str:
        """Why the spring is not determined; empty if it is."""
        share = self.information / max(float(self.information.sum()), 1e-300)
        signs = np.sign(self.runs[share >= _SHARE])
        if not np.isfinite(self.compliance_error):
            return "its link carries no torque that changes"
        if len(set(signs.tolist())) > 1:
            values = ", ".join(f"{c:.2g}" for c in self.runs)
            return f"its compliance changes sign between the logs ({values})"
        if self.compliance < CLEAR * self.compliance_error:
            return (
                f"its compliance, {self.compliance:.2g}, is not clearly positive (standard error {self.compliance_error:.2g}): "
                "it carries too little load"
            )
        if self.explained < _EXPLAINED:
            return f"its load explains {self.explained:.0%} of how its deflection changes"
        return ""


def regress_deflection(
    layout: SpringLayout, pieces: Sequence[JointFactor], k: int, values: np.ndarray, free: Sequence[bool]
) -> Deflection:
    """Return the deflection of elastic joint number `k`, with the torque of its link from base parameters `values` (p,).

    `pieces` are the factors of the extended rows, stretch by stretch; `free` says which of the nuisance columns are fitted.
    """
    link, files = layout.sprung[k], sorted({f.file for f in pieces})
    columns = [_columns(layout, f.r, k, values) for f in pieces if f.joint == link]
    owners = np.array([f.file for f in pieces if f.joint == link])
    design = [_design(c, files.index(file), len(files), free) for c, file in zip(columns, owners, strict=True)]
    solution, errors = _least_squares(design, [c[:, -1] for c in columns])
    runs, information = [], []
    explained = _explained(np.vstack(design), np.concatenate([c[:, -1] for c in columns]))
    for file in files:
        at = np.flatnonzero(owners == file)
        own = np.vstack([_design(columns[a], 0, 1, free) for a in at])
        target = np.concatenate([columns[a][:, -1] for a in at])
        rest = own[:, 0] - _project(own[:, 1:], own[:, 0])
        squares = float(rest @ rest)
        runs.append(float(rest @ target) / squares if squares > 0 else 0.0)
        information.append(squares)
    torque, deflection = (np.concatenate([c[:, a] for c in columns]) for a in (0, -1))
    load, total = float(torque @ torque), float(deflection @ deflection)
    plain = float(torque @ deflection) ** 2 / (load * total) if load > 0 and total > 0 else 0.0
    return Deflection(
        float(solution[0]),
        float(errors[0]),
        solution[1 : 1 + OFFSET],
        errors[1 : 1 + OFFSET],
        solution[1 + OFFSET :],
        errors[1 + OFFSET :],
        np.array(runs),
        np.array(information),
        1 - plain,
        explained,
    )


def _columns(layout: SpringLayout, r: np.ndarray, k: int, values: np.ndarray) -> np.ndarray:
    """Return [tau_link, thetad, sgn thetad, 1, theta - q] (m, 5) of extended rows of a link."""
    stiffness = layout.stiffness[k]
    others = np.delete(np.arange(layout.parameters), stiffness)
    load = r[:, others] @ values[others] - r[:, -1]  # less a known torque, which the spring need not carry
    return np.column_stack([load, r[:, layout.nuisance(k)], -r[:, stiffness]])


def _design(columns: np.ndarray, file: int, files: int, free: Sequence[bool]) -> np.ndarray:
    """Return the design [tau_link, thetad, sgn thetad, one offset per file]; nuisance that is not `free` is 0."""
    result = np.zeros((len(columns), 1 + OFFSET + files))
    result[:, 0] = columns[:, 0]
    for kind in (DELAY, LOST_MOTION):
        result[:, 1 + kind] = columns[:, 1 + kind] * free[kind]
    result[:, 1 + OFFSET + file] = columns[:, 1 + OFFSET] * free[OFFSET]
    return result


def _least_squares(design: Sequence[np.ndarray], target: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the solution and its standard errors, from the scores of stretches of time; infinite for what has no column."""
    a, b = np.vstack(design), np.concatenate(target)
    size = np.linalg.norm(a, axis=0)
    used = size > 1e-12 * max(float(size.max(initial=0.0)), 1e-300)
    unit = np.where(used, a / np.where(used, size, 1.0), 0.0)
    inverse = np.linalg.pinv(unit, rcond=1e-8)
    x = inverse @ b
    hat = inverse @ inverse.T
    scores, row = [], 0
    for rows in design:
        at = slice(row, row + len(rows))
        scores.append(unit[at].T @ (b[at] - unit[at] @ x))
        row += len(rows)
    g = np.array(scores)
    correction = len(g) / max(len(g) - int(used.sum()), 1)
    covariance = correction * hat @ (g.T @ g) @ hat
    scale = np.where(used, size, 1.0)
    return x / scale, np.where(used, np.sqrt(np.clip(np.diag(covariance), 0.0, None)) / scale, np.inf)


def _explained(design: np.ndarray, target: np.ndarray) -> float:
    """Return the share of a target's sum of squares, without what the other columns explain, that the first column explains."""
    own, rest = (v - _project(design[:, 1:], v) for v in (design[:, 0], target))
    squares = float(own @ own) * float(rest @ rest)
    return float(own @ rest) ** 2 / squares if squares > 0 else 0.0


def _project(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the part of a target that columns explain."""
    size = np.linalg.norm(columns, axis=0)
    unit = columns[:, size > 0] / size[size > 0]
    explained: np.ndarray = unit @ (np.linalg.pinv(unit, rcond=1e-8) @ target)
    return explained


def nuisance_projection(
    layout: SpringLayout, factors: Sequence[JointFactor], k: int, free: Sequence[bool]
) -> np.ndarray:
    """Return the combinations (files, 3, p + 1) of nuisance columns nearest to the columns of a link's row and to its target.

    The delay and the lost motion are the same in all logs, each log has its own offset.
    """
    link = layout.sprung[k]
    own = [f for f in factors if f.joint == link]
    files = sorted({f.file for f in own})
    blocks = [np.column_stack([np.zeros(len(f.r)), f.r[:, layout.nuisance(k)]]) for f in own]
    design = np.vstack(
        [_design(b, files.index(f.file), len(files), free)[:, 1:] for b, f in zip(blocks, own, strict=True)]
    )
    size = np.linalg.norm(design, axis=0)
    unit = design / np.where(size > 0, size, 1.0)
    solution = np.linalg.pinv(unit, rcond=1e-8) @ np.vstack([f.r[:, layout.measured] for f in own])
    solution /= np.where(size > 0, size, 1.0)[:, None]
    result = np.zeros((max(files) + 1, len(NUISANCE), layout.parameters + 1))
    for at, file in enumerate(files):
        result[file, :OFFSET] = solution[:OFFSET]
        result[file, OFFSET] = solution[OFFSET + at]
    return result
