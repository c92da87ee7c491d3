"""The CPU target: layouts, number types, buffers, the one-sample form, threads, and the cache of compiled code."""

import contextlib
import copy
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc

import casadi as cs
import numpy as np
import pytest
from refusals import refused
from support import ROUNDING, error, random_robot, random_states

import taupi as tp
from taupi.errors import TaupiError
from taupi.program import program as program_module
from taupi.program.program import Port, trace
from taupi.program.targets import cpu, one_sample
from taupi.program.targets.simd import llvm_module, machine_code
from taupi.program.targets.simd.loops import sample_rows
from taupi.threads import side_by_side

# One unit in the last place of float32 is 6e-8; a few hundred operations lose some of it.
SINGLE = 2e-5


@pytest.fixture(scope="module")
def arm():
    return random_robot(21, joints=5)


@pytest.fixture(scope="module")
def y(arm):
    return tp.regressor(arm, terms=("viscous",))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 127, 128, 129, 1000])
def test_layouts_agree(y, arm, n):
    states = random_states(arm, n, 3)
    want = y.compile("numpy")(*states)
    batch_last = y.compile("cpu", layout="batch_last")(*states)
    assert batch_last.shape == (*y.outputs[0].shape[::-1], n)
    assert error(batch_last.transpose(2, 1, 0), want) < ROUNDING
    packed = y.compile("cpu", layout="nonzeros")(*states)
    assert error(packed, want.reshape(n, y.outputs[0].size)[:, y.nonzeros()].T) < ROUNDING
    assert error(y(*states), want) < ROUNDING


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [0, 1, 9])
def test_one_lane_computes_the_same(y, arm, n, dtype):
    states = random_states(arm, n, 3)
    alone = cpu.Kernel(y, dtype=dtype, lanes=1)
    values = alone(*states)
    assert alone.lanes == 1 and error(values, y.compile("numpy")(*states)) < (
        ROUNDING if dtype == "float64" else SINGLE
    )
    assert np.array_equal(pickle.loads(pickle.dumps(alone))(*states), values)


def test_the_one_sample_form_has_one_lane(y, arm, monkeypatch):
    """Also of a program long enough to be cut into functions, and with functions of the C library."""
    monkeypatch.setattr(llvm_module, "_ONE_FUNCTION_ONE_LANE", 200)
    port = tp.program.Port("x", (3,))
    odd = trace("odd", lambda x: cs.tanh(x) + cs.exp(x[0]) * cs.sin(1e6 * x), [port], [tp.program.Port("y", (3,))])
    rng = np.random.default_rng(0)
    for program in (y, odd):
        step, wide = program.compile("cpu").bound(), program.compile("numpy")
        step.x[:] = x = rng.normal(size=step.x.shape)
        step()
        parts = np.split(x, np.cumsum([p.size for p in program.inputs])[:-1])
        want = wide(*(v.reshape(p.shape) for v, p in zip(parts, program.inputs, strict=True)))
        assert error(next(iter(step.outputs.values())), want) < ROUNDING


def test_the_transpose_is_the_stacked_matrix_without_a_copy(y, arm):
    states = random_states(arm, 50, 3)
    native = y.compile("cpu", layout="batch_last")(*states)
    stacked = native.reshape(len(y.parameters), -1).T
    assert stacked.flags.f_contiguous
    assert stacked.base is not None
    # Rows joint by joint: all samples of joint 1, then of joint 2, ...
    assert error(stacked, y(*states).transpose(1, 0, 2).reshape(-1, len(y.parameters))) < ROUNDING


@pytest.mark.parametrize("layout", ["samples", "batch_last", "nonzeros"])
@pytest.mark.parametrize("n", [1, 17, 300])
def test_single_precision(y, arm, layout, n):
    states = random_states(arm, n, 3)
    got = y.compile("cpu", layout=layout, dtype="float32")(*states)
    assert got.dtype == np.float32
    assert error(got, y.compile("cpu", layout=layout)(*states)) < SINGLE


