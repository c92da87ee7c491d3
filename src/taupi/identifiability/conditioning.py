"""What a log determines: rank and condition of the stacked regressor, and the regrouping under which it has full rank.

Base parameters are what *some* motion can separate. A recorded motion may separate less: dry friction and offset of a joint that
never reverses are one number.
"""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from taupi.checks import is_number
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.combination import Combination
from taupi.model.parameters import Parameter, ParameterLayout, Parameters
from taupi.model.scalars import exact
from taupi.program.ports import batch
from taupi.program.program import Program
from taupi.schema import finite_or_none
from taupi.threads import small_algebra

# Half the digits of a double: unit columns that are closer than this differ by less than the error of any filter or encoder.
TOLERANCE = 1e-8
# Shares of a unit column below this are left out of sentences, though not out of the projection.
_WORTH_SAYING = 1e-6
# Below this share of the log's largest speed or acceleration, a joint stands still or keeps its speed.
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Conditioning:
    """How well a log determines the parameters x (p,) of W x, W being the regressor stacked over the log (equations.md, R15).

    Attributes:
        program: The regressor.
        samples: The number of samples of the log.
        tolerance: The tolerance of the rank.
        columns: The places of the parameters that are kept.
        B_log: A matrix (rank, p) that merges the others into them: W = W[:, columns] B_log on this log, up to `residual`.
        norms: The lengths (p,) of W's columns.
        singular_values: The singular values of W with columns of length one.
        condition: The condition number of W as it is.
        scaled_condition: The condition number of W with columns of length one.
        regrouped_condition: The condition number of the columns kept, of length one.
        residual: How well B_log reproduces W, relative to columns of length one.
        facts: What the joints do not do, in words.
        weakest: The names of the parameters that are least well determined.
    """

    program: Program = field(repr=False)
    samples: int
    tolerance: float
    columns: tuple[int, ...]
    B_log: np.ndarray
    norms: np.ndarray
    singular_values: np.ndarray
    condition: float
    scaled_condition: float
    regrouped_condition: float
    residual: float
    facts: tuple[str, ...]
    weakest: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the regressor's parameters."""
        return tuple(self.program.parameters.names)

    @property
    def rank(self) -> int:
        """The number of parameters, or combinations of them, that this log determines."""
        return len(self.columns)

    @property
    def full_rank(self) -> bool:
        """Whether the log determines all parameters."""
        return self.rank == len(self.names)

    @property
    def unexcited(self) -> tuple[str, ...]:
        """The parameters on which no torque of this log depends."""
        return tuple(name for name, column in zip(self.names, self.B_log.T, strict=True) if not column.any())

    @property
    def groups(self) -> tuple[Combination, ...]:
        """What is determined: each parameter kept, with those that are merged into it on this log."""
        unit = np.where(self.norms > 0, self.norms, 1.0)
        result = []
        for row, column in zip(self.B_log, self.columns, strict=True):
            share = np.abs(row) * unit[column] / unit
            merged = [k for k in np.flatnonzero(share > _WORTH_SAYING).tolist() if k != column]
            terms = [(self.names[k], Fraction(repr(float(f"{row[k]:.9g}")))) for k in merged]
            name = self.names[column]
            result.append(Combination(name, ((name, Fraction(1)), *terms)))
        return tuple(result)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The result in words, the rank first."""
        merged = self._merged_sentences()
        sentences = [f"{self.samples} samples determine {self.rank} of {len(self.names)} parameters."]
        sentences += [f"{fact}." for fact in self.facts if not any(s.startswith(f"{fact}:") for s in merged)]
        if self.unexcited:
            sentences.append(f"Nothing in this log depends on {_listed(self.unexcited)}.")
        sentences += merged
        numbers = f"{self.condition:.3g} as it is, {self.scaled_condition:.3g} with columns of length one"
        after = "" if self.full_rank else f", {self.regrouped_condition:.3g} after regrouping"
        sentences.append(f"The condition is {numbers}{after}.")
        if self.weakest:
            sentences.append(f"Least well determined: {_listed(self.weakest)}.")
        return tuple(sentences)

    def _merged_sentences(self) -> list[str]:
        """Return a sentence for each parameter that is merged into others."""
        groups = [(g.name, {name for name, _ in g.terms[1:]}) for g in self.groups]
        names = [n for k, n in enumerate(self.names) if k not in self.columns and n not in self.unexcited]
        return [merged_sentence(n, [kept for kept, merged in groups if n in merged], self.facts) for n in names]

    @property
    def parameters(self) -> Parameters:
        """The parameters kept, with values if the regressor's have some; names of regrouped ones end in `_log`."""
        parameters = self.program.parameters
        layout = parameters.layout.take(self.columns)
        entries = tuple(
            Parameter(e.owner, e.kind + "_log" * (len(g.terms) > 1), e.unit, e.index)
            for e, g in zip(layout.entries, self.groups, strict=True)
        )
        if self.full_rank:
            return parameters
        values = tuple(
            exact(sum((Fraction(float(row[k])) * parameters.exact[k] for k in np.flatnonzero(row)), start=Fraction(0)))
            for row in self.B_log
        )
        return Parameters(ParameterLayout(entries), values, parameters.symbols)

    def regressor(self) -> Program:
        """Return the regressor of the parameters kept, which has full rank on this log."""
        if self.full_rank:
            return self.program
        return dataclasses.replace(self.program.take(self.columns), parameters=self.parameters)

    def project(self, x: Parameters | ArrayLike) -> np.ndarray:
        """Return B_log x (..., rank) for parameters `x` (..., p): what this log determines of them."""
        values = np.asarray(x.values if isinstance(x, Parameters) else x)
        p = len(self.names)
        if values.dtype.kind not in "fiu" or not values.ndim or values.shape[-1] != p:
            raise TaupiError(
                "{x} has shape {got} of {dtype}, expected (..., {p}) real numbers.",
                got=values.shape,
                dtype=values.dtype,
                p=p,
            )
        return np.asarray(values @ self.B_log.T)

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain data, ready for JSON; an infinite condition is None."""
        finite = {
            k: finite_or_none(getattr(self, k))
            for k in ("condition", "scaled_condition", "regrouped_condition", "residual")
        }
        return {
            "samples": self.samples,
            "parameters": list(self.names),
            "rank": self.rank,
            "tolerance": self.tolerance,
            **finite,
            "singular_values": self.singular_values.tolist(),
            "kept": [self.names[k] for k in self.columns],
            "unexcited": list(self.unexcited),
            "groups": {g.name: str(g) for g in self.groups if len(g.terms) > 1},
            "B_log": self.B_log.tolist(),
            "sentences": list(self.sentences),
        }

    def __repr__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        return "<ul>" + "".join(f"<li>{html.escape(s)}</li>" for s in self.sentences) + "</ul>"


def joint_facts(names: Sequence[str], qd: np.ndarray, qdd: np.ndarray) -> tuple[str, ...]:
    """Return, for each joint that does not move fully, what it does not do: `elbow never reverses`.

    `names` are the joints, `qd` (samples, n) their velocities and `qdd` their accelerations.

    >>> joint_facts(["elbow", "wrist"], np.array([[0.5, 0.0], [1.0, 0.0]]), np.array([[0.1, 0.0], [0.2, 0.0]]))
    ('elbow never reverses', 'wrist does not move')
    """
    facts = []
    fastest, hardest = np.abs(qd).max(initial=0.0), np.abs(qdd).max(initial=0.0)
    for k, name in enumerate(names):
        v, a = qd[:, k], qdd[:, k]
        if np.abs(v).max() <= _NEGLIGIBLE * fastest and np.abs(a).max() <= _NEGLIGIBLE * hardest:
            facts.append(f"{name} does not move")
        elif np.ptp(v) <= _NEGLIGIBLE * fastest:
            facts.append(f"{name} moves at one speed")
        elif (v > 0).all() or (v < 0).all():
            facts.append(f"{name} never reverses")
        elif (v >= 0).all() or (v <= 0).all():
            # In the matrix, sgn(qd) = 0 separates dry friction from an offset; in a real joint, which sticks, it does not.
            still = int((v == 0).sum())
            facts.append(f"{name} never reverses, but stands still in {still} samples: only these show its friction")
    return tuple(facts)


def merged_sentence(name: str, partners: Sequence[str], facts: Sequence[str]) -> str:
    """Return a sentence that says with which parameters another one is merged, and the reason if the motion shows one.

    `facts` are those that `joint_facts` returns for the motion.

    >>> merged_sentence("joint3.offset", ["joint3.coulomb"], ["joint3 never reverses"])
    'joint3 never reverses: its coulomb and offset are one.'
    >>> merged_sentence("link2.m", ["link1.mx", "link1.Izz"], [])
    'On this log link2.m cannot be distinguished from link1.mx, link1.Izz.'
    """
    owner, _, kind = name.rpartition(".")
    reason = next((f for f in facts if f.startswith(f"{owner} ")), None)
    own = [p.rpartition(".")[2] for p in partners if p.rpartition(".")[0] == owner]
    if reason and len(own) == len(partners) == 1:
        return f"{reason}: its {own[0]} and {kind} are one."
    shown = ", ".join(partners[:6]) + (f" and {len(partners) - 6} more" if len(partners) > 6 else "")
    return f"{reason + ': ' if reason else 'On this log '}{name} cannot be distinguished from {shown}."


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def conditioning(
    Y: Program | BaseParameters,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *motors: ArrayLike,
    tolerance: float = TOLERANCE,
) -> Conditioning:
    """Return what a log determines: rank, condition, and B_log with W = W[:, columns] B_log, W[:, columns] of full column rank.

    W is Y stacked over the samples; it is streamed into its triangular factor and never held in memory. This is Gautier's (1991)
    method with columns taken in order rather than by the largest pivot, so that logs that excite the same motions lead to the
    same choice.

    Args:
        Y: A regressor, or base parameters.
        q: The positions (..., n), rad or m.
        qd: The velocities (..., n), rad/s or m/s.
        qdd: The accelerations (..., n), rad/s^2 or m/s^2.
        *motors: With elastic joints, theta, thetad and thetadd of the motors.
        tolerance: With columns of length one, a column is kept if its distance from the span of those kept before it exceeds
            this, and those kept have a condition below 1 / tolerance; 1e-8 by default.

    Returns:
        The `Conditioning`, with `rank`, `columns`, `condition`, `B_log` and `sentences` that say what to change.

    Raises:
        TaupiError: If samples are missing or not finite.

    >>> import numpy as np, taupi as tp
    >>> t = np.linspace(0, 1, 200)[:, None] * [1.0, 1.0]
    >>> report = tp.conditioning(
    ...     tp.base_parameters(tp.load("elbow2r"), terms=("coulomb", "offset")), t**3 + t, 3 * t**2 + 1, 6 * t
    ... )
    >>> report.rank
    8
    >>> print(report.sentences[1])
    shoulder never reverses: its coulomb and offset are one.
    """
    program = Y.regressor() if isinstance(Y, BaseParameters) else Y
    if not isinstance(program, Program) or program.parameters is None:
        raise TaupiError(
            "{Y} is {got}, expected base parameters or a regressor: taupi.base_parameters(robot).", got=type(Y).__name__
        )
    if not is_number(tolerance) or not 1e-14 <= tolerance < 1:
        raise TaupiError("{tolerance} is {got!r}, expected a number between 1e-14 and 1.", got=tolerance)
    arrays, shape = batch(program.name, program.inputs, (q, qd, qdd, *motors), {})
    samples = int(np.prod(shape, dtype=int))
    for port, a in zip(program.inputs, arrays, strict=True):
        if not np.isfinite(a).all():
            first = int(np.flatnonzero(~np.isfinite(a).all(axis=1))[0])
            raise TaupiError(
                "{argument} is not finite at sample {first}: leave such samples out.",
                argument=Argument(port.name),
                first=first,
            )
    if not samples:
        raise TaupiError("q, qd and qdd have no samples, expected at least one.")
    from taupi.program.accumulator import Accumulator

    accumulator = Accumulator(program, "qr")
    inputs = [np.broadcast_to(a, (samples, a.shape[1])) for a in arrays]
    accumulator.add(np.zeros((samples, program.outputs[0].shape[0])), *inputs)
    factor: Any = accumulator.result()
    facts = joint_facts(program.inputs[0].labels, *_friction_motion(program, inputs))
    return conditioning_of_factor(program, samples, factor.r, facts, float(tolerance))


def _friction_motion(program: Program, inputs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the velocity and acceleration at which the friction of each joint acts: in an elastic joint, the motor's."""
    ports = {p.name: k for k, p in enumerate(program.inputs)}
    v, a = np.array(inputs[1]), np.array(inputs[2])
    if "thetad" in ports:
        joints = [program.inputs[0].labels.index(name) for name in program.inputs[ports["thetad"]].labels]
        v[:, joints], a[:, joints] = inputs[ports["thetad"]], inputs[ports["thetadd"]]
    return v, a


