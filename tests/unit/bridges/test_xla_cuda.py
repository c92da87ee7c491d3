"""The handler that launches CUDA kernels for XLA: its structures are those of XLA's header, and a frame made by hand runs it."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from emitted import need, run

from taupi.bridges import xla_cuda as xla

STRUCTURES = {
    "XLA_FFI_Metadata_Extension": (xla._Extension, {"metadata": "metadata", "type": "extension_base.type"}),
    "XLA_FFI_Metadata": (xla._Metadata, {"version": "api_version", "traits": "traits"}),
    "XLA_FFI_Api_Version": (xla._Version, {"major": "major_version", "minor": "minor_version"}),
    "XLA_FFI_Buffer": (xla._Buffer, {"data": "data", "rank": "rank", "dims": "dims"}),
    "XLA_FFI_Args": (xla._Values, {"size": "size", "values": "args"}),
    "XLA_FFI_Rets": (xla._Values, {"size": "size", "values": "rets"}),
    "XLA_FFI_Api": (
        xla._Api,
        {"error_create": "XLA_FFI_Error_Create", "stream_get": "XLA_FFI_Stream_Get", "version": "api_version"},
    ),
    "XLA_FFI_CallFrame": (
        xla._CallFrame,
        {k: k for k in ("api", "stage")}
        | {"context": "ctx", "arguments": "args", "results": "rets", "extension": "extension_start"},
    ),
    "XLA_FFI_Stream_Get_Args": (xla._Stream, {"context": "ctx", "stream": "stream"}),
    "XLA_FFI_Error_Create_Args": (xla._Error, {"message": "message", "code": "errc"}),
}


def test_structures_are_those_of_the_header(tmp_path):
    header = Path(pytest.importorskip("jax.ffi").include_dir())
    lines, ours = [], []
    for name, (kind, fields) in STRUCTURES.items():
        for mine, theirs in fields.items():
            lines.append(f'printf("%zu\\n", offsetof({name}, {theirs}));')
            ours.append(getattr(kind, mine).offset)
    for name in ("XLA_FFI_Extension_Metadata", "XLA_FFI_ExecutionStage_EXECUTE", "XLA_FFI_Error_Code_INTERNAL"):
        lines.append(f'printf("%zu\\n", (size_t){name});')
    ours += [xla._METADATA_EXTENSION, xla._EXECUTE, xla._INTERNAL]
    code = '#include <stddef.h>\n#include <stdio.h>\n#include "xla/ffi/api/c_api.h"\nint main(void) {' + "\n".join(
        lines
    )
    (tmp_path / "offsets.c").write_text(code + "return 0; }")
    run(need("gcc"), f"-I{header}", tmp_path / "offsets.c", "-o", tmp_path / "offsets")
    assert list(map(int, run(tmp_path / "offsets").split())) == ours


class Host:
    """XLA's side: buffers that are NumPy's, a stream that is a number, and errors that are kept."""

    def __init__(self, inputs, outputs, stage=3, stream=77, stream_fails=0):
        self.errors, self.kept = [], []

        def stream_get(address):
            xla._Stream.from_address(address).stream = stream
            return stream_fails

        def error_create(address):
            self.errors.append(xla._Error.from_address(address).message.decode())
            return 4711

        entries = xla._Entry(error_create), xla._Entry(stream_get)
        self.api = xla._Api(error_create=entries[0], stream_get=entries[1])
        self.frame = xla._CallFrame(api=ctypes.pointer(self.api), stage=stage)
        self.frame.arguments, self.frame.results = self.values(inputs), self.values(outputs)
        self.kept += [entries]

    def values(self, arrays):
        buffers = []
        for a in arrays:
            dims = (ctypes.c_int64 * a.ndim)(*a.shape)
            buffer = xla._Buffer(
                data=a.ctypes.data, rank=a.ndim, dims=ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64))
            )
            buffers.append(buffer)
            self.kept += [dims, a]
        pointers = (ctypes.POINTER(xla._Buffer) * len(arrays))(*map(ctypes.pointer, buffers))
        self.kept += [buffers, pointers]
        values = ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(xla._Buffer)))
        return xla._Values(size=len(arrays), values=values)

    def call(self, handler):
        return xla._Entry(handler.address)(ctypes.addressof(self.frame))


def test_a_frame_reaches_the_launch_with_addresses_rows_and_stream():
    a, b, y = np.arange(6.0).reshape(3, 2), np.ones((1, 4)), np.zeros((3, 5))
    calls = []
    handler = xla.CudaHandler(lambda *given: calls.append(given), (0, 3))
    assert Host([a, b], [y]).call(handler) is None
    assert calls == [([(a.ctypes.data, 3), (b.ctypes.data, 1)], [(y.ctypes.data, 3)], 77)]
    assert Host([a], [y], stage=1).call(handler) is None and len(calls) == 1  # nothing before execution
    assert Host([a], [y], stream_fails=99).call(handler) == 99 and len(calls) == 1


def test_metadata_is_answered():
    metadata = xla._Metadata(traits=5)
    extension = xla._Extension(type=1, metadata=ctypes.addressof(metadata))
    host = Host([], [])
    host.frame.extension = ctypes.addressof(extension)
    assert host.call(xla.CudaHandler(lambda *_: 1 / 0, (0, 3))) is None
    assert (metadata.version.major, metadata.version.minor, metadata.traits) == (0, 3, 0)


def test_an_exception_becomes_an_error_of_xla():
    y = np.zeros((1, 1))
    host = Host([y], [y])
    assert host.call(xla.CudaHandler(lambda *_: 1 / 0, (0, 3))) == 4711
    assert host.errors == ["ZeroDivisionError: division by zero"]
