"""The CUDA target where no device is: a clear sentence, and a kernel's text and shapes all the same."""

import ctypes
import importlib.util
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError
from taupi.program.targets import cuda

HAS_CUPY = importlib.util.find_spec("cupy") is not None


@pytest.mark.skipif(HAS_CUPY, reason="CuPy is installed")
def test_without_cupy_the_sentence_names_the_extra():
    with pytest.raises(TaupiError, match=r"needs CuPy: pip install taupi\[gpu\]"):
        tp.regressor(tp.load("elbow2r")).compile("cuda")


def test_spec_needs_no_device():
    y = tp.regressor(tp.load("elbow2r"))
    spec = cuda.kernel_spec(y, layout="nonzeros", dtype="float32")
    assert spec.nonzeros == (len(y.nonzeros()),)
    assert "sincosf" in spec.source
    with refused("layout"):
        cuda.kernel_spec(y, layout="rows")
    with refused("dtype"):
        cuda.kernel_spec(y, dtype="int8")


@given(count=st.integers(0, 3000), tile=st.integers(1, 1500))
def test_tiles_cover_every_sample_once_in_equal_parts(count, tile):
    covered = []
    for samples, parts, starts in cuda.tiles(count, tile):
        assert samples % parts == 0
        covered += [k for start in starts for k in range(start, start + samples)]
    assert covered == list(range(count))


def test_spans_hold_all_that_a_row_may_fill():
    y = tp.regressor(tp.load("puma560"))
    spans = cuda.kernel_spec(y).spans
    mask = y.sparsity()
    for row, (start, stop) in zip(mask, spans, strict=True):
        assert row[start] and row[stop - 1]
        assert not row[:start].any() and not row[stop:].any()
    assert cuda.column_spans(np.zeros((1, 3), dtype=bool)) == ((0, 0),)


class _Cublas:
    """The one product of cuBLAS that is used, in NumPy: column-major, addresses of memory."""

    CUBLAS_OP_N, CUBLAS_OP_T = 0, 1

    @staticmethod
    def dgemmStridedBatched(  # noqa: N802
        _, transposed, plain, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, count
    ):
        assert (transposed, plain) == (1, 0)
        for i in range(count):
            left, right = _matrix(a + 8 * i * sa, k, m, lda), _matrix(b + 8 * i * sb, k, n, ldb)
            target = _matrix(c + 8 * i * sc, m, n, ldc)
            target[:] = _matrix(alpha, 1, 1, 1) * (left.T @ right) + _matrix(beta, 1, 1, 1) * target


def _matrix(address, rows, columns, leading):
    memory = np.ctypeslib.as_array(
        ctypes.cast(address, ctypes.POINTER(ctypes.c_double)), (leading * (columns - 1) + rows,)
    )
    return np.lib.stride_tricks.as_strided(memory, (rows, columns), (8, 8 * leading))


class _Array(np.ndarray):
    """An array whose address is found where CuPy has it."""

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data)


@pytest.mark.parametrize("name", ["puma560", "solo12"])  # a chain, and legs whose rows end before the last column
def test_products_of_rows_are_the_normal_equations(monkeypatch, name):
    y = tp.regressor(tp.load(name, floating=False))
    rng = np.random.default_rng(3)
    spec = cuda.kernel_spec(y)
    device = types.SimpleNamespace(get_cublas_handle=lambda: 0)
    cupy = types.SimpleNamespace(
        zeros=lambda shape, dtype: np.zeros(shape, dtype).view(_Array), cuda=types.SimpleNamespace(device=device)
    )
    for module in ("cupy_backends", "cupy_backends.cuda"):
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.libs", types.SimpleNamespace(cublas=_Cublas))
    rows, columns = y.outputs[0].shape
    products = cuda.RowProducts(cupy, spec.spans, columns, 12, 3, "float64")
    stacked = []
    for _ in range(2):
        states = [rng.normal(size=(12, *port.shape)) for port in y.inputs]
        matrix, tau = y(*states), rng.normal(size=(12, rows))
        # As the kernel does it: structural zeros are never written.
        products.regressor[y.sparsity().T] = matrix.transpose(2, 1, 0)[y.sparsity().T]
        products.torque[:] = tau.T
        products.add()
        stacked.append(np.concatenate([matrix, tau[..., None]], axis=-1).reshape(-1, columns + 1))
    w = np.concatenate(stacked)
    np.testing.assert_allclose(products.total(), w.T @ w, atol=1e-10)
