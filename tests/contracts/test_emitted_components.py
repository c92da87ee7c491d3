"""One suite over all that runs beside a robot: emitted C compiles strictly, passes its own harness, and steps as Python does."""

import ctypes

import numpy as np
import pytest
from emitted import STRICT, need, pointer, run
from fits import friction_fit, friction_log
from support import error

import taupi as tp
from taupi.identification.online.component import component_files

# C and Python differ by the last bits of sine and cosine.
AGREE = 1e-12


def detector(tracker):
    quiet = friction_log(2)
    return tp.momentum_observer(friction_fit(), tracker=tracker).calibrated(quiet)


COMPONENTS = {
    "observer": lambda: tp.momentum_observer(tp.load("puma560"), terms=("viscous", "coulomb")),
    "observer_tracked": lambda: tp.momentum_observer(friction_fit(), tracker=True),
    "detector": lambda: detector(False),
    "detector_tracked": lambda: detector(True),
    "tracker": lambda: friction_fit().tracker(),
    "estimator": lambda: friction_fit().recursive_estimator(),
}


@pytest.mark.parametrize("name", COMPONENTS)
def test_component(name, tmp_path):
    component = COMPONENTS[name]()
    kind = component.name
    paths = tp.emit_component(component, tmp_path, name="arm")
    sources = [p.name for p in paths if p.suffix == ".c" and not p.name.startswith("test_")]
    assert {f"arm_{kind}.h", f"arm_{kind}.c", "test_arm.c", "README.md"} <= {p.name for p in paths}
    run(need("cc"), *STRICT, "-O2", "test_arm.c", *sources, "-o", "test_arm", "-lm", cwd=tmp_path)
    assert "largest difference" in run("./test_arm", cwd=tmp_path)
    run("cc", *STRICT, "-O2", "-shared", "-fPIC", *sources, "-o", "arm.so", "-lm", cwd=tmp_path)
    library = ctypes.CDLL(str(tmp_path / "arm.so"))
    held, state = np.zeros(component.size), component.init()
    library.arm_init(pointer(held))
    assert error(held, component.start()) == 0
    rng, n = np.random.default_rng(7), component.robot.n
    outputs = [np.zeros(p.size) for p in component.package("arm").outputs]
    for _ in range(30):
        x = [rng.uniform(0.3, 1.3, n) for _ in component.signals]
        first, state = component.step(state, *x, dt=2e-3)
        library.arm_update(pointer(held), *map(pointer, x), ctypes.c_double(2e-3), *map(pointer, outputs))
        wanted = {"detector": 1}.get(kind, 0)
        assert error(outputs[wanted], first) < AGREE
        assert error(held, state.vector) < AGREE
    readme = (tmp_path / "README.md").read_text()
    assert f"cc -std=c99 -O2 test_arm.c arm_{kind}.c" in readme


def test_it_reads_as_c_plus_plus_and_says_its_state(tmp_path):
    texts = component_files(friction_fit().tracker(), "arm")
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert "alloc" not in text.replace("It allocates nothing", "").replace("No allocation", "")
    (tmp_path / "use.cpp").write_text(
        '#include "arm_tracker.h"\n#include "arm_tracker.h"\nint main() { return arm_joints; }\n'
    )
    run(need("g++"), "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "use.cpp", cwd=tmp_path)
    assert "change of elbow.coulomb" in texts["arm_tracker.h"] or "coulomb" in texts["arm_tracker.h"]


def test_the_harness_fails_on_a_wrong_component(tmp_path):
    tp.emit_component(tp.momentum_observer(tp.load("elbow2r")), tmp_path, name="arm")
    source = tmp_path / "arm_observer.c"
    changed = source.read_text().replace(
        "&dt, tau_ext, next, &status);", "&dt, tau_ext, next, &status);\n    tau_ext[0] += 1e-9;"
    )
    assert changed != source.read_text()
    source.write_text(changed)
    run(need("cc"), "-O1", "test_arm.c", "arm_observer.c", "arm.c", "-o", "test_arm", "-lm", cwd=tmp_path)
    with pytest.raises(AssertionError, match="largest difference"):
        run("./test_arm", cwd=tmp_path)


def test_other_languages_and_refusals(tmp_path):
    observer = tp.momentum_observer(tp.load("elbow2r"))
    assert [p.name for p in tp.emit_component(observer, tmp_path / "new", "python")] == ["observer.py"]
    tp.emit_component(observer, tmp_path / "new")
    with pytest.raises(tp.TaupiError, match=r"has observer\.c, .* already"):
        tp.emit_component(observer, tmp_path / "new")
    tp.emit_component(observer, tmp_path / "new", force=True)
    with pytest.raises(tp.TaupiError, match="component is Robot"):
        tp.emit_component(tp.load("elbow2r"), tmp_path)
