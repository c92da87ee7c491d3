"""A program as a function of PyTorch tensors: one autograd function whose derivatives are programs again.

On a CPU the compiled kernel reads and writes the tensors' own memory. On a GPU tensors go to the CUDA kernel and back via DLPack,
without copying.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.bridges.differentiable import Differentiable, batch_axes, differentiable
from taupi.bridges.packages import needed
from taupi.errors import Argument, TaupiError
from taupi.program.ports import in_order
from taupi.program.targets.cuda import stream_at

if TYPE_CHECKING:
    from types import ModuleType

    from torch import Tensor
    from torch.autograd.function import FunctionCtx

    from taupi.program.program import Program


class TorchFunction:
    """A `program` as a function of PyTorch tensors with batch axes in front, for autograd of any order and `torch.func`.

    Tensors are float32 or float64, on the CPU or on a CUDA device, all the same; numbers and NumPy arrays among the arguments
    become tensors like the others.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._torch = _framework()
        self._node = differentiable(program)
        _ = program.tape  # a program with symbols that have no value is refused here

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Evaluate for one tensor of shape (..., *shape) per input, by position (`args`) or by name (`kwargs`)."""
        ports = self.program.inputs
        values = self._tensors(in_order(self.program.name, ports, args, kwargs))
        leading, shape = batch_axes(self.program, [tuple(v.shape) for v in values])
        n = int(np.prod(shape, dtype=int))
        flat = []
        for value, lead, port in zip(values, leading, ports, strict=True):
            shared = np.prod(lead, dtype=int) == 1 and n != 0
            full = value if shared else value.expand(*shape, *port.shape)
            flat.append(full.reshape(1 if shared else n, port.size))
        results = self._torch.call.apply(self._node, *flat)
        results = [r.reshape(shape + p.shape) for r, p in zip(results, self.program.outputs, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def _tensors(self, values: Sequence[object]) -> list[Tensor]:
        """Return the arguments as tensors of one type on one device."""
        torch = self._torch.torch
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        devices = {t.device for t in tensors}
        if len(devices) > 1:
            places = ", ".join(sorted(map(str, devices)))
            raise TaupiError(
                "{program} got tensors on several devices: {places}.", program=self.program.name, places=places
            )
        result = []
        for port, value in zip(self.program.inputs, values, strict=True):
            try:
                tensor = torch.as_tensor(value, device=tensors[0].device if tensors else None)
            except (TypeError, ValueError, RuntimeError):
                raise TaupiError(
                    "{argument} is {got}, expected a tensor.", argument=Argument(port.name), got=type(value).__name__
                ) from None
            if tensor.is_complex():
                raise TaupiError(
                    "{argument} holds {got}, expected real numbers.", argument=Argument(port.name), got=tensor.dtype
                )
            result.append(tensor)
        wide = any(t.dtype == torch.float64 for t in tensors or result)
        return [t.to(torch.float64 if wide else torch.float32) for t in result]

    def __repr__(self) -> str:
        return f"TorchFunction({self.program!r})"


@lru_cache(maxsize=1)
def _framework() -> SimpleNamespace:
    """Return PyTorch and the autograd function of all programs, made when PyTorch is first needed."""
    torch = needed("torch", "torch", "A function of tensors")

    class ProgramCall(torch.autograd.Function):  # type: ignore[misc, name-defined, unused-ignore]
        """`apply(node, *arrays)`: a program on inputs (N, size) or (1, size), with results (N, size)."""

        @staticmethod
        def forward(node: Differentiable, *arrays: object) -> tuple[object, ...]:
            return run(torch, node, arrays)

        @staticmethod
        def setup_context(ctx: FunctionCtx, inputs: tuple[object, ...], output: tuple[Tensor, ...]) -> None:
            ctx.node, *arrays = inputs
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*arrays)
            ctx.save_for_forward(*arrays)

        @staticmethod
        def backward(ctx: FunctionCtx, *cotangents: Tensor) -> tuple[object, ...]:
            arrays = ctx.saved_tensors
            wanted = [k for k in range(len(arrays)) if ctx.needs_input_grad[k + 1]]
            known = [j for j, w in enumerate(cotangents) if w is not None]
            result: list[object] = [None] * len(arrays)
            if wanted and known:
                weights = [cotangents[j] for j in known]
                pulled = ProgramCall.apply(ctx.node.pullback(wanted, known), *arrays, *weights)
                for k, w in zip(wanted, pulled, strict=True):
                    shared = arrays[k].shape[0] == 1 and w.shape[0] != 1
                    result[k] = w.sum(0, keepdim=True) if shared else w
            return (None, *result)

        @staticmethod
        def jvp(ctx: FunctionCtx, _node: None, *tangents: Tensor) -> tuple[object, ...]:
            arrays = ctx.saved_tensors
            moving = [k for k, t in enumerate(tangents) if t is not None]
            pushed: tuple[object, ...] = ProgramCall.apply(
                ctx.node.pushforward(moving), *arrays, *(tangents[k] for k in moving)
            )
            return pushed

        @staticmethod
        def vmap(
            info: Any, in_dims: tuple[object, ...], node: Differentiable, *arrays: Tensor
        ) -> tuple[object, object]:
            """Fold a mapped axis into the batch; inputs that are neither mapped nor batched stay shared."""
            extent = info.batch_size
            axes = in_dims[1:]
            moved = [a if x is None else a.movedim(x, 0) for a, x in zip(arrays, axes, strict=True)]
            n = int(np.broadcast_shapes(*(tuple(a.shape[-2:-1]) for a in moved))[0])
            flat = []
            for a, axis in zip(moved, axes, strict=True):
                shared = axis is None and a.shape[0] == 1
                flat.append(a if shared else a.expand(extent, n, a.shape[-1]).reshape(extent * n, a.shape[-1]))
            results = ProgramCall.apply(node, *flat)
            return tuple(r.reshape(extent, n, r.shape[-1]) for r in results), (0,) * len(results)

    return SimpleNamespace(torch=torch, call=ProgramCall)


def run(torch: ModuleType, node: Differentiable, arrays: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return a program's results for plain tensors, using the kernel for their device."""
    n = int(np.broadcast_shapes(*(tuple(a.shape[:1]) for a in arrays))[0])
    inputs = [a.detach().reshape(a.shape[0], *p.shape) for a, p in zip(arrays, node.program.inputs, strict=True)]
    if arrays[0].device.type == "cuda":
        return _on_gpu(torch, node, inputs, n)
    if arrays[0].device.type != "cpu":
        raise TaupiError(
            "Programs run on the CPU and on CUDA devices; these tensors are on {device}.", device=arrays[0].device
        )
    kernel = node.kernel("cpu", str(arrays[0].dtype).removeprefix("torch."), torch.get_num_threads())
    results = []
    for port, full in zip(node.program.outputs, node.full, strict=True):
        new = torch.empty if full else torch.zeros  # the kernel does not write all structural zeros
        results.append(new((n, *port.shape), dtype=arrays[0].dtype))
    kernel(*(a.numpy() for a in inputs), out=[r.numpy() for r in results])
    return tuple(r.reshape(n, p.size) for r, p in zip(results, node.program.outputs, strict=True))


def _on_gpu(torch: ModuleType, node: Differentiable, inputs: Sequence[Tensor], n: int) -> tuple[Tensor, ...]:
    """Run the CUDA kernel on the tensors' device and on PyTorch's current stream."""
    cupy = needed("cupy", "gpu", "A program on a CUDA device")
    device = inputs[0].device
    with cupy.cuda.Device(device.index), stream_at(cupy, torch.cuda.current_stream(device).cuda_stream):
        kernel = node.kernel("cuda", str(inputs[0].dtype).removeprefix("torch."))
        results = kernel(*(cupy.from_dlpack(a.contiguous()) for a in inputs))
        results = results if isinstance(results, tuple) else (results,)
        ports = node.program.outputs
        return tuple(torch.from_dlpack(r).reshape(n, p.size) for r, p in zip(results, ports, strict=True))
