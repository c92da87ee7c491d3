"""The CUDA target where no device is: a clear sentence, and a kernel's text and shapes all the same."""

import importlib.util

import pytest

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
    with pytest.raises(TaupiError, match="No layout"):
        cuda.kernel_spec(y, layout="rows")
    with pytest.raises(TaupiError, match="No dtype"):
        cuda.kernel_spec(y, dtype="int8")