def test_several_outputs_in_every_layout(arm):
    program = tp.closed_form.newton_euler_matrices(arm)
    states = random_states(arm, 13, 1)
    want = program.compile("numpy")(*states)
    for got, w in zip(program(*states), want, strict=True):
        assert error(got, w) < ROUNDING
    for got, w in zip(program.compile("cpu", layout="batch_last")(*states), want, strict=True):
        assert error(got.transpose(2, 1, 0), w) < ROUNDING


@pytest.mark.parametrize("layout", ["samples", "batch_last"])
def test_out_is_filled_and_checked(y, arm, layout):
    kernel = y.compile("cpu", layout=layout)
    states = random_states(arm, 100, 3)
    buffer = kernel.empty(100)[0]
    assert kernel(*states, out=buffer) is buffer
    first = buffer.copy()
    kernel(*(2 * states), out=buffer)
    kernel(*states, out=buffer)
    assert np.array_equal(buffer, first)
    bad = {
        "shape": np.zeros((3, 3)),
        "type": buffer.astype(np.float32),
        "order": np.asfortranarray(np.zeros(buffer.shape)),
    }
    for wrong in bad.values():
        with pytest.raises(TaupiError, match="expected a writable, aligned, C-contiguous float64 array"):
            kernel(*states, out=wrong)
    shifted = np.zeros(buffer.nbytes + 8, np.uint8)[4:-4].view(np.float64).reshape(buffer.shape)
    assert not shifted.flags.aligned
    with pytest.raises(TaupiError, match="aligned"):
        kernel(*states, out=shifted)
    for wrong in (5, "abc", [], [buffer, buffer]):
        with refused("out"):
            kernel(*states, out=wrong)
    buffer.flags.writeable = False
    with pytest.raises(TaupiError, match="expected a writable"):
        kernel(*states, out=buffer)


def test_large_outputs_are_streamed_and_right(arm):
    """More bytes than the cache holds take the streaming path, at lengths that do and do not fill whole cache lines."""
    y = tp.regressor(arm)
    kernel = y.compile("cpu", layout="batch_last")
    for n in (32768, 32771):
        states = random_states(arm, n, 3)
        got = kernel(*states)
        assert got.nbytes > 32 * 1024 * 1024
        some = np.r_[0:20, n - 20 : n]
        assert error(got.transpose(2, 1, 0)[some], y.compile("numpy")(*states[:, some])) < ROUNDING


@pytest.mark.parametrize("layout", ["samples", "batch_last", "nonzeros"])
def test_memory_is_the_output_and_one_block(arm, layout):
    """NumPy reports its arrays to tracemalloc, scratch memory included."""
    kernel = tp.regressor(arm).compile("cpu", layout=layout)
    states = random_states(arm, 20000, 3)
    kernel(*(s[:10] for s in states))
    tracemalloc.start()
    try:
        result = kernel(*states)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < result.nbytes + 64 * 1024


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("layout", ["samples", "batch_last", "nonzeros"])
@pytest.mark.parametrize("width", [2, 4, 16])
def test_other_machines_and_small_pieces(arm, monkeypatch, layout, width, dtype):
    """Every vector width, a tape in many pieces whose last is short, blocks and streams forced: the whole array agrees."""
    monkeypatch.setattr(cpu, "vector_width", lambda dtype="float64": width)
    monkeypatch.setattr(llvm_module, "_ONE_FUNCTION", 30)
    monkeypatch.setattr(llvm_module, "_CHUNK", 37)
    monkeypatch.setattr(llvm_module, "_BLOCK_BYTES", 16 * 1024)
    monkeypatch.setattr(cpu, "_STREAMED_BYTES", 0)
    y = tp.regressor(arm, terms=("coulomb",))
    kernel = y.compile("cpu", layout=layout, dtype=dtype)
    for n in (3 * 16 * width, 5 * 16 * width + 3):
        states = random_states(arm, n, 3, seed=n)
        want = y.compile("numpy")(*states)
        got = kernel(*states)
        want = want.reshape(n, y.outputs[0].size)[:, y.nonzeros()] if layout == "nonzeros" else want
        got = got if layout == "samples" else got.transpose(*range(got.ndim)[::-1])
        assert error(got, want) < (ROUNDING if dtype == "float64" else SINGLE)


