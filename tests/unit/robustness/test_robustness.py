"""Robustness studies: arms that can exist, the same for all laws, and numbers that are those of their runs."""

import re

import numpy as np
import pytest

import taupi as tp
from taupi.model.body import pseudo_inertia, smallest_eigenvalue
from taupi.robustness.page import study_page
from taupi.robustness.study import uncertain_links

ARM = tp.load("elbow2r")
PUMA = tp.load("puma560")
SHORT = {"duration": 0.5, "rate": 500, "roll_outs": 6}


@pytest.fixture(scope="module")
def study():
    return tp.ensembles.robustness(ARM, **SHORT, within=0.03)


@pytest.mark.parametrize("arm", [ARM, PUMA], ids=["elbow", "puma"])
def test_uncertain_links_can_exist(arm):
    links = uncertain_links(arm, 0.5, 200, np.random.default_rng(1)).reshape(200, -1, 10)
    own = arm.parameters.values.reshape(-1, 10)
    for k, body in enumerate(own):
        least = smallest_eigenvalue(body)
        size = np.abs(pseudo_inertia(body)).max()
        if least > -1e-12 * size:  # what is a real body stays one
            assert min(smallest_eigenvalue(b) for b in links[:, k]) > -1e-9 * size
        assert body[0] == 0 or 0.3 < (links[:, k, 0] / body[0]).std() < 0.9
    none = uncertain_links(arm, 0.0, 3, np.random.default_rng(1))
    assert np.allclose(none, arm.parameters.values, rtol=0, atol=1e-12)


def test_small_links_change_as_large_ones_do():
    """In units ten times as large, lengths are a tenth: first moments too, and inertias a hundredth."""
    units = np.tile([1.0, *[0.1] * 3, *[0.01] * 6], ARM.n)
    small = ARM.with_parameters(ARM.parameters.values * units)
    ours, theirs = (uncertain_links(arm, 0.3, 5, np.random.default_rng(2)) for arm in (ARM, small))
    assert np.allclose(ours * units, theirs, rtol=1e-12, atol=1e-15)


def test_each_arm_is_the_same_under_all_laws_and_its_numbers_are_its_runs(study):
    assert list(study.summaries) == ["pd_gravity", "computed_torque", "slotine_li"]
    law = tp.ComputedTorque(ARM)
    k = study.to_dict()["laws"]["computed_torque"]["worst"]["roll_out"]
    run = study.worst["computed_torque"]
    alone = tp.RigidPlant(ARM.with_parameters(study.links[k]))  # the arm as a robot of its own: no links=
    motion = tp.Sinusoids([0.0, 0.0], [[0.5], [0.5]], [[1.0], [2.0]])
    again = tp.simulate(alone, law, motion, duration=0.5, rate=500, initial=study.initial[k])
    assert np.abs(again.q - run.q).max() < 1e-12
    late = np.sqrt((again.error[200:] ** 2).mean(axis=0))
    assert np.allclose(study.summaries["computed_torque"].late_error[k], late, rtol=1e-9)
    assert np.isclose(study.errors("computed_torque")[-1], late.max())
    errors = study.errors("pd_gravity")
    assert (np.diff(errors) >= 0).all() and study.share("pd_gravity") == np.mean(errors < 0.03)


def test_plant_and_sensors_are_those_of_every_arm(tmp_path):
    outside = {"terms": ("viscous", "coulomb"), "torque_limits": 40.0, "delay": 0.002}
    arm, sensors = ARM.with_friction(viscous=0.5, coulomb=0.3), tp.Sensors(q_noise=1e-3, velocity="difference")
    law = tp.SlotineLi(arm, Lambda=4.0, K=[30.0, 8.0], terms=("viscous",))
    hard = tp.ensembles.robustness(arm, [law], **SHORT, plant=tp.RigidPlant(arm, **outside), sensors=sensors)
    k = hard.to_dict()["laws"]["slotine_li"]["worst"]["roll_out"]
    alone = tp.RigidPlant(arm.with_parameters(hard.links[k]), **outside)  # an arm of its own, simulated by itself
    motion = tp.Sinusoids([0.0, 0.0], [[0.5], [0.5]], [[1.0], [2.0]])
    again = tp.simulate(alone, law, motion, duration=0.5, rate=500, initial=hard.initial[k], sensors=sensors, seed=k)
    assert np.abs(again.q - hard.worst["slotine_li"].q).max() < 1e-12
    late = np.sqrt((again.error[200:] ** 2).mean(axis=0)).max()
    assert np.isclose(hard.errors("slotine_li")[-1], late, rtol=1e-9)
    data = hard.to_dict()
    assert data["laws"]["slotine_li"]["settings"]["Lambda"] == "4" and data["plant"]["delay"] == "0.002"
    assert data["sensors"]["q_noise"] == "0.001" and "controller" not in data["provenance"]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", study_page(hard))
    assert {"Lambda", "4", "30, 8", "torque_limits", "40", "sensors: q_noise", "0.001"} <= set(cells)


