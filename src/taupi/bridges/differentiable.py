"""A program and the programs of its derivatives, each traced and compiled when it is first needed, to any order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import TaupiError
from taupi.program import transformations
from taupi.program.ports import shape_error

if TYPE_CHECKING:
    from taupi.program.program import Program


class Differentiable:
    """A `program` with its derivatives; they are `Differentiable` again, so that every order follows.

    Frameworks keep what they compiled by the identity of this object, so that each derivative exists once.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.built: dict[Any, Any] = {}  # what frameworks made of it, by number type and such
        self._derivatives: dict[tuple[Any, ...], Differentiable] = {}

    @cached_property
    def full(self) -> tuple[bool, ...]:
        """Whether each output is without structural zeros."""
        return tuple(len(self.program.nonzeros(k)) == p.size for k, p in enumerate(self.program.outputs))

    def kernel(self, target: str, dtype: str, threads: int = 1) -> Any:
        """Return the program compiled for a `target` ("cpu" or "cuda") and a number type, results sample by sample.

        On the CPU `threads` share a large batch.
        """
        key = (target, dtype, threads)
        if key not in self.built:
            self.built[key] = self.program.compile(target, threads=threads, layout="samples", dtype=dtype)
        return self.built[key]

    def pushforward(self, inputs: Sequence[int]) -> Differentiable:
        """Return (x..., v...) -> sum_k (dy/dx_k) v_k over the `inputs` k, by number."""
        key = ("pushforward", *inputs)
        if key not in self._derivatives:
            self._derivatives[key] = Differentiable(transformations.pushforward(self.program, inputs))
        return self._derivatives[key]

    def pullback(self, inputs: Sequence[int], outputs: Sequence[int]) -> Differentiable:
        """Return (x..., w...) -> sum_j w_j^T (dy_j/dx_k) for each of `inputs` k, over the `outputs` j, by number."""
        key = ("pullback", tuple(inputs), tuple(outputs))
        if key not in self._derivatives:
            self._derivatives[key] = Differentiable(transformations.pullback(self.program, inputs, outputs))
        return self._derivatives[key]

    def __repr__(self) -> str:
        return self.program.name


def batch_axes(program: Program, shapes: Sequence[tuple[int, ...]]) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Return the batch axes of each argument of a program, by the `shapes` of all, and those of the results."""
    ports, leading = program.inputs, []
    for port, shape in zip(ports, shapes, strict=True):
        count = len(shape) - len(port.shape)
        if count < 0 or shape[count:] != port.shape:
            raise shape_error(port, shape)
        leading.append(shape[:count])
    try:
        return leading, np.broadcast_shapes(*leading)
    except ValueError:
        listed = ", ".join(f"{p.name} {shape}" for p, shape in zip(ports, shapes, strict=True))
        raise TaupiError(
            "{program}: the batch axes do not fit each other: {shapes}.", program=program.name, shapes=listed
        ) from None


def differentiable(program: Program) -> Differentiable:
    """Return the derivatives of a `program`, which the program keeps."""
    kept: Differentiable | None = program.__dict__.get("_differentiable")
    if kept is None:
        kept = program.__dict__["_differentiable"] = Differentiable(program)
    return kept
