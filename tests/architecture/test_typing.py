"""What type checkers, and with them editors, know of verbs that take settings: every keyword, and nothing else."""

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import taupi
from taupi.settings import Changes

PACKAGE = Path(taupi.__file__).parent
# Other modules are left out: what they define is then of any type, and mypy is done in seconds.
SEEN = ("__init__.py", "signatures.pyi", "signals/__init__.py", "identification/results/fit.py")
RIGHT = """\
import numpy as np
import taupi as tp
from taupi.identification.results.fit import Fit

fit: Fit = tp.identify(tp.load("elbow2r"), "run.csv", "wls", cutoff_hz=10, slow=[0.1, 0.2], block=1000, seed=1)
fit = tp.identify(tp.load("elbow2r"), ["run.csv"], preparation=tp.Preparation(cutoff_hz=10), threshold=np.zeros(2))
fit.validate("run.csv", cutoff_hz=5.0, rate_hz=100)
tp.validate(fit, "run.csv", reading=tp.Reading(rate_hz=100))
tp.prepare(tp.read_log("run.csv", None, {"time": "t"}), 10.0, period=2.0)
tp.simulate(tp.RigidPlant(tp.load("elbow2r")), None, None, 3.0, 500, seed=1)
tp.excite(tp.load("elbow2r"), duration=5, limits={"lower": -1.0}, ignore=[("a", "b")], only="link*")
tp.signals.log_blocks("run.csv", 100, rate_hz=100)
"""
WRONG = {
    'tp.identify(robot, "run.csv", cutof_hz=10)': 'Unexpected keyword argument "cutof_hz" for "identify"',
    'tp.identify(robot, "run.csv", cutoff_hz="ten")': 'Argument "cutoff_hz" to "identify" has incompatible type "str"',
    "tp.prepare(log, cuttoff_hz=10)": 'Unexpected keyword argument "cuttoff_hz" for "prepare"',
    "tp.simulate(plant, duratoin=3.0)": 'Unexpected keyword argument "duratoin" for "simulate"',
    'tp.read_log("run.csv", rate=100)': 'Unexpected keyword argument "rate" for "read_log"',
    "tp.excite(robot, start=4, startz=4)": 'Unexpected keyword argument "startz" for "excite"',
    'tp.signals.log_blocks("run.csv", blocks=1)': 'Unexpected keyword argument "blocks" for "log_blocks"',
    'fit.validate("run.csv", slow=0.1)': 'Unexpected keyword argument "slow"',
    "fit.validate()": "Too few arguments",
}


def test_the_stub_is_up_to_date():
    path = Path(__file__).parents[2] / "tools" / "verb_signatures.py"
    spec = importlib.util.spec_from_file_location("verb_signatures", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    stub = tool.stub()
    assert tool.STUB.read_text(encoding="utf-8") == stub, "run python tools/write_public_names.py"
    # Every public function that takes settings is there, with every field of these.
    for name, verb in tool.verbs().items():
        text = stub.partition(f"\ndef {name}(\n")[2].partition("\n) ->")[0]
        assert re.findall(r"^    (\w+): ", text, re.MULTILINE) == list(inspect.signature(verb).parameters)
        for subject in verb.__subjects__.values():
            kind, without = (subject.kind, subject.without) if isinstance(subject, Changes) else (subject, ())
            assert {*kind.names()} - {*without} <= set(re.findall(r"^    (\w+): ", text, re.MULTILINE))
    assert {"identify", "prepare", "simulate", "excite", "read_log", "validate"} <= tool.verbs().keys()


def test_a_misspelt_keyword_is_an_error_of_mypy(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    beginning = (
        "from typing import Any\nimport taupi as tp\nfrom taupi.identification.results.fit import Fit\n"
        "robot: Any\nlog: Any\nplant: Any\nfit: Fit\n"
    )
    (tmp_path / "wrong.py").write_text(beginning + "\n".join(WRONG) + "\n")
    files = [*(str(PACKAGE / name) for name in SEEN), "right.py", "wrong.py"]
    options = ["--config-file", "", "--follow-imports", "skip", "--ignore-missing-imports", "--cache-dir", "cache"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if re.match(r"(right|wrong)\.py:\d+: error", line)]
    first = beginning.count("\n") + 1
    assert [line.split(":")[:2] for line in lines] == [["wrong.py", str(first + k)] for k in range(len(WRONG))], (
        done.stdout
    )
    for line, message in zip(lines, WRONG.values(), strict=True):
        assert message in line
