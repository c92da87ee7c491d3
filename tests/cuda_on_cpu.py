"""A CUDA device that is the CPU: kernels are compiled as C++ functions, and threads are a loop. And NVRTC, where it is."""

import ctypes
import ctypes.util
import hashlib
import os
from pathlib import Path

import numpy as np
from emitted import SHIM, need, run

from taupi.program.targets.cuda import CudaDevice

EXTRA = r"""
#define __device__
#define __launch_bounds__(threads)
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
"""


class HostDevice:
    """What `taupi.program.targets.cuda.Device` asks for; `launches` counts kernels run, `memory` is what it claims to have."""

    def __init__(self, folder, memory=2**40):
        self.folder, self.memory, self.launches, self.sources = Path(folder), memory, 0, []

    def upload(self, array):
        assert array.flags.c_contiguous
        return array.copy()

    def zeros(self, shape):
        return np.zeros(shape)

    def download(self, array):
        return array.copy()

    def free_bytes(self):
        return self.memory

    def function(self, source, name):
        self.sources.append(source)
        stem = self.folder / hashlib.sha256(source.encode()).hexdigest()[:16]
        if not stem.with_suffix(".so").exists():
            self._compile(source, stem)
        library = ctypes.CDLL(str(stem.with_suffix(".so")))
        kernel = getattr(library, name)

        def launch(count, arguments):
            self.launches += 1
            values = [
                ctypes.c_longlong(a) if isinstance(a, int) else a.ctypes.data_as(ctypes.c_void_p) for a in arguments
            ]
            for i in range(count + 3):  # threads beyond the last sample do nothing
                library.choose(i)
                kernel(*values)

        return launch

    @staticmethod
    def _compile(source, stem):
        stem.with_suffix(".cpp").write_text(SHIM + EXTRA + source, encoding="utf-8")
        flags = ["-Wall", "-Werror", "-Wno-unknown-pragmas", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
        run(need("g++"), *flags, stem.with_suffix(".cpp"), "-o", stem.with_suffix(".so"))


class CountingDevice(CudaDevice):
    """The GPU of this machine, which counts kernels run."""

    def __init__(self):
        super().__init__()
        self.launches, self.sources = 0, []

    def function(self, source, name):
        self.sources.append(source)
        launch = super().function(source, name)

        def counted(count, arguments):
            self.launches += 1
            launch(count, arguments)

        return counted


def nvrtc():
    """Return NVRTC, which compiles CUDA without a device, or None where it is not installed."""
    paths = [os.environ.get("NVRTC"), ctypes.util.find_library("nvrtc")]
    try:
        import nvidia.cuda_nvrtc

        paths += sorted(Path(nvidia.cuda_nvrtc.__path__[0]).glob("lib/libnvrtc.so*"))
    except ImportError:
        pass
    for path in filter(None, paths):
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    return None


def compiled_by_nvrtc(library, source):
    """Return the log of a compilation; None if it went well."""
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"roll.cu", 0, None, None)
    options = (ctypes.c_char_p * 2)(b"--std=c++14", b"--gpu-architecture=compute_90")
    if library.nvrtcCompileProgram(program, 2, options) == 0:
        return None
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    return log.value.decode()