@pytest.mark.parametrize("last", [1, 2, 7])
def test_last_piece_shorter_than_what_it_copies(monkeypatch, last):
    """A piece of few instructions among many rows to copy: none may be left behind."""

    def body(x):
        return cs.vertcat(*[x[0] + k % 7 for k in range(300)])

    program = trace("many", body, [Port("x", (1,))], [Port("y", (300,))])
    monkeypatch.setattr(llvm_module, "_ONE_FUNCTION", 30)
    monkeypatch.setattr(llvm_module, "_CHUNK", len(program.tape.instructions) - last)
    monkeypatch.setattr(llvm_module, "_BLOCK_BYTES", 0)
    monkeypatch.setattr(cpu, "_STREAMED_BYTES", 0)
    x = np.random.default_rng(0).normal(size=(1024, 1))
    got = program.compile("cpu", layout="batch_last")(x)
    assert np.array_equal(got, program.compile("numpy")(x).T)


@pytest.mark.parametrize("layout", ["samples", "batch_last", "nonzeros"])
def test_results_that_are_all_zero(layout):
    still = tp.gravity_torque(tp.load("puma560").with_gravity((0, 0, 0)))
    got = still.compile("cpu", layout=layout)(np.ones((5, 6)))
    assert not got.any()
    assert 5 in got.shape


