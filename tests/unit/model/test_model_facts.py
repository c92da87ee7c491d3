"""Facts about descriptions that no other test states."""

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.model.formats import xacro


def test_rotors_resist_where_links_have_no_mass():
    """Of a heavy hand on three light links, the base feels all six directions as long as a rotor holds each joint."""
    rows = [{"a": 0.4, "alpha": 0.5, "d": 0.1}, {"a": 0.3, "alpha": -0.7}, {"a": 0.2, "alpha": 0.2}]
    hand = {"m": 2.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0, 0, 0.2, 0, 0.25)}
    arm = tp.Robot.from_dh(rows, links=[{}, {}, hand]).floating_base().with_transmissions(rotor_inertia=0.5)
    q, still = np.array([0, 0, 0, 0, 0, 0, 1, 0.1, 0.2, 0.3]), np.zeros(9)
    qdd = tp.forward_dynamics(arm, terms=("rotor",))(q, still, [0, 0, 0, 0, 0, 0, 1, 2, 3])
    assert qdd[6:] == pytest.approx([2, 4, 6])
    with pytest.raises(TaupiError, match="'base' has no mass or inertia, and can move while the bodies"):
        tp.forward_dynamics(arm)


@pytest.mark.parametrize(("entries", "names"), [(3, {"hand"}), (2, set())])
def test_as_many_entries_of_a_folder_are_looked_at_as_are_allowed(tmp_path, monkeypatch, entries, names):
    (tmp_path / "arm.xacro").write_text("$(find hand)/urdf/hand.xacro")
    (tmp_path / "notes.txt").write_text("$(find foot)")
    monkeypatch.setattr(xacro, "_ENTRIES", entries)  # the folder and its two files are three
    assert xacro._named_packages(tmp_path) == names