@small_algebra
def conditioning_of_factor(
    program: Program, samples: int, r: np.ndarray, facts: tuple[str, ...] = (), tolerance: float = TOLERANCE
) -> Conditioning:
    """Return what a log determines, from a factor `r` (k, p) with r^T r = W^T W that was accumulated elsewhere."""
    norms = np.linalg.norm(r, axis=0)
    acting = np.flatnonzero(norms > tolerance * max(norms.max(initial=0.0), np.finfo(float).tiny))
    unit = r[:, acting] / norms[acting]
    kept = _independent(unit, tolerance)
    independent = unit[:, kept]
    shares = np.linalg.lstsq(independent, unit, rcond=None)[0] if kept else np.zeros((0, len(acting)))
    rest = np.linalg.norm(unit - independent @ shares, axis=0).max(initial=0.0)
    regrouped_condition = _condition(independent)
    # If a share is zero, rounding leaves a few units in the last place, times the condition.
    shares[np.abs(shares) < 1e3 * np.finfo(float).eps * max(1.0, regrouped_condition)] = 0.0
    shares[:, kept] = np.eye(len(kept))
    columns = acting[kept]
    b_log = np.zeros((len(kept), len(norms)))
    b_log[:, acting] = shares * norms[acting] / norms[columns][:, None]
    singular = np.linalg.svd(unit, compute_uv=False) if len(acting) else np.zeros(0)
    for array in (b_log, norms, singular):
        array.flags.writeable = False
    return Conditioning(
        program=program,
        samples=samples,
        tolerance=tolerance,
        columns=tuple(int(k) for k in columns),
        B_log=b_log,
        norms=norms,
        singular_values=singular,
        condition=_condition(r),
        scaled_condition=_condition(unit) if len(acting) == len(norms) else math.inf,
        regrouped_condition=regrouped_condition,
        residual=float(rest),
        facts=facts,
        weakest=_weakest(independent, [program.parameters.names[k] for k in columns]),
    )


