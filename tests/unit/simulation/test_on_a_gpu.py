"""Roll-outs in one CUDA kernel: its text, compiled for the CPU, gives the numbers of the compiled roll-outs."""

import importlib.util

import numpy as np
import pytest
from cuda_on_cpu import CountingDevice, HostDevice, compiled_by_nvrtc, nvrtc

import taupi as tp
from taupi.program.program import Port, trace
from taupi.simulation import simulate as simulate_module
from taupi.simulation.rollouts import device_rollout

# Rounding differs (fused multiplications, another sine), and a loop over a second repeats it a thousand times.
SAME = 1e-12
ARM = tp.load("elbow2r")
PUMA = tp.load("puma560")
MOTION = tp.Sinusoids([0.2, -0.3], [[0.5], [0.4]], [[2.0], [3.0]])
STARTS = np.array([[0.1, 0.2], [0.3, -0.2], [0.0, 0.4]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(params=["text on the CPU", "a GPU"])
def gpu(request, folder, monkeypatch):
    if request.param == "a GPU" and not importlib.util.find_spec("cupy"):
        pytest.skip("no GPU here")
    device = HostDevice(folder) if request.param == "text on the CPU" else CountingDevice()
    monkeypatch.setattr(simulate_module, "_gpu", lambda: device)
    return device


def compare(*args, **kwargs):
    """Run on both devices, hold every field of every run together, and return the runs of the GPU."""
    there, here = tp.simulate_many(*args, device="cuda", **kwargs), tp.simulate_many(*args, **kwargs)
    for ours, theirs in zip(there, here, strict=True):
        assert ours.complete == theirs.complete and ours.notes == theirs.notes
        for name in (
            "q",
            "qd",
            "qdd",
            "tau",
            "tau_command",
            "parameters",
            "energy",
            "work",
            "heat",
            "residual",
            "theta",
        ):
            a, b = getattr(ours, name), getattr(theirs, name)
            assert (a is None) == (b is None)
            if a is not None:
                assert a.shape == b.shape and np.abs(a - b).max() <= SAME * max(1.0, np.abs(b).max()), name
        if ours.measured is not None:
            assert np.abs(ours.measured.q - theirs.measured.q).max() < SAME
    return there


def test_an_adaptive_law_on_a_puma_for_a_second(gpu):
    reference = tp.Sinusoids(np.zeros(6), np.full((6, 1), 0.5), np.array([[1.0], [1.3], [1.7], [2.1], [2.3], [2.9]]))
    law = tp.SlotineLi(PUMA)
    guesses = law.parameters.values * np.array([[0.9], [1.1]])
    links = PUMA.parameters.values * np.array([[1.05], [0.95]])
    batch = compare(tp.RigidPlant(PUMA), law, reference, duration=1.0, parameters=guesses, links=links, every=7)
    assert batch.q.shape == (2, 143, 6) and gpu.launches == 1
    assert not np.allclose(batch[0].q, batch[1].q)


def test_gains_payloads_and_seeds_of_each_roll_out(gpu):
    law = tp.ComputedTorque(ARM)
    sensors = tp.Sensors(resolution=1e-4, q_noise=2e-3, velocity="filter", cutoff_hz=60.0, delay=0.002)
    loads = [None, tp.Payload(0.5), [(0.1, tp.Payload(1.0)), (0.2, None)]]
    plant = tp.RigidPlant(ARM, terms="viscous", torque_limits=[40.0, 20.0], rate_limits=500.0, delay=0.001)
    batch = compare(
        plant, law, MOTION, duration=0.3, sensors=sensors, initial=STARTS, payloads=loads, seeds=[7, 2**70 + 1, 0]
    )
    assert gpu.launches == 3  # a load changes twice
    assert len({float(r.measured.q[50, 0]) for r in batch}) == 3
    gain = tp.gravity_torque(ARM)
    swing = trace(
        "swing",
        lambda t, q, qd, kp: (gain(q) - kp * q - qd + 0.1 * t, kp * q),
        [Port("t"), Port("q", (2,)), Port("qd", (2,)), Port("kp", (2,))],
        [Port("tau", (2,)), Port("spring force", (2,))],
    )
    batch = compare(tp.RigidPlant(ARM), swing, duration=0.1, initial=STARTS, inputs={"kp": STARTS + 5.0})
    assert "spring force" in batch[0].channels


@pytest.mark.parametrize(
    ("options", "plant"),
    [
        ({"substeps": 3}, tp.RigidPlant(ARM, wrench=[0, 0, 0, 1.0, 0, 0.5], disturbance=lambda t: [np.sin(t), 0.1])),
        ({"control": "continuous"}, tp.RigidPlant(ARM, disturbance=lambda t: [np.sin(t), 0.1])),
        ({"control": "continuous", "substeps": 2, "integrator": "midpoint"}, tp.RigidPlant(ARM, terms="viscous")),
        ({"integrator": "semi_implicit", "rate": 700.0}, tp.RigidPlant(ARM)),
    ],
    ids=["substeps", "continuous", "continuous substeps", "semi-implicit"],
)
def test_every_way_to_integrate(gpu, options, plant):
    compare(plant, tp.SlotineLi(ARM), MOTION, duration=0.1, initial=STARTS, every=5, **options)


def test_elastic_joints(gpu):
    arm = ARM.with_transmissions(stiffness=200.0, rotor_inertia=0.01)
    law = tp.laws.ElasticPDGravity(arm)
    compare(tp.ElasticPlant(arm), law, MOTION, duration=0.05, initial=STARTS, substeps=4)


def test_a_batch_that_does_not_fit_is_run_in_parts(folder, monkeypatch):
    small = HostDevice(folder, memory=20_000)
    monkeypatch.setattr(simulate_module, "_gpu", lambda: small)
    links = ARM.parameters.values * np.array([[0.9], [1.0], [1.1]])
    sensors = tp.Sensors(q_noise=1e-3)
    compare(
        tp.RigidPlant(ARM), tp.ComputedTorque(ARM), MOTION, duration=0.1, initial=STARTS, links=links, sensors=sensors
    )
    assert small.launches > 1
    monkeypatch.setattr(device_rollout, "_PERIODS", 17)
    compare(tp.RigidPlant(ARM), tp.ComputedTorque(ARM), MOTION, duration=0.1, initial=STARTS, sensors=sensors, every=3)


def test_the_summary_is_that_of_the_records_on_both_devices(gpu):
    law, links = tp.SlotineLi(ARM), ARM.parameters.values * np.array([[0.9], [1.0], [1.3]])
    options = {"duration": 0.4, "initial": STARTS, "links": links, "sensors": tp.Sensors(q_noise=1e-4)}
    args = (tp.RigidPlant(ARM), law, MOTION)
    batch = tp.simulate_many(*args, **options)
    wanted = np.stack([r.reference.q for r in batch])
    error, tau = np.abs(batch.q - wanted), np.abs(batch.tau)
    for device in ("cpu", "cuda"):
        summary = tp.ensembles.simulate_summary(*args, late=0.5, device=device, **options)
        expected = {
            "q": batch.q[:, -1],
            "qd": batch.qd[:, -1],
            "parameters": batch.parameters[:, -1],
            "peak_error": error.max(axis=1),
            "rms_error": np.sqrt((error**2).mean(axis=1)),
            "late_error": np.sqrt((error[:, 200:] ** 2).mean(axis=1)),
            "peak_torque": tau.max(axis=1),
            "rms_torque": np.sqrt((tau**2).mean(axis=1)),
        }
        for name, want in expected.items():
            assert np.abs(getattr(summary, name) - want).max() < SAME * max(1.0, np.abs(want).max()), name
        assert summary.complete.all() and np.allclose(summary.end, 0.4) and summary.late == 0.2
        assert summary.converged(1.0).all() and not summary.converged(1e-9).any()
    assert "3 roll-outs" in repr(summary) and "0 diverged" in repr(summary)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_roll_out_that_diverges_ends_alone(gpu, device):
    push = trace("push", lambda q, qd, k: k * qd, [Port("q", (2,)), Port("qd", (2,)), Port("k")], [Port("tau", (2,))])
    options = {"duration": 0.5, "rate": 200, "initial": (STARTS, np.ones((3, 2))), "inputs": {"k": [0.0, 1e9, -1.0]}}
    with np.errstate(all="ignore"):
        summary = tp.ensembles.simulate_summary(tp.RigidPlant(ARM), push, device=device, **options)
    with pytest.warns(tp.TaupiWarning, match="diverged"):
        batch = tp.simulate_many(tp.RigidPlant(ARM), push, device=device, **options)
    assert summary.complete.tolist() == batch.complete.tolist() == [True, False, True]
    assert summary.end[1] < 0.5 and np.isfinite(summary.rms_torque).all() and np.isfinite(summary.q[[0, 2]]).all()
    assert summary.late_error is None and "1 diverged" in repr(summary)
    with pytest.raises(tp.TaupiError, match="no reference"):
        summary.converged(0.1)


def test_what_a_gpu_cannot_do_is_refused(gpu):
    plant = tp.RigidPlant(ARM)
    for options, message in (
        ({"controller": lambda t, q, qd: 0 * q}, r"runs laws and Programs; a Python function .* Use device='cpu'"),
        ({"integrator": "rk45"}, "integrator='rk45' chooses its own steps"),
        ({"device": "tpu"}, "device is 'tpu', expected one of"),
        ({"links": np.ones((2, 7))}, r"links has shape \(2, 7\), expected \(B, 20\)"),
        ({"links": np.full(20, np.nan)}, "links has entries that are not finite"),
        ({"links": np.ones((2, 20)), "seeds": [1, 2, 3]}, "has 3 roll-outs"),
        ({"links": "heavy"}, "links is 'heavy'"),
    ):
        with pytest.raises(tp.TaupiError, match=message):
            tp.simulate_many(plant, **({"device": "cuda", "duration": 0.01} | options))
    for options, message in (
        ({"late": 1.0}, r"late is 1\.0, expected a share of the duration"),
        ({"integrator": "rk45"}, "made of roll-outs in fixed steps"),
        ({"controller": [tp.ComputedTorque(ARM)] * 2, "reference": MOTION}, "is a list of 2, expected one law"),
    ):
        with pytest.raises(tp.TaupiError, match=message):
            tp.ensembles.simulate_summary(plant, **({"duration": 0.01} | options))


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_without_a_gpu_the_sentence_says_what_to_do():
    with pytest.raises(tp.TaupiError, match=r"needs CuPy: pip install taupi\[gpu\]. Use device='cpu'"):
        tp.simulate_many(tp.RigidPlant(ARM), duration=0.01, device="cuda")


def test_nvrtc_compiles_the_kernels(gpu):
    library = nvrtc()
    if library is None:
        pytest.skip("no NVRTC here: pip install nvidia-cuda-nvrtc-cu12")
    sensors, plant = tp.Sensors(q_noise=1e-3), tp.RigidPlant(ARM, torque_limits=50.0)
    args = (plant, tp.SlotineLi(ARM), MOTION)
    tp.simulate_many(*args, duration=0.01, sensors=sensors, initial=STARTS, substeps=2, device="cuda")
    tp.ensembles.simulate_summary(*args, duration=0.01, sensors=sensors, initial=STARTS, device="cuda")
    for source in gpu.sources:
        assert compiled_by_nvrtc(library, source) is None
    assert "identifier" in compiled_by_nvrtc(library, gpu.sources[0].replace("const double t", "const double_ t"))
