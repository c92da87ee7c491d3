"""A program's CUDA kernel behind XLA's foreign function interface: a handler that launches it on XLA's memory and stream.

XLA calls a handler with a frame of pointers (`xla/ffi/api/c_api.h`), here to the GPU's memory. Only the launch is left
to do, so the handler may be Python: it costs microseconds, while the kernel runs asynchronously.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from taupi.program.targets.cuda import stream_at

_METADATA_EXTENSION, _EXECUTE, _INTERNAL = 1, 3, 13
_Entry = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class _Struct(ctypes.Structure):
    """What all structures of the interface begin with."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p)]


class _Extension(ctypes.Structure):
    """XLA_FFI_Metadata_Extension."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("metadata", ctypes.c_void_p),
    ]


class _Version(_Struct):
    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int)]


class _Metadata(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("version", _Version), ("traits", ctypes.c_uint32)]


class _Buffer(_Struct):
    _fields_ = [
        ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    ]


class _Values(_Struct):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = [
        ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("values", ctypes.POINTER(ctypes.POINTER(_Buffer))),
    ]


class _Api(_Struct):
    _fields_ = [
        ("version", _Version),
        ("internal", ctypes.c_void_p),
        ("error_create", _Entry),
        ("error_message", ctypes.c_void_p),
        ("error_destroy", ctypes.c_void_p),
        ("handler_register", ctypes.c_void_p),
        ("stream_get", _Entry),
    ]


class _CallFrame(_Struct):
    _fields_ = [
        ("api", ctypes.POINTER(_Api)),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("arguments", _Values),
        ("results", _Values),
    ]


class _Stream(_Struct):
    _fields_ = [("context", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


class _Error(_Struct):
    _fields_ = [("message", ctypes.c_char_p), ("code", ctypes.c_int)]


class CudaHandler:
    """A handler of XLA's that runs `launch(inputs, outputs, stream)`, each buffer as (address, rows); to be kept alive.

    `version` is that of XLA's interface.
    """

    def __init__(
        self, launch: Callable[[list[tuple[int, int]], list[tuple[int, int]], int], None], version: tuple[int, int]
    ):
        self._launch, self._version = launch, version
        self._entry = _Entry(self._handle)

    @property
    def address(self) -> int:
        """The address of the function that XLA calls."""
        return ctypes.cast(self._entry, ctypes.c_void_p).value or 0

    def _handle(self, address: int) -> int | None:
        frame = _CallFrame.from_address(address)
        if frame.extension:
            extension = _Extension.from_address(frame.extension)
            if extension.type == _METADATA_EXTENSION:
                metadata = _Metadata.from_address(extension.metadata)
                metadata.version.major, metadata.version.minor = self._version
                metadata.traits = 0
                return None
        if frame.stage != _EXECUTE:
            return None
        try:
            asked = _Stream(ctypes.sizeof(_Stream), None, frame.context, None)
            failed: int | None = frame.api.contents.stream_get(ctypes.addressof(asked))
            if failed:
                return failed
            self._launch(_buffers(frame.arguments), _buffers(frame.results), asked.stream or 0)
        except Exception as error:  # an exception cannot pass through XLA; its own error says the same
            text = f"{type(error).__name__}: {error}".encode()
            stated = _Error(ctypes.sizeof(_Error), None, text, _INTERNAL)
            created: int | None = frame.api.contents.error_create(ctypes.addressof(stated))
            return created
        return None


def _buffers(values: _Values) -> list[tuple[int, int]]:
    """Return the address and the number of rows of each buffer."""
    buffers = [values.values[k].contents for k in range(values.size)]
    return [(b.data or 0, b.dims[0]) for b in buffers]


def launcher(kernel: Any) -> Callable[[list[tuple[int, int]], list[tuple[int, int]], int], None]:
    """Return the function that launches a `CudaKernel` of the layout "samples" on addresses of the device's memory."""
    import cupy

    spec = kernel.spec
    size = cupy.dtype(spec.dtype).itemsize

    def array(place: tuple[int, int], entries: int) -> Any:
        address, rows = place
        memory = cupy.cuda.UnownedMemory(address, rows * entries * size, kernel)
        return cupy.ndarray((rows, entries), spec.dtype, cupy.cuda.MemoryPointer(memory, 0))

    def launch(inputs: list[tuple[int, int]], outputs: list[tuple[int, int]], stream: int) -> None:
        n = outputs[0][1]
        if not n:
            return
        device = cupy.cuda.runtime.pointerGetAttributes(outputs[0][0]).device
        with cupy.cuda.Device(device), stream_at(cupy, stream):
            results = [array(place, p.size) for place, p in zip(outputs, spec.outputs, strict=True)]
            for result, port, count in zip(results, spec.outputs, spec.nonzeros, strict=True):
                if count < port.size:  # the kernel does not write structural zeros
                    result.fill(0)
            arrays = [array(place, p.size) for place, p in zip(inputs, spec.inputs, strict=True)]
            kernel.launch(arrays, results, n)

    return launch
