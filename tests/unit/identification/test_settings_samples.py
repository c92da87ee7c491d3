"""Every setting of `Preparation` has values to try, and each of them makes a difference on its log."""

import dataclasses

import numpy as np
import pytest
import settings_samples as samples

import taupi as tp
from taupi.identification.rows.preparation import Preparation

FIELDS = {f.name: f.default for f in dataclasses.fields(Preparation)}


def test_every_setting_has_a_sample():
    missing = [name for name in FIELDS if not samples.SAMPLES.get(name)]
    assert not missing, f"add values to try of {', '.join(missing)} to SAMPLES in {samples.__file__}"
    assert [name for name in samples.SAMPLES if name not in FIELDS] == []


@pytest.mark.parametrize(("name", "sample"), samples.cases(), ids=samples.label)
def test_a_sample_is_another_value(name, sample):
    keywords = samples.settings(name, sample)
    assert getattr(Preparation(**keywords), name) == sample.value != FIELDS[name]


def test_every_derivative_and_velocity_is_tried():
    """By introspection, so that a method that is added has to be sampled: a wrong name lists those that there are."""
    for name in ("derivatives", "velocity", "long_gaps", "leave_out", "torque"):
        with pytest.raises(tp.TaupiError) as error:
            Preparation(**{name: "?"})
        known = str(error.value).partition("Known: ")[2].rstrip(".").split(", ")
        tried = {sample.value for sample in samples.SAMPLES[name]}
        # None finds the torque from the log; for a rigid robot that is "sampled".
        assert set(known) - {FIELDS[name], "auto", "sampled"} <= tried, name


@pytest.mark.parametrize(("name", "sample"), samples.cases(), ids=samples.label)
def test_a_sample_makes_a_difference(name, sample):
    robot, log, terms = samples.robot_of(sample), samples.LOGS[sample.log](), samples.terms_of(sample)
    keywords = samples.settings(name, sample)

    def fitted(settings):
        return tp.identify(robot, log, "ols", terms, preparation=tp.Preparation(**settings)).values

    plain = {**samples.FIXED, **sample.beside, name: FIELDS[name]}
    try:
        default = fitted(plain)
    except tp.TaupiError as refused:
        assert "gap" in str(refused)  # by default long gaps are refused
    else:
        assert np.abs(fitted(keywords) / default - 1).max() > 1e-6  # a thousand times what two ways may differ by
    assert np.isfinite(fitted(keywords)).all()
