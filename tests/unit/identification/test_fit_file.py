"""Fits in files: they read back as they were, and what is no fit is one sentence."""

import hashlib
import json

import numpy as np
import pytest
from fits import TERMS, friction_fit, friction_log
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError
from taupi.identification.results.fit_file import SCHEMA, fit_json

STRICT = {"parse_constant": lambda word: pytest.fail(f"{word} is no JSON")}


def changed(tmp_path, change):
    """A file with the fit, after a change of its data."""
    data = json.loads(fit_json(friction_fit()))
    change(data)
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(data))
    return path


def test_it_reads_back_to_the_last_bit(tmp_path):
    fit = friction_fit()
    tp.write_fit(fit, tmp_path / "fit.json")
    back = tp.load_fit(tmp_path / "fit.json")
    log = friction_log(2)
    assert np.array_equal(back.predict(log), fit.predict(log))
    assert back.validate(log).to_dict() == fit.validate(log).to_dict()
    for name in ("values", "covariance", "undetermined", "prior", "stderr"):
        assert np.array_equal(getattr(back, name), getattr(fit, name)), name
    for name in ("names", "terms", "estimator", "status", "joints", "notes", "summary"):
        assert getattr(back, name) == getattr(fit, name), name
    assert json.loads(fit_json(back)) == json.loads(fit_json(fit))
    assert np.array_equal(tp.load_fit(tmp_path).values, fit.values)  # the directory will do


def test_words_of_before_are_read(tmp_path):
    """Until 0.1 the provenance had its logs under "runs", and called the speeds below which rows were left out "slow"."""
    fit = friction_fit()

    def older(data):
        logs = data["provenance"].pop("logs")
        data["provenance"]["runs"] = [{**log, "slow": [0.1, 0.2]} for log in logs]
        for log in data["provenance"]["runs"]:
            del log["least_speeds"]

    back = tp.load_fit(changed(tmp_path, older))
    assert [log.name for log in back.logs] == [log.name for log in fit.logs] != []
    assert back.logs[0].least_speeds == (0.1, 0.2) and back.logs[0].notes == fit.logs[0].notes
    assert back.provenance.keys() == fit.provenance.keys()


@pytest.mark.parametrize("name", ["planar3r", "zollo2r"])
def test_the_description_travels_with_it(tmp_path, name, recwarn):
    """Robots that are no real bodies too; there is nothing new to warn about."""
    robot = tp.load(name)
    recwarn.clear()
    rng = np.random.default_rng(0)
    t = np.arange(600) / 100
    q = np.sin(np.outer(t, rng.uniform(1, 3, robot.n)) + rng.uniform(0, 6, robot.n))
    log = tp.Log(t, q, tau=rng.normal(size=q.shape), names=robot.joint_names)
    fit = tp.identify(robot, log, terms=(tp.terms.Stribeck(velocity=0.25), "offset"), cutoff_hz=8, elastic=False)
    recwarn.clear()
    tp.write_fit(fit, tmp_path / "fit.json")
    back = tp.load_fit(tmp_path / "fit.json")
    assert not recwarn.list
    assert back.robot.fingerprint == robot.fingerprint and back.terms == fit.terms
    assert np.array_equal(back.predict(log), fit.predict(log))


def test_friction_of_coupled_motors_travels_too(tmp_path):
    """Terms along a direction, that a mapping with a coupling brings."""
    log = friction_log(1)
    coupling = np.array([[1.0, 0.0], [-0.5, 1.0]])  # q = C theta
    names = [f"{s}{k}" for s in ("m", "u") for k in (1, 2)]
    frame = dict(zip(names, np.hstack([log.q @ np.linalg.inv(coupling).T, log.tau @ coupling]).T, strict=True))
    table = np.column_stack([log.time, *frame.values()])
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=",".join(["t", *frame]), comments="", fmt="%.17g")
    mapping = {
        "time": "t",
        "theta": {"columns": ["m1", "m2"]},
        "tau_m": {"columns": ["u1", "u2"]},
        "motor": {"coupling": coupling.tolist()},
    }
    fit = tp.identify(tp.load("elbow2r"), tmp_path / "run.csv", terms=TERMS, columns=mapping, cutoff_hz=15)
    assert len(fit.terms) > len(TERMS)
    tp.write_fit(fit, tmp_path / "fit.json")
    back = tp.load_fit(tmp_path / "fit.json")
    assert back.names == fit.names and np.array_equal(back.predict(log), fit.predict(log))
    tp.write_fit(back, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "fit.json").read_bytes()


