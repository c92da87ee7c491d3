"""A program as a function of JAX arrays: one primitive whose rules of differentiation and batching are programs again.

On a CPU, XLA calls the compiled kernel, on its own memory (`xla_handler.py`); on a GPU, a function that launches the CUDA
kernel there (`xla_cuda.py`). A derivative is a traced program: forward mode that of `Program.jvp`, reverse mode that of
`Program.vjp`, over all requested inputs at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.bridges.differentiable import Differentiable, batch_axes, differentiable
from taupi.bridges.packages import needed
from taupi.bridges.xla_cuda import CudaHandler, launcher
from taupi.bridges.xla_handler import build_handler
from taupi.errors import Argument, TaupiError
from taupi.program.ports import in_order

if TYPE_CHECKING:
    from types import ModuleType

    import jax

    from taupi.program.program import Program

_MAJOR = 0  # of XLA's interface, as `xla_handler` knows it
_NUMBERS = count()  # each kernel has its own name within XLA


class JaxFunction:
    """A `program` as a function of JAX arrays with batch axes in front; it composes with all of JAX's transformations.

    Numbers are computed in float32 unless an argument is float64, which JAX has only after
    `jax.config.update("jax_enable_x64", True)`.

    >>> import taupi as tp
    >>> torque = tp.inverse_dynamics(tp.load("puma560")).jax()  # doctest: +SKIP
    >>> jax.grad(lambda q: torque(q, qd, qdd).sum())(q)  # doctest: +SKIP
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._jax = _primitive()
        self._node = differentiable(program)
        _ = program.tape  # a program with symbols that have no value is refused here

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Evaluate for one array of shape (..., *shape) per input, by position (`args`) or by name (`kwargs`)."""
        jnp = self._jax.jnp
        ports = self.program.inputs
        values = []
        for port, argument in zip(ports, in_order(self.program.name, ports, args, kwargs), strict=True):
            try:
                value = jnp.asarray(argument)
            except (TypeError, ValueError):
                raise TaupiError(
                    "{argument} is {got!r}, expected an array of numbers.", argument=Argument(port.name), got=argument
                ) from None
            values.append(value)
            if jnp.issubdtype(value.dtype, jnp.complexfloating):
                raise TaupiError(
                    "{argument} holds {got}, expected real numbers.", argument=Argument(port.name), got=value.dtype
                )
        dtype = jnp.result_type(jnp.float32, *values)
        leading, shape = batch_axes(self.program, [v.shape for v in values])
        flat = [
            _flat(jnp, v.astype(dtype), lead, shape, p.size) for v, lead, p in zip(values, leading, ports, strict=True)
        ]
        results = self._jax.primitive.bind(*flat, node=self._node)
        results = [r.reshape(shape + p.shape) for r, p in zip(results, self.program.outputs, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"JaxFunction({self.program!r})"


def _flat(jnp: ModuleType, value: jax.Array, lead: tuple[int, ...], shape: tuple[int, ...], size: int) -> object:
    """Return an input as (N, size), or as (1, size) if all samples share it."""
    if np.prod(lead, dtype=int) == 1 and np.prod(shape, dtype=int) != 0:
        return value.reshape(1, size)
    own = value.shape[len(lead) :]
    return jnp.broadcast_to(value, shape + own).reshape(int(np.prod(shape, dtype=int)), size)


# The primitive ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _primitive() -> SimpleNamespace:
    """Return JAX's modules and the primitive, made when JAX is first needed."""
    jax = needed("jax", "jax", "A function of JAX arrays")
    needed("jax.ffi", "jax", "A function of JAX arrays")
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    primitive = Primitive("taupi_program")
    primitive.multiple_results = True
    here = SimpleNamespace(jax=jax, jnp=jax.numpy, ad=ad, batching=batching, primitive=primitive)
    primitive.def_impl(_run_alone)
    primitive.def_abstract_eval(_shapes)
    ad.primitive_jvps[primitive] = _jvp
    ad.primitive_transposes[primitive] = _transpose
    batching.primitive_batchers[primitive] = _batch
    mlir.register_lowering(primitive, _lower_cpu, platform="cpu")
    mlir.register_lowering(primitive, _lower_cuda, platform="cuda")
    return here


def _run_alone(*arrays: object, node: Differentiable) -> object:
    """Run outside of any `jit`: in a separate one, which is kept."""
    here = _primitive()
    if "jit" not in node.built:
        node.built["jit"] = here.jax.jit(lambda *x: here.primitive.bind(*x, node=node))
    return node.built["jit"](*arrays)


def _samples(arrays: Sequence[jax.Array]) -> int:
    return int(np.broadcast_shapes(*(a.shape[:1] for a in arrays))[0])


def _shapes(*arrays: jax.Array, node: Differentiable) -> list[object]:
    here, n = _primitive(), _samples(arrays)
    return [here.jax.core.ShapedArray((n, p.size), arrays[0].dtype) for p in node.program.outputs]


