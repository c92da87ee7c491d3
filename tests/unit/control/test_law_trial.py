"""A run beside its law and plant: s, the truth with its payloads, V, and what is said of them."""

import dataclasses

import numpy as np
import pytest
from support import error

import taupi as tp
from taupi.errors import TaupiError

ARM = tp.load("zollo2r").with_gravity((0, -9.81, 0)).with_friction(viscous=[0.4, 0.2])
MOTION = tp.Sinusoids([-0.8, 0.6], [[0.4, 0.2], [0.3, 0.3]], [[1.3, 3.1], [2.0, 4.3]])
LOAD = tp.Payload(0.7, com=(0.1, 0.05, 0.0))


def trial(law=None, plant=None, duration=2.0, known=0.5, **options):
    law = law or tp.SlotineLi(ARM, K=[60.0, 20.0])
    plant = plant or tp.RigidPlant(ARM)
    run = tp.simulate(plant, law, MOTION, duration=duration, parameters=known * law.parameters.values, **options)
    return tp.laws.Trial(run, law, plant)


def test_s_is_the_combined_error():
    gain = np.array([[5.0, 1.0], [0.0, 4.0]])
    result = trial(tp.SlotineLi(ARM, Lambda=gain, K=[60.0, 20.0]), duration=0.3)
    want = result.run.qd - MOTION(result.run.time).qd + (result.run.q - MOTION(result.run.time).q) @ gain.T
    assert error(result.s, want) < 1e-14
    assert trial(tp.ComputedTorque(ARM), duration=0.1).s is None


def test_the_truth_carries_what_the_arm_carries():
    """The parameters of the loaded plant give, in inverse dynamics, the torque that the simulated arm had."""
    plant = tp.RigidPlant(ARM, ("viscous",), payloads=[(0.5, LOAD), (1.2, None)])
    result = trial(tp.SlotineLi(ARM, K=[60.0, 20.0], terms=("viscous",)), plant)
    assert result.truth.shape == (len(result.run), 22)
    Y = tp.regressor(ARM, terms=("viscous",))(result.run.q, result.run.qd, result.run.qdd)
    assert error(np.einsum("kij,kj->ki", Y, result.truth), result.run.tau) < 1e-10
    assert np.flatnonzero((np.diff(result.truth, axis=0) != 0).any(axis=1)).tolist() == [499, 1199]


def test_v_jumps_with_the_payload_and_falls_between():
    plant = tp.RigidPlant(ARM, payloads=[(1.0, LOAD)])
    result = trial(plant=plant, control="continuous")
    record, law = result.lyapunov, result.law
    assert record.changes == (1000,)
    # V by NumPy, from the mass matrices of the bare and of the loaded arm.
    bare, loaded = (ARM.with_parameters(result.truth[k]) for k in (0, -1))
    H = np.concatenate([tp.mass_matrix(bare)(result.run.q[:1000]), tp.mass_matrix(loaded)(result.run.q[1000:])])
    off = result.run.parameters - result.truth
    V = np.einsum("ki,kij,kj->k", result.s, H, result.s) / 2 + (off**2 / law.Gamma_inv).sum(1) / 2
    assert error(record.V, V) < 1e-10
    assert V[1000] > 1.01 * V[999]
    assert record.largest_rise <= 1e-9 and record.holds and not result.remarks
    assert error(record.rate, record.claimed) < 1e-8
    inner = np.r_[50:999, 1050:2000]  # the quick beginnings are too quick for differences
    assert np.abs(record.numerical - record.rate)[inner].max() < 1e-2 * np.abs(record.rate).max()


def test_a_rise_is_said_with_its_reason():
    cut = trial(plant=tp.RigidPlant(ARM, torque_limits=[3.0, 0.5]))
    assert any(r.startswith("The torque is cut at its limit: ") and "joint" in r for r in cut.remarks)
    assert any("V rises" in r and "the torque is cut at its limit" in r for r in cut.remarks)
    wrong = trial(tp.ComputedTorque(ARM), duration=1.0)
    assert any("the law does not learn, and its parameters are not the plant's" in r for r in wrong.remarks)
    right = trial(tp.ComputedTorque(ARM), duration=0.5, known=1.0)
    assert not any("does not learn" in r for r in right.remarks)


def test_a_law_with_more_memory_has_v_but_no_rates():
    result = trial(tp.laws.CompositeAdaptation(ARM, adapt="base"), duration=0.3)
    assert np.isfinite(result.lyapunov.V).all() and np.isnan(result.lyapunov.rate).all()
    assert result.lyapunov.V[-1] < result.lyapunov.V[0]
    assert trial(tp.laws.CompositeAdaptation(ARM, adapt="base", forgetting=1.0), duration=0.1).lyapunov is None


def test_natural_adaptation_far_from_its_reference_is_told():
    law, plant = tp.laws.NaturalAdaptation(ARM, gamma=0.1), tp.RigidPlant(ARM)
    start = law.real(0.9 * law.parameters.values)
    run = tp.simulate(plant, law, MOTION, duration=0.02, parameters=start, initial=MOTION(0.0).q + 0.2)
    s = run.qd[0] - MOTION(0.0).qd + 5 * (run.q[0] - MOTION(0.0).q)
    kinetic = s @ tp.mass_matrix(ARM)(run.q[0]) @ s / 2
    (remark,) = [r for r in tp.laws.Trial(run, law, plant).remarks if "gamma" in r]
    assert (
        remark.startswith(f"gamma is 0.1 J, far below V_1 = {kinetic:.2g} J") and f"give gamma={kinetic:.2g}." in remark
    )
    near = tp.simulate(plant, law, MOTION, duration=0.02, parameters=start)
    assert not any("gamma" in r for r in tp.laws.Trial(near, law, plant).remarks)