def test_kernels_and_programs_travel_to_other_processes(y, arm):
    states = random_states(arm, 2000, 3)
    want = y(*states)
    assert np.array_equal(pickle.loads(pickle.dumps(y))(*states), want)
    assert np.array_equal(pickle.loads(pickle.dumps(y.compile("cpu", threads=2)))(*states), want)
    assert np.array_equal(copy.deepcopy(y)(*states), want)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_threads_after_a_fork(tmp_path):
    """A child process has none of its parent's threads; its own call must not wait for them."""
    code = (
        "import os, signal, numpy as np, taupi as tp\n"
        "k = tp.gravity_torque(tp.load('zollo2r')).compile('cpu', threads=2)\n"
        "q = np.ones((4000, 2)); want = k(q)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    signal.alarm(300); os._exit(0 if np.array_equal(k(q), want) else 1)\n"
        "print(os.waitpid(pid, 0)[1])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_what_is_compiled_ahead_is_compiled_once(y, arm, monkeypatch):
    """Begun in another thread, it is taken over by whoever calls it: the same numbers, and no second compilation."""
    monkeypatch.setenv("TAUPI_CACHE", "off")
    states = random_states(arm, 50, 3)
    want = y(*states)
    compiled, threads = machine_code._compiled, []

    def noted(text, level):
        threads.append(threading.current_thread().name)
        return compiled(text, level)

    monkeypatch.setattr(machine_code, "_compiled", noted)
    monkeypatch.setattr(machine_code, "_BEGUN", {})  # not what other tests began and never called
    cpu.compile_ahead(y, y)
    assert np.array_equal(y.compile("cpu")(*states), want)
    assert len(threads) == 1 and threads[0].startswith("taupi-compiler")
    assert not machine_code._BEGUN
    assert np.array_equal(y.compile("cpu")(*states), want) and len(threads) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_waits_for_what_is_compiled_ahead():
    """A child has the compiler's locks, but not its thread: it must neither find them taken nor wait for that thread."""
    code = (
        "import os, signal, numpy as np, taupi as tp\n"
        "from taupi.program.targets.cpu import compile_ahead\n"
        "y = tp.regressor(tp.load('planar3r').bind(l1=1, l2=1, l3=1)); compile_ahead(y)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    signal.alarm(300); compile_ahead(tp.gravity_torque(tp.load('zollo2r')))\n"
        "    os._exit(0 if y(*np.ones((3, 3))).shape == (3, 30) else 1)\n"
        "print(os.waitpid(pid, 0)[1])"
    )
    environment = os.environ | {"TAUPI_CACHE": "off"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "0"


def test_bound_inputs_are_one_array(y):
    step = y.compile("cpu").bound()
    step.x[:] = np.arange(15.0)
    assert np.array_equal(step.inputs["qd"], np.arange(5.0, 10.0))


GUARDED = """
import ctypes, mmap
import casadi as cs, numpy as np, taupi as tp

page = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * page)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.mprotect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), 0) == 0  # reading beyond the page ends the process
program = tp.program.trace("total", lambda x: cs.sum1(x), [tp.program.Port("x", ({size},))], [tp.program.Port("y")])
x = np.frombuffer(memory, np.float64, 3 * {size}, page - 8 * 3 * {size}).reshape(3, {size})
x[:] = np.arange(3 * {size}).reshape(3, {size})
assert np.allclose(program(x), x.sum(axis=1))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect is called by its Linux signature")
@pytest.mark.parametrize("size", [3, 11, 19])
def test_nothing_beyond_an_input_is_read(size):
    subprocess.run([sys.executable, "-c", GUARDED.format(size=size)], check=True)


@pytest.mark.parametrize("layout", ["samples", "batch_last"])
def test_threads_do_not_change_a_bit(y, arm, layout, monkeypatch):
    shared = []
    monkeypatch.setattr(cpu, "side_by_side", lambda work, count: (shared.append(count), side_by_side(work, count)))
    states = random_states(arm, 5003, 3)
    kernels = [y.compile("cpu", layout=layout, threads=k) for k in (1, 2, 3)]
    one, two, three = (kernel(*states) for kernel in kernels)
    assert np.array_equal(one, two) and np.array_equal(one, three)
    assert shared == [2, 3]  # two threads are worth having, one is not


def test_bound_form(y, arm):
    step = y.compile("cpu").bound()
    for q, qd, qdd in np.moveaxis(random_states(arm, 3, 3), 1, 0):
        step.inputs["q"][:], step.inputs["qd"][:], step.inputs["qdd"][:] = q, qd, qdd
        step()
        assert np.array_equal(step.outputs["Y"], y(q, qd, qdd))
    with pytest.raises(TaupiError, match="A bound kernel needs"):
        y.compile("cpu", layout="batch_last").bound()


def test_bad_options(y):
    with pytest.raises(TaupiError, match=r"No layout 'sample'.*Did you mean 'samples'"):
        y.compile("cpu", layout="sample")
    with refused("dtype", name="int32"):
        y.compile("cpu", dtype=np.int32)


def test_groups_cover_every_nonzero_once():
    rng = np.random.default_rng(0)
    for size in (1, 5, 8, 9, 60, 490):
        nonzeros = np.flatnonzero(rng.random(size) < 0.4)
        rng.shuffle(nonzeros)
        rows = sample_rows([nonzeros], [size], 8)
        assert sorted(rows.row_of.values()) == sorted(set(range(rows.count)) - set(rows.zero_rows))
        for slot, place in enumerate(nonzeros):
            group, lane = divmod(rows.row_of[0, slot], 8)
            assert rows.starts[0][group] + lane == place


# The cache of compiled code ----------------------------------------------------------------------------------------


def fresh(folder, robot_seed=5):
    """Compile a program, for batches alone, in a process of its own and return its output."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from support import random_robot\nimport taupi as tp\n"
        f"print(tp.gravity_torque(random_robot({robot_seed}, joints=2))([[0.3, 0.4]]).tolist())"
    )
    tests = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    environment = os.environ | {"TAUPI_CACHE": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code, tests], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def files(folder):
    """The machine code of programs in a folder; beside it is that of calls with one sample, which all programs share."""
    shared = machine_code._file(one_sample._TEXT).name
    return sorted(path for path in folder.rglob("*.o") if path.name != shared)


def test_second_process_reads_what_the_first_compiled(tmp_path):
    first = fresh(tmp_path)
    (stored,) = files(tmp_path)
    assert stored.stat().st_mode & 0o077 == 0
    before = stored.stat().st_mtime_ns
    assert fresh(tmp_path) == first
    assert stored.stat().st_mtime_ns == before
    assert files(tmp_path) == [stored] and {p.suffix for p in stored.parent.iterdir()} <= {".o", ".program"}


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "foreign", "swapped"])
def test_damaged_files_are_compiled_again(tmp_path, damage):
    first = fresh(tmp_path)
    (stored,) = files(tmp_path)
    data = stored.read_bytes()
    flipped = data[:200] + bytes([data[200] ^ 0xFF]) + data[201:]
    if damage == "swapped":
        fresh(tmp_path, robot_seed=6)  # another program's whole file under this one's name
        (other,) = [f for f in files(tmp_path) if f != stored]
        flipped = other.read_bytes()
    damaged = {"truncated": data[:100], "flipped": flipped, "empty": b"", "foreign": data, "swapped": flipped}
    stored.write_bytes(damaged[damage])
    if damage == "foreign":
        stored.chmod(0o666)  # others may write it: not trusted
    assert fresh(tmp_path) == first
    assert stored.read_bytes() == data


