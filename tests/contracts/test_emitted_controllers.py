"""One suite over every law: the emitted C controller compiles strictly, passes its own harness, and steps as Python does."""

import ctypes
import dataclasses

import numpy as np
import pytest
from emitted import STRICT, need, pointer, run
from refusals import refused
from support import error

import taupi as tp
from taupi.control.emitted_controller import controller_files

# The acceptance: the C step agrees with Python's.
AGREE = 1e-12
ARM = tp.load("elbow2r")
LAWS = {
    "slotine_li": lambda: tp.SlotineLi(ARM, terms=("viscous", "coulomb")),
    "niemeyer_slotine": lambda: tp.NiemeyerSlotine(tp.load("puma560")),
    "walker": lambda: tp.Walker(ARM, modifications=(tp.laws.Projection({"*.m": 0.1}), tp.laws.DeadZone(0.01))),
    "composite": lambda: tp.laws.CompositeAdaptation(ARM, adapt="base", forgetting=1.0),
    "natural": lambda: tp.laws.NaturalAdaptation(ARM),
    "operational": lambda: tp.laws.OperationalSlotineLi(
        tp.load("planar3r").bind(l1=1, l2=1, l3=1), task="planar", K=1.0
    ),
    "pd_gravity": lambda: tp.PDGravity(ARM),
    "elastic_pd_gravity": lambda: tp.laws.ElasticPDGravity(tp.load("zollo2r")),
    "computed_torque": lambda: tp.ComputedTorque(ARM, terms=("viscous",)),
}


@pytest.mark.parametrize("name", LAWS)
def test_controller(name, tmp_path):
    law = LAWS[name]()
    paths = tp.emit_controller(law, tmp_path, name="ctl")
    names = ["ctl.c", "ctl.h", "ctl_controller.h", "ctl_controller.c", "test_ctl.c", "README.md"]
    assert [p.name for p in paths] == names
    files = ["ctl_controller.c", "ctl.c"]
    run(need("cc"), *STRICT, "-O2", "test_ctl.c", *files, "-o", "test_ctl", "-lm", cwd=tmp_path)
    assert "largest difference" in run("./test_ctl", cwd=tmp_path)
    run("cc", *STRICT, "-O2", "-shared", "-fPIC", *files, "-o", "ctl.so", "-lm", cwd=tmp_path)
    update = ctypes.CDLL(str(tmp_path / "ctl.so")).ctl_update
    rng = np.random.default_rng(7)
    wanted = law.ports()[:5]
    state = law.init(law.real(None) if name == "natural" else law.parameters.values * 1.05)
    held, tau = np.array(state.vector), np.zeros(law.robot.n)
    for _ in range(30):
        x = [rng.uniform(0.5, 1.3, port.shape) for port in wanted]  # bent joints: a task has no singularity there
        expected, state = law.step(state, *x, dt=2e-5)
        update(pointer(held), *map(pointer, x), ctypes.c_double(2e-5), pointer(tau))
        assert error(tau, expected) < AGREE
        assert error(held, state.vector) < AGREE


@pytest.mark.parametrize("name", LAWS)
def test_gains_that_are_arguments_do_what_the_same_constants_do(name):
    """Over all laws and the gains that each says can be inputs, one at a time and all together."""
    law, rng = LAWS[name](), np.random.default_rng(3)
    x = [rng.uniform(0.5, 1.0, port.shape) for port in law.ports()[:5]]
    vector = law.first_state().vector
    assert law.adjustable()
    for chosen in (*((gain,) for gain in law.adjustable()), law.adjustable()):
        values = [1.3 * np.asarray(getattr(law, gain)) for gain in chosen]
        other = dataclasses.replace(law, **{g: v if v.ndim else float(v) for g, v in zip(chosen, values, strict=True)})
        got = law.step_program(chosen)(*x, *values, vector, 1e-3)
        wanted, own = other.step_program()(*x, vector, 1e-3), law.step_program()(*x, vector, 1e-3)
        assert all(error(a, b) < AGREE for a, b in zip(got, wanted, strict=True))
        assert not all(np.array_equal(a, b) for a, b in zip(got, own, strict=True))


def test_a_controller_with_gains_as_arguments(tmp_path):
    law = tp.SlotineLi(ARM, K=[[20.0, 1.0], [1.0, 10.0]])
    tp.emit_controller(law, tmp_path, name="arm", arguments=["K", "Lambda"])
    header = (tmp_path / "arm_controller.h").read_text()
    assert "const double *qdd_des, const double *K, const double *Lambda, double dt" in header
    assert "Lambda < 0" in header and "K < 0" not in header.replace("Lambda < 0", "")
    run(need("cc"), *STRICT, "-O1", "test_arm.c", "arm_controller.c", "arm.c", "-o", "test_arm", "-lm", cwd=tmp_path)
    assert "largest difference" in run("./test_arm", cwd=tmp_path)
    with pytest.raises(tp.TaupiError, match="No gain that can be an argument 'Kp'"):
        tp.emit_controller(law, tmp_path / "x", arguments=["Kp"])
    with refused("arguments", name="K"):
        tp.emit_controller(law, tmp_path / "x", arguments=["K", "K"])


def test_controller_allocates_nothing_and_reads_as_c_plus_plus(tmp_path):
    texts = controller_files(tp.NiemeyerSlotine(ARM), "arm")
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert "alloc" not in text.replace("It allocates nothing", "").replace("No allocation", "")
    (tmp_path / "use.cpp").write_text(
        '#include "arm_controller.h"\n#include "arm_controller.h"\nint main() { return arm_joints; }\n'
    )
    run(need("g++"), "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "use.cpp", cwd=tmp_path)
    assert "forearm.Izz, kg m^2" in texts["arm_controller.h"]


def test_harness_fails_on_a_wrong_controller(tmp_path):
    tp.emit_controller(tp.SlotineLi(ARM), tmp_path, name="arm")
    source = tmp_path / "arm_controller.c"
    source.write_text(
        source.read_text().replace("&dt, tau, next, &status);", "&dt, tau, next, &status);\n    tau[0] *= 1.0 + 1e-9;")
    )
    run(need("cc"), "-O1", "test_arm.c", "arm_controller.c", "arm.c", "-o", "test_arm", "-lm", cwd=tmp_path)
    with pytest.raises(AssertionError, match="largest difference"):
        run("./test_arm", cwd=tmp_path)


def test_other_languages_and_refusals(tmp_path):
    law = tp.PDGravity(ARM)
    assert [p.name for p in tp.emit_controller(law, tmp_path, "python")] == ["pd_gravity.py"]
    tp.emit_controller(law, tmp_path, name="arm")
    with pytest.raises(tp.TaupiError, match=r"has arm\.c, arm\.h, .* already"):
        tp.emit_controller(law, tmp_path, name="arm")
    tp.emit_controller(law, tmp_path, name="arm", force=True)
    with refused("language", name="basic"):
        tp.emit_controller(law, tmp_path, "basic")
    with pytest.raises(tp.TaupiError, match="expected an identifier"):
        tp.emit_controller(law, tmp_path / "x", name="for")
    with refused("law", got="Robot"):
        tp.emit_controller(ARM, tmp_path)