def test_a_task_with_as_many_coordinates_as_joints_is_no_motion_of_the_joints():
    law, plant = tp.laws.OperationalSlotineLi(ARM, task="xy", K=50.0), tp.RigidPlant(ARM)
    q = np.array([0.3, 0.9])
    r = tp.operational.task_coordinates(ARM, task="xy")(q)
    run = tp.simulate(plant, law, lambda t: (r, [0.0, 0.0], [0.0, 0.0]), duration=0.05, initial=q)
    assert not run.tracks and "largest error\n" in repr(run) and repr(run).endswith("-")
    result = tp.laws.Trial(run, law, plant)
    assert result.s is None and result.lyapunov is not None
    assert result.summary()["rms_error_last"] == pytest.approx(
        0.0, abs=1e-9
    )  # of the task, which is where it should be
    with pytest.raises(TaupiError, match="no reference of its joints"):
        _ = run.error
    # It starts at zero, not at r; and there the stretched arm is singular.
    with pytest.warns(tp.TaupiWarning, match="a torque that is not finite at 0 s"):
        tp.simulate(plant, law, lambda t: (r, [0.0, 0.0], [0.0, 0.0]), duration=0.002)


def test_what_is_unknown_is_none():
    run = tp.simulate(tp.RigidPlant(ARM), duration=0.1, initial=[0.1, 0.2])
    bare = tp.laws.Trial(run)
    assert (bare.s, bare.truth, bare.lyapunov, bare.robot, bare.remarks) == (None, None, None, None, ())
    assert bare.name == "none" and "largest_torque" in bare.summary() and "V_first" not in bare.summary()
    with pytest.raises(TaupiError, match="expected a Run"):
        tp.laws.Trial(3)


def test_the_numbers_of_a_summary():
    result = trial(duration=1.0)
    summary = result.summary()
    e = np.linalg.norm(result.run.error, axis=1)
    assert summary["rms_error_first"] == pytest.approx(np.sqrt(np.mean(e[:200] ** 2)))
    assert summary["rms_error_last"] == pytest.approx(np.sqrt(np.mean(e[-200:] ** 2)))
    assert summary["largest_torque"] == np.abs(result.run.tau).max()
    assert (summary["V_first"], summary["V_last"]) == (result.lyapunov.V[0], result.lyapunov.V[-1])
    assert "rms_error_last" in repr(result)


def test_torque_beyond_the_description_is_said_and_cut_torque_is_not(tmp_path):
    text = """<robot name="arm"><link name="base"/><link name="bar"><inertial><origin xyz="0.4 0 0"/><mass value="3"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
    <joint name="lift" type="revolute"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="2" effort="9"/></joint></robot>"""
    (tmp_path / "arm.urdf").write_text(text)
    arm = tp.load(tmp_path / "arm.urdf")
    law, motion = tp.SlotineLi(arm), tp.Sinusoids([0.0], [[0.3]], [[1.0]])

    def remarks(**limits):
        plant = tp.RigidPlant(arm, **limits)
        return tp.laws.Trial(tp.simulate(plant, law, motion, duration=0.5), law, plant)

    free = remarks()
    largest = np.abs(free.run.tau).max()
    assert largest > 9 and free.effort_limits.tolist() == [9.0]
    assert any(f"lift {largest:.4g} of 9 N m" in r for r in free.remarks)
    with pytest.warns(tp.TaupiWarning, match="too much torque"):
        cut = remarks(torque_limits=True)
    assert not any("than the description allows" in r for r in cut.remarks)
    assert any("cut at its limit" in r for r in cut.remarks)


def test_the_mass_of_a_payload_is_that_of_the_true_parameters():
    """Where the estimate is the truth, with base parameters too, the mass is the payload's at all times."""
    plant = tp.RigidPlant(ARM, payloads=[(0.3, LOAD), (0.6, None), (0.8, LOAD)])
    for adapt in (None, "base"):
        result = trial(tp.SlotineLi(ARM, K=[60.0, 20.0], adapt=adapt), plant, duration=1.0)
        perfect = tp.laws.Trial(dataclasses.replace(result.run, parameters=result.truth), result.law, plant)
        true, estimate = perfect.carried
        assert sorted(set(true.tolist())) == [0.0, 0.7]
        assert error(estimate, true) < 1e-12
    assert trial().carried is None and trial(tp.ComputedTorque(ARM), plant, duration=0.1).carried is None


def test_learning_shows_beside_a_held_estimate():
    law, plant = tp.SlotineLi(ARM), tp.RigidPlant(ARM)
    runs = [
        tp.simulate(plant, kind, MOTION, duration=2.0, parameters=0.3 * law.parameters.values)
        for kind in (law, tp.SlotineLi(ARM, Gamma_inv=0.0))
    ]
    summary = tp.laws.Trial(runs[0], law, plant, held=runs[1]).summary()
    last = np.linalg.norm(runs[1].error[-400:], axis=1)
    assert summary["rms_error_held"] == pytest.approx(np.sqrt((last**2).mean()), rel=1e-12)
    assert summary["rms_error_held"] > 5 * summary["rms_error_last"]