def test_cache_can_be_switched_off_and_need_not_be_writable(tmp_path, monkeypatch):
    for word in ("off", "OFF ", "false", "none", "0"):
        monkeypatch.setenv("TAUPI_CACHE", word)
        assert machine_code.folder() is None
    monkeypatch.setenv("TAUPI_CACHE", "~/x")
    assert "~" not in str(machine_code.folder())
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert fresh(blocked) == fresh(tmp_path / "other")


def test_other_machines_and_compilers_have_other_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUPI_CACHE", str(tmp_path))
    mine = machine_code._file("text")
    monkeypatch.setattr(machine_code.llvm, "get_host_cpu_name", lambda: "other")
    assert machine_code._file("text") != mine
    assert machine_code._file("another text") != mine
    assert machine_code._file("text", machine_code.LEVEL_OF_LONG) != machine_code._file("text")


@pytest.mark.parametrize("n", [1, 9, 500])
def test_long_tapes_copy_after_computing(y, arm, monkeypatch, n):
    states = random_states(arm, n, 3)
    want = y.compile("cpu", layout="batch_last")(*states)
    monkeypatch.setattr(llvm_module, "_STREAMING", 10)
    monkeypatch.setattr(cpu, "_STREAMED_BYTES", 0)
    late = cpu.Kernel(y, layout="batch_last")
    assert "streaming" not in late.module.text
    assert np.array_equal(late(*states), want)


def test_long_programs_show_that_they_are_at_work(y, monkeypatch):
    shown = []

    class Bar:
        def __init__(self, title, total):
            shown.append((title, total))

        def __enter__(self):
            return shown.append

        def __exit__(self, *error):
            pass

    monkeypatch.setattr(cpu, "progress", Bar)
    cpu.Kernel(y, lanes=1)
    assert not shown
    monkeypatch.setattr(cpu, "_LONG", 10)
    cpu.Kernel(y, lanes=1)
    assert shown == [("compiling regressor", 2), "instructions", "machine code"]


def test_the_trace_of_very_many_joints_is_seen(monkeypatch):
    shown = []

    @contextlib.contextmanager
    def bar(title, total):
        shown.append((title, total))
        yield shown.append

    monkeypatch.setattr(program_module, "progress", bar)
    trace("few", lambda x: x, [Port("x", (74,))], [Port("y", (74,))])
    assert not shown
    many = trace("many", lambda x, y: x + y, [Port("x", (60,)), Port("z", (60,))], [Port("y", (60,))])
    assert shown == [("tracing many", 1), "on symbols"] and np.array_equal(
        many(np.ones(60), np.ones(60)), np.full(60, 2.0)
    )
