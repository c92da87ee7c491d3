"""MATLAB files: our reader against SciPy's, on the files that SciPy is tested with; and damage, which crashed SciPy's."""

import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy
from scipy.io import loadmat, savemat

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.formats.mat import variables

FILES = sorted(Path(scipy.__path__[0], "io/matlab/tests/data").glob("*.mat"))
# Damaged on purpose, or of version 7.3; and those in which SciPy renames fields, or reads objects.
DAMAGED = (
    "bad_miuint32",
    "corrupted_zlib_checksum",
    "corrupted_zlib_data",
    "debigged_m4",
    "malformed1",
    "testhdf5_7.4_GLNX86",
)
OTHER = ("bad_miutf8_array_name", "nasty_duplicate_fieldnames", "testobject")


def flat(name, value, arrays, depth=0):
    """The arrays of numbers in what either reader returns, by dotted names."""
    if hasattr(value, "_fieldnames") and depth < 8:
        for field in value._fieldnames:
            flat(f"{name}.{field}", getattr(value, field), arrays, depth + 1)
    elif isinstance(value, dict):
        for field, inner in value.items():
            flat(f"{name}.{field}", inner, arrays)
    elif isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
        flat(name, value.ravel()[0], arrays, depth + 1)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.ndim == 2 and value.size:
        arrays[name] = value.astype(float)
    return arrays


def both(path):
    theirs, ours = {}, {}
    for name, value in loadmat(path, struct_as_record=False).items():
        if not name.startswith("__"):
            flat(name, value, theirs)
    for name, value in variables(path.read_bytes(), path.name).items():
        flat(name, value, ours)
    return ours, theirs


def agree(path):
    ours, theirs = both(path)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert np.array_equal(ours[name], value, equal_nan=True), name
    return len(ours)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(len(FILES) < 50, reason="this SciPy comes without the files that it is tested with")
def test_the_same_numbers_as_scipy():
    read = [agree(path) for path in FILES if path.stem not in DAMAGED and not path.stem.startswith(OTHER)]
    assert sum(read) > 40


@pytest.mark.parametrize("form", ["4", "5"])
@pytest.mark.parametrize("compressed", [False, True])
def test_the_same_numbers_as_scipy_wrote(tmp_path, form, compressed):
    rng = np.random.default_rng(0)
    content = {"q": rng.normal(size=(20, 3)), "t": np.arange(20.0)[:, None], "s": rng.normal(size=(5, 7)).astype("f4")}
    if form == "5":
        content |= {
            f"n{kind}": rng.integers(0, 100, (4, 5)).astype(kind) for kind in ("i1", "u1", "i2", "u4", "i8", "u8")
        }
        content |= {
            "data": {"q": rng.normal(size=(6, 2)), "deep": {"x": rng.normal(size=(2, 2))}},
            "flags": np.eye(3) > 0,
        }
    savemat(tmp_path / "a.mat", content, format=form, do_compression=compressed and form == "5")
    assert agree(tmp_path / "a.mat") == len(content) + (form == "5")


@pytest.mark.parametrize("path", [p for p in FILES if p.stem in DAMAGED], ids=lambda p: p.stem)
def test_damaged_files_are_refused(path):
    with pytest.raises(TaupiError, match="is not a MATLAB file, or it is cut off or damaged"):
        variables(path.read_bytes(), path.name)


def test_string_arrays_of_matlab_are_passed_over(tmp_path):
    """They are objects, without a shape, of which the file says no more to other programs than name and class."""

    def text(content):
        return struct.pack("<II", 1, len(content)) + content.ljust(-(-len(content) // 8) * 8, b"\0")

    place = np.array([[0xDD000000, 2, 1, 1, 1, 1]], "<u4")
    matrix = struct.pack("<IIII", 6, 8, 13, 0) + struct.pack("<IIii", 5, 8, 6, 1) + text(b"")
    matrix += struct.pack("<II", 6, place.nbytes) + place.tobytes()
    words = struct.pack("<IIII", 6, 8, 17, 0) + text(b"joint_names") + text(b"MCOS") + text(b"string")
    words += struct.pack("<II", 14, len(matrix)) + matrix
    savemat(tmp_path / "a.mat", {"q": np.eye(3)})
    content = (tmp_path / "a.mat").read_bytes() + struct.pack("<II", 14, len(words)) + words
    (tmp_path / "a.mat").write_bytes(content)
    assert list(variables(content, "a.mat")) == ["q"]
    assert agree(tmp_path / "a.mat") == 1


def nested_cells(depth):
    """Cells in cells, which ended SciPy's reader by a segmentation fault."""
    content = b""
    for _ in range(depth):
        flags = struct.pack("<IIII", 6, 8, 1, 0)
        shape = struct.pack("<IIii", 5, 8, 1, 1)
        name = struct.pack("<II", 1, 0)
        inner = flags + shape + name + content
        content = struct.pack("<II", 14, len(inner)) + inner
    return b"MATLAB 5.0".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + content


@pytest.mark.parametrize("compressed", [False, True])
def test_thousands_of_nested_cells(tmp_path, compressed):
    data = nested_cells(5000)
    if compressed:
        packed = zlib.compress(data[128:])
        data = data[:128] + struct.pack("<II", 15, len(packed)) + packed
    (tmp_path / "a.mat").write_bytes(data)
    with pytest.raises(TaupiError, match="holds no arrays of numbers"):
        tp.read_log(tmp_path / "a.mat")


def test_damage_never_ends_in_anything_but_a_sentence(tmp_path):
    """Mutations of the kind of which SciPy's reader crashed on one in a thousand."""
    rng = random.Random(3)
    savemat(
        tmp_path / "a.mat", {"data": {"q": np.eye(3), "c": np.array([[np.eye(2)]], dtype=object)}, "t": np.arange(9.0)}
    )
    seed = (tmp_path / "a.mat").read_bytes()
    for _ in range(4000):
        data = bytearray(seed)
        for _ in range(rng.randrange(1, 5)):
            place = rng.randrange(128, len(data) - 4)
            data[place : place + 4] = rng.choice([0, 1, 14, 15, 2**31 - 1, 2**32 - 1, rng.randrange(2**32)]).to_bytes(
                4, "little"
            )
        try:
            variables(bytes(data[: rng.choice([len(data), rng.randrange(len(data))])]), "a.mat")
        except TaupiError as error:
            assert "\n" not in str(error)
