"""Benchmarks that replace parts of the package follow these parts, and those that run in processes of their own do run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
REFUSED = """
import sys
sys.path.insert(0, sys.argv[1])
from stand_ins import in_place_of

class Part:
    def call(self, plan, extra): ...

for good in (lambda it, plan, extra: 0,):
    with in_place_of(Part, "call", good):
        assert Part().call(1, 2) == 0
for stale in (lambda self, plan: 0, lambda self, plan, other: 0, lambda self, plan, *, extra: 0):
    try:
        in_place_of(Part, "call", stale)
    except TypeError as error:
        assert "call" in str(error)
    else:
        raise AssertionError("a stand-in that does not fit was taken")
"""
FLEET = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import fleet, streaming

if __name__ == "__main__":
    folder = Path(sys.argv[2])
    for k in range(3):
        streaming.generate(folder / f"run-{k}.parquet", 8000, k)
    run = fleet._child({"pattern": str(folder / "run-*.parquet"), "workers": 1, "alone": True, "again": 2})
    assert run["pass"] > 0 and run["opened"] > 0 and run["peak"] > 0
"""


@pytest.mark.parametrize("text", [REFUSED, FLEET], ids=["refused", "fleet"])
def test_stand_ins_take_what_they_stand_for_takes(text, tmp_path):
    pytest.importorskip("distributed")
    source = str(BENCHMARKS.parent / "src")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-c", text, str(BENCHMARKS), str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