def test_a_coupled_robot_travels_too(tmp_path):
    arm = tp.load("elbow2r").with_coupling([[1, 0], [-1, 1]])
    log = friction_log(1)
    motors = log.with_(q=log.q @ [[1, 1], [0, 1]], tau=log.tau @ [[1, 0], [-1, 1]])
    fit = tp.identify(arm, motors, terms=("viscous",), cutoff_hz=15)
    tp.write_fit(fit, tmp_path / "fit.json")
    back = tp.load_fit(tmp_path / "fit.json")
    assert back.robot.fingerprint == arm.fingerprint and np.array_equal(back.predict(motors), fit.predict(motors))


def test_a_source_that_was_changed_is_refused(tmp_path):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        '<robot name="r"><link name="base"/><link name="arm"><inertial><origin xyz="0 0.2 0"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/></joint></robot>'
    )
    robot, t = tp.load(urdf), np.arange(2000)[:, None] / 100
    log = tp.Log(t[:, 0], np.sin(t), tau=tp.inverse_dynamics(robot)(np.sin(t), np.cos(t), -np.sin(t)))
    tp.write_fit(tp.identify(robot, log, terms=(), cutoff_hz=10), tmp_path / "fit.json")
    urdf.unlink()
    tp.write_urdf(tp.load_fit(tmp_path / "fit.json"), urdf)  # it is not needed
    data = json.loads((tmp_path / "fit.json").read_text())
    data["source"]["text"] = data["source"]["text"].replace("0.2", "0.3")
    (tmp_path / "fit.json").write_text(json.dumps(data))
    with pytest.raises(TaupiError, match=r"fit.json: the text of its source was changed .* sha256 differs"):
        tp.load_fit(tmp_path / "fit.json")
    del data["source"]
    (tmp_path / "fit.json").write_text(json.dumps(data))
    with pytest.raises(TaupiError, match="comes from toml, expected URDF: there is none to write back"):
        tp.write_urdf(tp.load_fit(tmp_path / "fit.json"), tmp_path / "x.urdf")


def test_what_the_logs_do_not_determine_is_still_json(tmp_path):
    """Infinite errors have no number in JSON."""
    still = friction_log(1)
    q = np.array(still.q)
    q[:, 1] = 0.3
    fit = tp.identify(tp.load("elbow2r"), still.with_(q=q), cutoff_hz=15)
    assert fit.undetermined.any()
    tp.write_fit(fit, tmp_path / "fit.json")
    data = json.loads((tmp_path / "fit.json").read_text(), **STRICT)
    assert data["schema"] == SCHEMA
    back = tp.load_fit(tmp_path / "fit.json")
    assert np.array_equal(back.stderr, fit.stderr) and np.isinf(back.stderr).any()


def test_the_text_is_for_people(tmp_path):
    fit = friction_fit()
    tp.write_fit(fit, tmp_path / "fit.txt")
    lines = (tmp_path / "fit.txt").read_text().splitlines()
    assert lines[0].startswith("verdict: good. ") and "not fitted" in lines[0] and lines[2] == fit.summary
    rows = {cells[0]: cells[1:] for line in lines if (cells := line.split())}
    for e, value, error in zip(fit.basis.expressions, fit.values, fit.stderr, strict=True):
        shown = next(line for line in lines if line.startswith(e.name)).split()
        assert float(shown[1]) == pytest.approx(value, rel=5e-5, abs=0.051 * error)  # rounded to its error
        assert float(shown[2]) == pytest.approx(error, rel=0.05)
        assert any(line.startswith(e.name) and line.endswith(str(e)) for line in lines)
    assert {"shoulder", "elbow", "version:", "seed:"} <= set(rows)