def _condition(matrix: np.ndarray) -> float:
    if not matrix.shape[1]:
        return 1.0
    if not len(matrix):
        return math.inf
    values = np.linalg.svd(matrix, compute_uv=False)
    # A smallest singular value below its own rounding is zero, whatever its digits.
    noise = max(matrix.shape) * np.finfo(float).eps * values[0]
    return float(values[0] / values[-1]) if values[-1] > noise else math.inf


def _independent(unit: np.ndarray, tolerance: float) -> list[int]:
    """Return the first independent columns: the distance of each from the span of those before exceeds the tolerance.

    Columns that pass one by one can still be dependent together (Kahan 1966). Then the last column with a large share in the
    worst combination is dropped, until those kept have a condition below 1 / tolerance.
    """
    kept: list[int] = []
    q = np.zeros((len(unit), 0))
    for k in range(unit.shape[1]):
        rest = unit[:, k] - q @ (q.T @ unit[:, k])
        rest -= q @ (q.T @ rest)  # twice is enough
        size = np.linalg.norm(rest)
        if size > tolerance:
            kept.append(k)
            q = np.column_stack([q, rest / size])
    while _condition(unit[:, kept]) * tolerance > 1:
        share = np.abs(np.linalg.svd(unit[:, kept])[2][-1])
        del kept[int(np.flatnonzero(share > 0.5 * share.max())[-1])]
    return kept


def _weakest(independent: np.ndarray, names: list[str]) -> tuple[str, ...]:
    """Return the parameters of the least well determined combination, the largest share first."""
    if len(names) < 2:
        return ()
    share = np.abs(np.linalg.svd(independent)[2][-1])
    order = sorted(range(len(names)), key=lambda k: (-round(float(share[k]), 6), k))
    return tuple(names[k] for k in order if share[k] > 0.3 * share.max())
