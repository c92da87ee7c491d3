"""Values to try of the settings of `Preparation` are other values, and all that a setting can be told is tried.

That every setting has one, and that each makes a difference, is in `test_one_path.py`.
"""

import dataclasses

import pytest
import settings_samples as samples

import taupi as tp
from taupi.identification.rows.preparation import Preparation

DEFAULTS = {f.name: f.default for f in dataclasses.fields(Preparation)}


@pytest.mark.parametrize(("name", "sample"), samples.cases(), ids=samples.label)
def test_a_sample_is_another_value(name, sample):
    keywords = samples.settings(name, sample)
    assert getattr(Preparation(**keywords), name) == sample.value != DEFAULTS[name]


@pytest.mark.parametrize("name", ["derivatives", "velocity", "long_gaps", "leave_out", "torque"])
def test_every_choice_is_tried(name):
    """A choice that is added has to be sampled: a wrong name lists those that there are."""
    with pytest.raises(tp.TaupiError) as error:
        Preparation(**{name: "?"})
    known = str(error.value).partition("expected one of ")[2].rstrip(".").split(", ")
    tried = {sample.value for sample in samples.SAMPLES[name]}
    # By default the torque of a rigid robot is taken as sampled.
    assert set(known) - {DEFAULTS[name], "sampled"} == tried