def test_files_are_kept_unless_forced(tmp_path):
    tp.write_fit(friction_fit(), tmp_path / "fit.json")
    with pytest.raises(TaupiError, match="exists already"):
        tp.write_fit(friction_fit(), tmp_path / "fit.json")
    tp.write_fit(friction_fit(), tmp_path / "fit.json", force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["fit.json"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not JSON"),
        ("\x00\x01", "is not JSON"),
        ("{", "is not JSON, line 1"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "is not a fit of taupi: its schema is None"),
        ("{}", "is not a fit of taupi: its schema is None"),
        ('{"schema": 1}', "is not a fit of taupi: its schema is 1"),
        ('{"schema": "other/1"}', "is not a fit of taupi"),
        ('{"schema": "taupi.fit/0"}', "has schema 'taupi.fit/0', this version reads 'taupi.fit/1'"),
        ('{"schema": "taupi.fit/2"}', "has schema 'taupi.fit/2'.*update taupi"),
        ('{"schema": "taupi.fit/1"}', "is damaged: base is missing"),
    ],
)
def test_what_is_no_fit_is_refused(tmp_path, text, sentence):
    path = tmp_path / "fit.json"
    path.write_text(text)
    with pytest.raises(TaupiError, match=sentence):
        tp.load_fit(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("covariance"),
        lambda d: d.update(covariance="no numbers"),
        lambda d: d.update(base=[]),
        lambda d: d["base"].pop(),
        lambda d: d["base"][0].update(value=None),
        lambda d: d["base"][0].update(name="someone"),
        lambda d: d.update(terms=["nothing"]),
        lambda d: d.update(terms=None),
        lambda d: d.update(description="[robot"),
        lambda d: d.update(description=d["description"].replace("9.81", "9.82")),
        lambda d: d.update(status={"good": True}),
        lambda d: d.update(joints=3),
        lambda d: d.update(covariance=[[1.0]]),
        lambda d: d.update(prior=[1.0]),
        lambda d: d["joints"][0].update(rows=-5),
    ],
)
def test_damage_is_one_sentence(tmp_path, change):
    with pytest.raises(TaupiError, match=r"fit\.json") as caught:
        tp.load_fit(changed(tmp_path, change))
    assert "\n" not in str(caught.value)


NAN = float("nan")
CUTOFFS = {"slow": False, "half_hz": None, "equal_hz": None} | {
    f"{name}_hz": 5.0 for name in ("fit", "validation", "suggested", "least", "most")
}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d["settings"].pop("preparation"), "settings: preparation is missing"),
        (lambda d: d["settings"].update(preparation=None), "settings: preparation is None, expected a table"),
        (lambda d: d["settings"]["preparation"].update(encoder_delay=[]), r"encoder_delay is \(\), expected a number"),
        (
            lambda d: d["settings"]["preparation"].update(decimate=10**30),
            "decimate is 1000.*, expected a whole number from 1 to",
        ),
        (lambda d: d["covariance"][0].__setitem__(0, -1.0), "covariance is not symmetric, or has a negative"),
        (lambda d: d.update(covariance=(-np.array(d["covariance"])).tolist()), "or has a negative eigenvalue"),
        (lambda d: d["covariance"][0].__setitem__(1, 1.0), "covariance is not symmetric"),
        (lambda d: d["covariance"][0].__setitem__(0, NAN), "covariance has entries that are not finite"),
        (lambda d: d["triangle"][0].__setitem__(0, NAN), "triangle has entries that are not finite"),
        (lambda d: d.update(standard=[NAN, *d["prior"][1:]]), "standard has entries that are not finite"),
        (lambda d: d["base"][0].update(value="inf"), "values has entries that are not finite"),
        (lambda d: d["joints"].pop(), "it has joints .*, expected"),
        (lambda d: d["joints"][0].update(name="x"), "it has joints .*'x'.*, expected"),
        (lambda d: d["joints"][0].update(rms=NAN), "rms of shoulder is nan, expected a finite number"),
        (lambda d: d["provenance"]["logs"][0]["speeds"].pop(), "has 1 speeds, expected 2"),
        (lambda d: d.update(cutoffs={**CUTOFFS, "fit_hz": -1}), "fit_hz is -1.0, expected a finite number above 0"),
        (
            lambda d: d.update(cutoffs={**CUTOFFS, "validation_hz": NAN}),
            "validation_hz is nan, expected a finite number above 0",
        ),
    ],
)
def test_numbers_that_no_estimator_gives_are_refused(tmp_path, change, sentence):
    with pytest.raises(TaupiError, match=sentence) as caught:
        tp.load_fit(changed(tmp_path, change))
    assert "fit.json" in str(caught.value)


