"""Runs: files that read back exactly, logs, text, pictures."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused
from support import error

import taupi as tp

ARM = tp.load("elbow2r").with_friction(viscous=[0.5, 0.2])
MOTION = tp.Sinusoids([0.3, -0.4], [[0.5], [0.4]], [[1.3], [2.0]])


def law():
    """PD with an estimate of nothing in particular, and a channel."""

    def body(q, qd, q_des, qd_des, pi_hat):
        return -20 * (q - q_des) - 5 * (qd - qd_des), pi_hat[::-1], (q - q_des) @ qd.T

    ports = [tp.program.Port(k, (2,)) for k in ("q", "qd", "q_des", "qd_des")]
    outputs = [tp.program.Port("tau", (2,)), tp.program.Port("dpi", (3,)), tp.program.Port("outer", (2, 2))]
    return tp.program.trace("pd", body, [*ports, tp.program.Port("pi_hat", (3,))], outputs)


@pytest.fixture(scope="module")
def run():
    sensors = tp.Sensors(resolution=1e-3, velocity="difference")
    return tp.simulate(
        tp.RigidPlant(ARM, "viscous"), law(), MOTION, duration=0.5, sensors=sensors, parameters=[1.0, 2.0, 3.0], seed=3
    )


def test_a_saved_run_reads_back_exactly(run, tmp_path):
    path = tmp_path / "run.parquet"
    run.save(path)
    again = tp.Run.load(path)
    for name in ("time", "q", "qd", "qdd", "tau", "tau_command", "parameters", "energy", "work", "heat", "residual"):
        assert np.array_equal(getattr(run, name), getattr(again, name))
    for name in ("reference", "measured"):
        for a, b in zip(getattr(run, name), getattr(again, name), strict=True):
            assert (a is None and b is None) or np.array_equal(a, b)
    assert np.array_equal(run.channels["outer"], again.channels["outer"]) and again.channels["outer"].shape[1:] == (
        2,
        2,
    )
    assert again.provenance == run.provenance and again.names == run.names and again.complete
    assert again.provenance["seed"] == 3 and again.provenance["fingerprint"] == ARM.fingerprint
    log = tp.read_log(path)  # the same file is a log
    assert np.array_equal(log.q, run.q) and np.array_equal(log.tau, run.tau) and log.names == ARM.joint_names
    with pytest.raises(tp.TaupiError, match="exists already"):
        run.save(path)
    run.save(path, force=True)


def test_a_log_of_a_run_obeys_the_dynamics(run):
    log = run.to_log()
    tau = tp.inverse_dynamics(ARM, terms="viscous")(log.q, log.qd, log.qdd)
    assert error(log.tau, tau) < 1e-11
    seen = run.to_log(measured=True)
    assert np.array_equal(seen.q, run.measured.q) and seen.qdd is None
    with refused("sensors"):
        tp.simulate(tp.RigidPlant(ARM), duration=0.01).to_log(measured=True)


def test_a_run_is_frozen_and_says_what_it_is(run):
    with pytest.raises(ValueError, match="read-only"):
        run.q[0] = 1.0
    assert repr(run).startswith("Run of elbow2r under pd: 501 samples, 0.5 s; energy audit within")
    worst = [line.split()[-1] for line in repr(run).splitlines()[-2:]]
    assert [float(v) for v in worst] == [float(f"{v:.3g}") for v in abs(run.error).max(axis=0)]
    assert run.error.shape == (501, 2) and len(run) == 501 and run.n == 2
    with pytest.raises(tp.TaupiError, match="no reference"):
        _ = tp.simulate(tp.RigidPlant(ARM), duration=0.01).error


def test_bad_files_are_named(run, tmp_path):
    with pytest.raises(tp.TaupiError, match=r"ending in \.parquet"):
        run.save(tmp_path / "run.csv")
    tp.write_log(run.to_log(), tmp_path / "log.parquet")
    with pytest.raises(tp.TaupiError, match="not a saved run"):
        tp.Run.load(tmp_path / "log.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(tp.TaupiError, match="not a Parquet file"):
        tp.Run.load(tmp_path / "bad.parquet")
    with pytest.raises(tp.TaupiError):
        tp.Run.load(tmp_path / "missing.parquet")


def test_texts_that_unpack_to_gigabytes_are_not_unpacked(run, tmp_path):
    """A run has none; 283 bytes of them took 1.5 GiB."""
    run.save(tmp_path / "run.parquet")
    metadata = pq.read_schema(tmp_path / "run.parquet").metadata
    texts = pa.table({"x": pa.array(["x" * 10_000] * 10).dictionary_encode()})
    pq.write_table(texts.replace_schema_metadata(metadata), tmp_path / "texts.parquet")
    with pytest.raises(tp.TaupiError, match=r"texts\.parquet is not a saved run"):
        tp.Run.load(tmp_path / "texts.parquet")


@pytest.mark.parametrize("place, value", [(3, np.nan), (0, -np.inf), (-1, 1e308), (3, 0.0)])
def test_times_of_a_saved_run_rise_and_are_finite(run, tmp_path, place, value):
    run.save(tmp_path / "run.parquet")
    columns = pq.read_table(tmp_path / "run.parquet")
    time = columns.column("time").to_numpy().copy()
    time[place] = value
    time[0] = -1e308 if value == 1e308 else time[0]
    at = columns.column_names.index("time")
    pq.write_table(columns.set_column(at, columns.schema.field(at), pa.array(time)), tmp_path / "changed.parquet")
    with pytest.raises(tp.TaupiError):
        tp.Run.load(tmp_path / "changed.parquet")


def test_the_picture_shows_the_run(run, tmp_path):
    figure = tp.plot(run, path=tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert len(figure.axes) == 5
    positions = [line.get_ydata() for line in figure.axes[0].lines]
    assert np.array_equal(positions[0], run.q[:, 0]) and np.array_equal(positions[2], run.reference.q[:, 0])
    assert np.array_equal(figure.axes[1].lines[1].get_ydata(), run.error[:, 1])
    assert "audit within" in figure.axes[-1].get_title(loc="right")
    bare = tp.simulate(tp.RigidPlant(ARM), duration=0.01)
    assert len(tp.plot(bare).axes) == 3
