"""Random MJCF files: written back they are the same to the byte, and written with other parameters they read back to these."""

import re
import warnings

import numpy as np
import pytest
from mjcf_files import Writer

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

pytest.importorskip("mujoco")

# What MuJoCo rounds as it turns inertias to principal axes and back, relative to the largest parameter.
ROUNDED = 1e-9
# Bodies that are not elements of the file itself, or are no bodies at all.
ELSEWHERE = "it includes, attaches or replicates it|no body between two joints of one body|none that MuJoCo takes"


def included(file):
    """The text of a random file with the files that it includes in their places."""
    text = file.text
    while match := re.search(r'<include file="([^"]+)"\s*/>', text):
        part = re.sub(r"</?mujocoinclude>", "", file.others[match[1]])
        text = text[: match.start()] + part + text[match.end() :]
    return text


@pytest.mark.parametrize("seed", range(16))
def test_random_files_keep_what_is_not_ours(tmp_path, seed):
    file = Writer(seed)
    for name, text in file.others.items():
        (tmp_path / name).write_text(text)
    # Settings by which MuJoCo takes other masses than those that are written are refused: they have a test of their own.
    text = re.sub(
        r'inertiafromgeom="true"|fusestatic="true"|boundmass="[\d.]+" boundinertia="[\d.]+"', "", included(file)
    )
    text = text.replace("<compiler />", "").replace("<compiler/>", "")
    (tmp_path / "random.xml").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        try:
            robot = tp.load(tmp_path / "random.xml", snap=False)
        except TaupiError:
            pytest.skip("bodies without mass, which MuJoCo refuses")
        tp.write_mjcf(robot, tmp_path / "same.xml")
        assert (tmp_path / "same.xml").read_text() == text
        pi = 1.5 * robot.parameters.values
        try:
            changed = robot.with_parameters(pi).with_friction(viscous=0.7, coulomb=0.3, offset=0.2)
            tp.write_mjcf(changed, tmp_path / "heavy.xml")
        except TaupiError as error:
            assert re.search(ELSEWHERE, str(error)), error
            return
        again = tp.load(tmp_path / "heavy.xml", snap=False)
    joints = [j for j in again.joints if j.kind not in ("free", "ball")]
    values = [[float(v) for v in (j.friction.viscous, j.friction.coulomb, j.friction.offset)] for j in joints]
    np.testing.assert_allclose(values, [[0.7, 0.3, 0.2]] * len(joints), rtol=1e-9)
    assert np.abs(again.parameters.values - pi).max() < ROUNDED * np.abs(pi).max()
