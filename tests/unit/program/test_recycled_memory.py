"""Memory of large results is used again, but never while anything refers to it, and within a bound."""

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import taupi as tp
from taupi.program import batch_results
from taupi.program.batch_results import LEAST, LIMIT, RecycledMemory, kept_limit
from taupi.program.targets import cpu

FLOAT = np.dtype("float64")


@pytest.fixture
def memory():
    return RecycledMemory()


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_nobody_holds_it(memory):
    first = memory.array((1000, 7), FLOAT)
    place = address(first)
    assert place % 64 == 0 and first.shape == (1000, 7) and first.flags.writeable and first.flags.c_contiguous
    assert memory.kept == 0
    del first
    assert memory.kept == 56_000 + 64
    second = memory.array((990, 7), FLOAT)
    assert address(second) == place and memory.kept == 0


@pytest.mark.parametrize(
    "hold",
    [
        lambda a: a[3:5],
        lambda a: a.T[2].reshape(-1, 10)[::2],
        lambda a: a.view(np.uint64),
        memoryview,
        lambda a: memoryview(a[10:])[5:],
        lambda a: a.base,
        lambda a: np.frombuffer(a, dtype=np.uint8),
        lambda a: np.asarray(memoryview(a)),
        lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, axis=0),
        lambda a: a.view(np.matrix)[:2],
        lambda a: np.broadcast_to(a[0], (5, 7)),
        lambda a: a.ctypes,
        iter,
        lambda a: list(a)[-1],
    ],
)
def test_whatever_views_it_keeps_it(memory, hold):
    array = memory.array((1000, 7), FLOAT)
    place = address(array)
    held = hold(array)
    del array
    gc.collect()
    assert memory.kept == 0
    other = memory.array((1000, 7), FLOAT)
    assert abs(address(other) - place) >= 56_000
    del held
    gc.collect()
    assert memory.kept == 56_064


def test_at_most_the_limit_is_kept_and_the_oldest_goes_first():
    memory = RecycledMemory(limit=100_000)
    arrays = [memory.array((size,), FLOAT) for size in (3000, 4000, 5000, 20_000)]
    del arrays[3]  # larger than the limit by itself
    assert memory.kept == 0
    del arrays[0]
    assert memory.kept == 24_064
    del arrays[:]
    assert memory.kept <= 100_000
    kept = sorted(m.nbytes for m in memory._free)
    assert kept == [24_064, 32_064, 40_064]
    _ = memory.array((6000, 2), FLOAT)
    del _
    assert memory.kept == 96_064  # the two oldest went
    large = memory.array((20_000,), FLOAT)
    del large
    assert memory.kept == 96_064  # what is not kept itself drives nothing out
    memory.clear()
    assert memory.kept == 0


def test_memory_that_is_much_too_large_is_not_taken(memory):
    large = memory.array((10_000,), FLOAT)
    del large
    small = memory.array((4000,), FLOAT)
    assert memory.kept == 80_064 and small.shape == (4000,)
    fitting = memory.array((6000,), FLOAT)
    assert memory.kept == 0 and fitting.shape == (6000,)


def test_a_cycle_gives_back_when_it_is_collected(memory):
    cycle = {"array": memory.array((1000,), FLOAT)}
    cycle["itself"] = cycle
    del cycle
    gc.collect()
    assert memory.kept == 8064