def _jvp(primals: Sequence[object], tangents: Sequence[object], *, node: Differentiable) -> tuple[object, object]:
    """y = f(x) and dy = sum_k (df/dx_k) dx_k, over the inputs that change."""
    here = _primitive()
    zero = here.ad.Zero
    values = here.primitive.bind(*primals, node=node)
    moving = [k for k, t in enumerate(tangents) if not isinstance(t, zero)]
    if not moving:
        return values, [zero.from_primal_value(v) for v in values]
    pushed = here.primitive.bind(*primals, *(tangents[k] for k in moving), node=node.pushforward(moving))
    return values, pushed


def _transpose(cotangents: Sequence[jax.Array], *arrays: jax.Array, node: Differentiable) -> list[object]:
    """From w = d loss / d y to d loss / d v, for a program that is linear in the inputs v that have no value."""
    here = _primitive()
    zero, unknown = here.ad.Zero, here.ad.UndefinedPrimal
    linear = [k for k, a in enumerate(arrays) if isinstance(a, unknown)]
    known = [j for j, w in enumerate(cotangents) if not isinstance(w, zero)]
    result: list[object] = [None] * len(arrays)
    if not known:
        return result
    # Linear in v, so that the value of v does not matter: zeros are used.
    dtype = next(w.dtype for w in cotangents if not isinstance(w, zero))
    filled = [here.jnp.zeros((1, a.aval.shape[1]), dtype) if isinstance(a, unknown) else a for a in arrays]
    back = node.pullback(linear, known)
    pulled = here.primitive.bind(*filled, *(cotangents[j] for j in known), node=back)
    for k, w in zip(linear, pulled, strict=True):
        shared = arrays[k].aval.shape[0] == 1 and w.shape[0] != 1
        result[k] = w.sum(axis=0, keepdims=True) if shared else w
    return result


def _batch(arrays: Sequence[jax.Array], axes: Sequence[int | None], *, node: Differentiable) -> tuple[object, object]:
    """Fold a mapped axis into the batch; inputs that are neither mapped nor batched stay shared."""
    here = _primitive()
    jnp = here.jnp
    extent = next(a.shape[x] for a, x in zip(arrays, axes, strict=True) if x is not None)
    moved = [a if x is None else jnp.moveaxis(a, x, 0) for a, x in zip(arrays, axes, strict=True)]
    n = int(np.broadcast_shapes(*(a.shape[-2:-1] for a in moved))[0])
    flat = []
    for a, axis in zip(moved, axes, strict=True):
        if axis is None and a.shape[0] == 1:
            flat.append(a)
        else:
            flat.append(jnp.broadcast_to(a, (extent, n, a.shape[-1])).reshape(extent * n, a.shape[-1]))
    results = here.primitive.bind(*flat, node=node)
    return [r.reshape(extent, n, r.shape[-1]) for r in results], [0] * len(results)


# Lowering -----------------------------------------------------------------------------------------------------------------


def _lower_cpu(context: object, *operands: object, node: Differentiable) -> object:
    return _lowered(context, operands, node, "cpu")


def _lower_cuda(context: object, *operands: object, node: Differentiable) -> object:
    needed("cupy", "gpu", "A program on a CUDA device")
    return _lowered(context, operands, node, "cuda")


def _lowered(context: Any, operands: Sequence[jax.Array], node: Differentiable, platform: str) -> object:
    target = _target(node, np.dtype(context.avals_in[0].dtype).name, platform)
    return _primitive().jax.ffi.ffi_lowering(target)(context, *operands)


def _target(node: Differentiable, dtype: str, platform: str) -> str:
    """Return the name under which XLA knows the kernel of a program on a platform; it is compiled the first time."""
    key = ("xla", dtype, platform)
    if key not in node.built:
        here = _primitive()
        if platform == "cpu":
            kept, address = build_handler(node.program, dtype, _version())
        else:
            kept = CudaHandler(launcher(node.kernel("cuda", dtype)), _version())
            address = kept.address
        name = f"taupi_{next(_NUMBERS)}_{node.program.name}"
        here.jax.ffi.register_ffi_target(
            name, here.jax.ffi.pycapsule(address), platform=platform.replace("cuda", "CUDA")
        )
        node.built[key] = name
        _KEPT.append(kept)
    return str(node.built[key])


_KEPT: list[Any] = []  # XLA may call a kernel for as long as the process lives


@lru_cache(maxsize=1)
def _version() -> tuple[int, int]:
    """Return the version of XLA's interface, from the header that comes with JAX."""
    header = Path(_primitive().jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    text = header.read_text() if header.exists() else ""
    stated = [re.search(rf"#define XLA_FFI_API_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR")]
    numbers = [int(m.group(1)) for m in stated if m]
    if len(numbers) != 2 or numbers[0] != _MAJOR:
        got = ".".join(map(str, numbers)) or "not stated"
        version = _primitive().jax.__version__
        raise TaupiError(
            "JAX {version} has version {got} of XLA's foreign functions, expected {major}.x.",
            remedy="Install a JAX that this version of taupi knows, or update taupi.",
            version=version,
            got=got,
            major=_MAJOR,
        )
    return numbers[0], numbers[1]
