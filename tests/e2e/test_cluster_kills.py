"""A cluster of which something is killed at random instants: the driver, a worker, or the scheduler. The fit stays the same."""

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import time
import warnings
from collections import Counter

import pytest
from command_line import taupi
from runs_of_arms import write_runs

import taupi as tp

distributed = pytest.importorskip(
    "dask.distributed",
    reason="the extra `cluster` is not installed: pip install 'taupi[cluster]'",
    exc_type=ImportError,
)
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, so that many can be killed"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]
LOGS, WORKERS = 6, 2
COMMAND = ["identify", "elbow2r", *(f"run-{k:02d}.csv" for k in range(LOGS)), "--estimator", "wls", "--cutoff", "8"]
COMMAND += ["--terms", "viscous,coulomb,offset", "-o", "out", "--force"]
ON_CLUSTER = ["--scheduler-file", "scheduler.json", "--resume", "pieces"]


def forked(job, *arguments):
    """Do a job in a process of its own; return its id."""
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1), os.dup2(nowhere, 2)
        warnings.simplefilter("ignore")
        try:
            code = job(*arguments)
        except BaseException:
            code = 99
        os._exit(code or 0)
    return child


def schedule(file):
    async def serve():
        async with distributed.Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
            file.with_suffix(".new").write_text(json.dumps(scheduler.identity()))
            file.with_suffix(".new").rename(file)
            await scheduler.finished()

    asyncio.run(serve())


def work(address):
    async def serve():
        async with distributed.Worker(address, nthreads=1, dashboard=False, death_timeout=5) as worker:
            await worker.finished()

    asyncio.run(serve())


class Cluster:
    """A scheduler and its workers, each a process that can be killed and is then replaced."""

    def __init__(self, folder):
        self.file, self.scheduler, self.workers = folder / "scheduler.json", None, []

    def mend(self):
        self.workers = [process for process in self.workers if os.waitpid(process, os.WNOHANG)[0] == 0]
        if self.scheduler is None:
            for process in list(self.workers):
                self.kill(process)
            self.file.unlink(missing_ok=True)
            self.scheduler = forked(schedule, self.file)
            for _ in range(600):
                if self.file.exists():
                    break
                time.sleep(0.1)
        address = json.loads(self.file.read_text())["address"]
        self.workers += [forked(work, address) for _ in range(WORKERS - len(self.workers))]

    def kill(self, process):
        """Kill one of its processes, and wait until it is dead."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        self.workers = [worker for worker in self.workers if worker != process]
        self.scheduler = None if process == self.scheduler else self.scheduler


def run(folder):
    done = taupi(*COMMAND, *ON_CLUSTER, cwd=folder)
    (folder / "said.txt").write_text(done.stderr)
    return done.returncode


def numbers(folder):
    """What the fit in a folder says, bit by bit."""
    fit = tp.load_fit(folder / "out/fit.json")
    return fit.values.tobytes(), fit.covariance.tobytes()


def kill_often(folder, victim, times, seed):
    """Kill it so often while a fit runs; return how often that fit was finished all the same, given up or cut off."""
    rng, cluster, seen = random.Random(seed), Cluster(folder), Counter()
    write_runs(folder, LOGS, ".csv")
    assert taupi(*COMMAND, cwd=folder).returncode == 0
    expected, files = numbers(folder), {path.name for path in (folder / "out").iterdir()}
    try:
        cluster.mend()
        start = time.monotonic()
        assert os.waitpid(forked(run, folder), 0)[1] == 0
        seconds = time.monotonic() - start
        for _ in range(times):
            cluster.mend()
            shutil.rmtree(folder / "pieces", ignore_errors=True)
            shutil.rmtree(folder / "out")
            driver = forked(run, folder)
            time.sleep(rng.uniform(0, seconds))
            if victim == "driver":
                os.kill(driver, signal.SIGKILL)
            else:
                cluster.kill(cluster.scheduler if victim == "scheduler" else rng.choice(cluster.workers))
            code = os.waitstatus_to_exitcode(os.waitpid(driver, 0)[1])
            assert code in ((0, -signal.SIGKILL) if victim == "driver" else (0, 3)), (folder / "said.txt").read_text()
            seen[{0: "finished", 3: "given up"}.get(code, "cut off")] += 1
            if (folder / "out").exists():
                assert numbers(folder) == expected and {p.name for p in (folder / "out").iterdir()} == files
            else:
                assert code != 0
            cluster.mend()
            assert os.waitpid(forked(run, folder), 0)[1] == 0, (folder / "said.txt").read_text()
            assert numbers(folder) == expected
            left = [path.name for path in folder.rglob(".*.part")]
            assert not left, "something is left behind by the next run"
    finally:
        for process in (*cluster.workers, cluster.scheduler):
            cluster.kill(process)
    return seen


@pytest.mark.long
@pytest.mark.parametrize("victim", ["driver", "worker", "scheduler"])
def test_killed_twenty_times(tmp_path, victim):
    """`make kills` shows what was seen."""
    seen = kill_often(tmp_path, victim, int(os.environ.get("KILLS", "20")), int(os.environ.get("KILL_SEED", "2")))
    print(f"{victim}: {dict(seen)}")
    assert seen["finished"] or victim == "scheduler"