def test_bad_arguments(tmp_path):
    with pytest.raises(TaupiError, match="expected a Fit"):
        tp.write_fit(3, tmp_path / "fit.json")
    with pytest.raises(TaupiError, match=r"ending in \.json or \.txt"):
        tp.write_fit(friction_fit(), tmp_path / "fit.pkl")
    with pytest.raises(TaupiError, match="No file"):
        tp.load_fit(tmp_path)
    with refused("path", got=3):
        tp.load_fit(3)


@pytest.mark.parametrize("key", ["rms", "relative", "r2", "noise"])
@pytest.mark.parametrize("value", [1e308, -1e308, 1e-320, 0.0])
def test_statistics_of_any_size_are_shown(tmp_path, key, value):
    fit = tp.load_fit(changed(tmp_path, lambda d: d["joints"][0].update({key: value})))
    assert "relative error" in repr(fit)


# Files made to harm -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, [[1]], 1e308, True, "9" * 5000, [None]])
def test_every_key_of_any_type_is_a_fit_or_one_sentence(tmp_path, value):
    """Wrong types are found at the door, not when a fit is printed."""
    tp.write_fit(friction_fit(), tmp_path / "fit.json")
    data = json.loads((tmp_path / "fit.json").read_text())
    read = 0
    for key in data:
        (tmp_path / "fit.json").write_text(json.dumps({**data, key: value}))
        try:
            fit = tp.load_fit(tmp_path / "fit.json")
        except TaupiError as error:
            assert "\n" not in str(error) and "fit.json" in str(error)
        else:
            repr(fit), fit.summary, fit.to_dict()
            read += 1
    assert read < len(data) / 2


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("provenance", "seed"), "x"),
        (("provenance", "skipped"), [3]),
        (("conditioning", "sentences"), [3]),
        (("conditioning", "rank"), "x"),
        (("conditioning", "scaled_condition"), [1]),
        (("verdict", "left_out"), {"total": 0.1, "joints": "x", "worst": "", "silent": []}),
        (("verdict", "left_out"), {"total": [], "joints": {}, "worst": "", "silent": []}),
        (("verdict", "left_out"), {"total": 0.1, "joints": {}, "worst": {}, "silent": []}),
    ],
)
def test_what_a_report_reads_has_its_type(tmp_path, place, value):
    first, second = place
    with pytest.raises(TaupiError, match=rf"fit\.json is damaged: {first}: {second}"):
        tp.load_fit(changed(tmp_path, lambda data: data[first].update({second: value})))


@pytest.mark.parametrize("lock", ["1e1000000000", "1/0", "9" * 5000, "x", "sqrt(-1)", "9**9**9"])
def test_numbers_of_a_lock_cannot_take_forever(tmp_path, lock):
    text = "<robot/>"
    source = {"format": "urdf", "path": "", "sha256": hashlib.sha256(text.encode()).hexdigest(), "lock": {"a": lock}}
    source |= {"tip": None, "snap": True, "merged": {}, "text": text}
    with pytest.raises(TaupiError, match=r"fit.json: lock of a is"):
        tp.load_fit(changed(tmp_path, lambda data: data.update(source=source)))


def test_infinite_numbers_are_numbers_again(tmp_path):
    def infinite(data):
        data["joints"][0]["r2"] = "-inf"

    assert tp.load_fit(changed(tmp_path, infinite)).joints[0].r2 == -np.inf


def test_lists_without_end_and_large_files(tmp_path):
    (tmp_path / "fit.json").write_text("[" + "[]," * 250_000 + "[]]")
    with pytest.raises(TaupiError, match="more lists than a fit has"):
        tp.load_fit(tmp_path / "fit.json")
    with tp.signals.reading_budget(data_bytes=1000), pytest.raises(TaupiError, match="too large for a fit of taupi"):
        tp.load_fit(tmp_path / "fit.json")