def test_threads_never_share_memory(memory):
    """Each thread writes its number and finds it again, while others take and give back."""
    wrong = []

    def work(number):
        for _ in range(300):
            arrays = [memory.array((500 + 10 * number,), FLOAT) for _ in range(3)]
            for k, array in enumerate(arrays):
                array[:] = 10 * number + k
            wrong.extend(number for k, array in enumerate(arrays) if not (array == 10 * number + k).all())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and memory.kept <= memory.limit


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_memory_of_its_own():
    code = (
        "import os, numpy as np\n"
        "from taupi.program.batch_results import MEMORY\n"
        "a = MEMORY.array((1000,), np.dtype(float)); a[:] = 1\n"
        "MEMORY._lock.acquire()\n"
        "import threading\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    a[:] = 2\n"
        "    t = threading.Thread(target=lambda: MEMORY.array((10,), np.dtype(float))); t.start(); t.join(300)\n"
        "    os._exit(t.is_alive())\n"
        "print(os.waitpid(pid, 0)[1], a.max())"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1.0"]


def test_the_limit_follows_the_memory_of_machine_and_container(monkeypatch, tmp_path):
    machine = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**24}  # 64 GiB
    monkeypatch.setattr(batch_results.os, "sysconf", machine.__getitem__, raising=False)
    allowed = tmp_path / "memory.max"
    monkeypatch.setattr(batch_results, "_ALLOWED", (str(allowed),))
    assert kept_limit() == 2**33
    for text, limit in (("max", 2**33), (str(2**34), 2**31), (str(2**30), LIMIT)):
        allowed.write_text(text + "\n")
        assert kept_limit() == limit == RecycledMemory().limit


def test_kept_memory_is_released_when_asked():
    shape = (LEAST // 8 + 1,)
    array = batch_results.MEMORY.array(shape, FLOAT)
    del array
    assert batch_results.MEMORY.kept >= LEAST
    tp.program.release_memory()
    assert batch_results.MEMORY.kept == 0


# Results of programs ---------------------------------------------------------------------------------------------


@pytest.fixture
def pool(monkeypatch):
    memory = RecycledMemory()
    monkeypatch.setattr(cpu, "MEMORY", memory)
    monkeypatch.setattr(cpu, "LEAST", 1)
    return memory


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["regressor", "inverse_dynamics", "mass_matrix", "jacobian_derivative"])
def test_results_in_used_memory_have_the_same_bits(pool, monkeypatch, name, dtype, threads, streamed):
    """Zeros included: what was in the memory before does not shine through."""
    robot = tp.load("panda")
    program = getattr(tp, name)(robot)
    kernel = program.compile("cpu", threads=threads, dtype=dtype)
    monkeypatch.setattr(cpu, "_STREAMED_BYTES", 0 if streamed else 1 << 60)
    monkeypatch.setattr(cpu, "_SAMPLES_PER_THREAD", 64)
    for n in (2, 7, 8, 9, 64, 333):
        states = np.random.default_rng(n).uniform(-2, 2, (len(program.inputs), n, 7))
        want = kernel(*states, out=kernel.empty(n)[0]).reshape(n, *program.outputs[0].shape)
        for _ in range(3):
            result = kernel(*states)
            assert np.array_equal(result, want) and not np.signbit(result[result == 0]).any()
            result[:] = np.nan  # as the memory is found by the next call
            del result
        assert pool.kept > 0


def test_several_outputs_are_each_in_memory_of_their_own(pool):
    chain = tp.forward_kinematics(tp.load("panda"))
    q = np.random.default_rng(0).uniform(-1, 1, (50, 7))
    first = chain(q)
    second = chain(q + 1)
    again = chain(q)
    for a, b, c in zip(*(x if isinstance(x, tuple) else (x,) for x in (first, second, again)), strict=True):
        assert np.array_equal(a, c) and not np.array_equal(a, b) and not np.may_share_memory(a, c)


def test_large_results_come_from_used_memory_and_small_ones_do_not(monkeypatch):
    memory = RecycledMemory()
    monkeypatch.setattr(cpu, "MEMORY", memory)
    y = tp.regressor(tp.load("panda"))
    states = np.zeros((3, 1000, 7))
    assert 1000 * 490 * 8 > LEAST == batch_results.LEAST
    first = y(*states)
    place = address(first)
    del first
    kept = memory.kept
    small = y(*states[:, :10])
    assert kept > LEAST and memory.kept == kept and small.shape == (10, 7, 70)
    again = y(*states)
    assert address(again) == place and memory.kept == 0