def test_another_plant_is_refused():
    for plant in (tp.RigidPlant(PUMA), tp.ElasticPlant(tp.load("zollo2r")), "elbow2r"):
        with pytest.raises(tp.TaupiError) as refused:
            tp.ensembles.robustness(ARM, plant=plant, **SHORT)
        assert refused.value.argument == "plant"


def test_seeds_and_spread_decide(study):
    again = tp.ensembles.robustness(ARM, [tp.PDGravity(ARM)], **SHORT)
    assert np.array_equal(again.links, study.links) and np.array_equal(again.initial, study.initial)
    other = tp.ensembles.robustness(ARM, [tp.PDGravity(ARM)], **SHORT, seed=1)
    assert not np.array_equal(other.links, study.links)
    exact = tp.ensembles.robustness(ARM, [tp.ComputedTorque(ARM)] * 2, **SHORT, spread=0.0)
    assert list(exact.summaries) == ["computed_torque 1", "computed_torque 2"]
    assert exact.errors("computed_torque 1")[-1] < study.errors("computed_torque")[-1]


def test_the_page_has_the_numbers(study, tmp_path):
    file = tmp_path / "page.html"
    study.write(file)
    text = file.read_text()
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", text)
    for row in study.rows()[1:]:
        assert all(cell in cells for cell in row)
    assert text.count('<figure class="chart"') == 2 and "Robustness of elbow2r" in text and "<script src" not in text
    best = max(study.summaries, key=study.share)
    verdict = text.split('id="verdict"')[1].split("</section>")[0]
    assert f"{best} brings {100 * study.share(best):.4g} % of the arms to errors below {study.within:g} rad" in verdict
    assert all(f"{law}: {100 * study.share(law):.6g} %" in verdict for law in study.summaries if law != best)
    assert text.index('id="verdict"') < text.index('id="share"')
    assert "6 arms that differ from elbow2r by about 20 %" in repr(study)
    with pytest.raises(tp.TaupiError, match="exists"):
        study.write(file)
    study.write(file, force=True)
    with pytest.raises(tp.TaupiError, match=r"path is .*expected a name ending in \.html"):
        study.write(tmp_path / "page.txt")


def test_arms_that_diverge_are_counted():
    wild = tp.PDGravity(ARM, Kp=1e5, Kd=1e5)
    with np.errstate(all="ignore"):
        study = tp.ensembles.robustness(ARM, [wild], duration=0.5, rate=100, roll_outs=4)
    data = study.to_dict()["laws"]["pd_gravity"]
    assert data["diverged"] == 4 and data["converged"] == 0 and data["worst"]["late_error"] is None
    assert "diverged" in study.rows()[1] and np.isinf(study.errors("pd_gravity")).all()
    from taupi.robustness.page import study_page

    assert "diverged" in study_page(study)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"robot": "elbow2r"}, "robot is str, expected a Robot"),
        ({"laws": []}, r"laws is \[\], expected control laws"),
        ({"laws": [lambda t, q, qd: q]}, "laws is .*expected control laws"),
        ({"roll_outs": 0}, "roll_outs is 0"),
        ({"spread": -0.1}, r"spread is -0\.1"),
        ({"within": 0}, "within is 0"),
        ({"device": "abacus"}, "device is 'abacus', expected one of"),
        ({"integrator": "rk45"}, "fixed steps"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(tp.TaupiError, match=message):
        tp.ensembles.robustness(**({"robot": ARM, "duration": 0.01, "roll_outs": 2} | options))


def test_a_share_is_the_same_in_the_table_and_in_the_verdict(study, monkeypatch):
    """One arm in a hundred thousand fails, which four digits would not show."""
    monkeypatch.setattr(type(study), "share", lambda self, law: 1 - 1e-5)
    assert {row[1] for row in study.rows()[1:]} == {"99.999 %"}
    page = study_page(study)
    assert page.count("99.999 %") == 2 * len(study.summaries) and "100 %" not in page.split('id="errors"')[0]
