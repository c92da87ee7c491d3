"""Robots written as MJCF: MuJoCo itself is asked for their torques, and every byte that should stay does."""

import builtins
import warnings
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.bridges.identified import identified
from taupi.errors import TaupiError, TaupiWarning

mujoco = pytest.importorskip("mujoco")

# Masses and inertias are written as the shortest decimals of doubles; MuJoCo turns them to principal axes and back.
WRITTEN = 1e-9
# Of a constant torque that is written as a spring of 1e-6 N m/rad, over the positions of the tests.
SOFT = 5e-6
ARM = """<mujoco model="arm"><!-- an arm of ours -->
  <compiler angle="degree"/>
  <default><joint damping=".2"/><default class="stiff"><joint armature=".05" frictionloss=".1"/></default></default>
  <worldbody>
    <body name="a" pos="0 0 .3" quat=".7071 .7071 0 0">
      <inertial pos=".1 .02 .03" mass="2" fullinertia=".1 .2 .15 .01 .02 .03"/>
      <joint name="j1" axis="0 1 1" pos=".1 0 .2" class="stiff" range="-100 200"/>
      <frame pos=".3 0 0">
        <body name="b">
          <joint name='j2' type="slide" axis="1 0 0" stiffness="4" springref=".2"/>
          <geom size=".1"/>
          <body name="tool" pos="0 .2 0" euler="10 20 5"><geom type="box" size=".1 .2 .05"/></body>
          <body name="c" pos=".4 0 0">
            <joint name="j3" axis="0 0 1"/>
            <inertial pos=".1 0 0" mass=".5" diaginertia=".01 .02 .015" quat="1 1 0 0"/>
          </body>
        </body>
      </frame>
    </body>
  </worldbody>
</mujoco>
"""
TERMS = ("rotor", "viscous", "offset", "spring")


def torque(path, robot, motion, friction=False):
    """MuJoCo's inverse dynamics, joints by name; without dry friction, which MuJoCo smoothes in its own way."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    if not friction:
        model.dof_frictionloss[:] = 0
    data = mujoco.MjData(model)
    joints = [model.joint(j.name) for j in robot.joints]
    at, dof = [j.qposadr[0] for j in joints], [j.dofadr[0] for j in joints]
    result = []
    for q, qd, qdd in zip(*motion, strict=True):
        data.qpos[at], data.qvel[dof], data.qacc[dof] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        result.append(data.qfrc_inverse[dof])
    return np.array(result)


def states(n, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (3, 20, n))


def heavier(robot, seed=1):
    """The robot with other bodies that can exist, and with friction, rotors, and constant torques."""
    rng = np.random.default_rng(seed)
    pi = robot.parameters.values.reshape(-1, 10).copy()
    for ten in pi:
        x = rng.uniform(-0.2, 0.2, (6, 3))
        ten += [6.0, *x.sum(axis=0), *sum(p @ p * np.eye(3) - np.outer(p, p) for p in x)[np.triu_indices(3)]]
    viscous, coulomb, offset = rng.uniform(0.1, 2, (3, robot.n))
    changed = robot.with_parameters(pi.ravel()).with_friction(viscous=viscous, coulomb=coulomb, offset=offset)
    return changed.with_transmissions(rotor_inertia=rng.uniform(0.1, 1, robot.n))


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    return tp.load(tmp_path / "arm.xml")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_has_not_changed_is_the_same_to_the_byte(tmp_path, newline):
    text = ARM.replace("\n", newline).encode()
    (tmp_path / "arm.xml").write_bytes(text)
    export = tp.write_mjcf(tp.load(tmp_path / "arm.xml"), tmp_path / "same.xml")
    assert (tmp_path / "same.xml").read_bytes() == text
    assert export.lost == () and export.model == tmp_path / "arm.xml"


def test_mujocos_own_test_model_is_the_same_to_the_byte(tmp_path):
    """Free and ball joints, classes, tendons, meshes: a file that MuJoCo's authors wrote."""
    source = Path(mujoco.__file__).parent / "testdata" / "model.xml"
    if not source.is_file():
        pytest.skip("this release of MuJoCo comes without the file")
    (tmp_path / "model.xml").write_bytes(source.read_bytes())
    with pytest.warns(TaupiWarning):
        robot = tp.load(tmp_path / "model.xml")
        tp.write_mjcf(robot, tmp_path / "same.xml")
        body = int(robot.links[-1].name.removeprefix("body"))  # the file gives it no name
        pi = robot.parameters.values.reshape(-1, 10).copy()
        pi[-1] *= 2
        tp.write_mjcf(robot.with_parameters(pi.ravel()), tmp_path / "heavy.xml")
    assert (tmp_path / "same.xml").read_bytes() == source.read_bytes()
    light, heavy = (mujoco.MjModel.from_xml_path(str(tmp_path / f"{n}.xml")) for n in ("same", "heavy"))
    change = heavy.body_mass - light.body_mass
    assert change[body] == pytest.approx(light.body_mass[body]) and light.body_mass[body] > 0
    assert np.count_nonzero(np.abs(change) > 1e-12) == 1 and heavy.nv == light.nv


def test_what_changes_is_what_mujoco_reads(arm, tmp_path):
    changed, motion = heavier(arm), states(3)
    export = tp.write_mjcf(changed, tmp_path / "new.xml")
    expected = tp.inverse_dynamics(changed, terms=TERMS)(*motion)
    assert np.abs(torque(tmp_path / "new.xml", arm, motion) - expected).max() < SOFT
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "new.xml"))
    coulomb = [float(j.friction.coulomb) for j in changed.joints]
    assert [model.joint(j.name).frictionloss[0] for j in arm.joints] == pytest.approx(coulomb)
    assert "constant torques of j1, j3" in export.notes[1]  # j2 has a spring, and its rest position takes it
    # Everything but inertials and attributes of joints is as it was.
    old, new = ARM.splitlines(), (tmp_path / "new.xml").read_text().splitlines()
    kept = [line for line in old if "<inertial" not in line and "<joint" not in line and '<body name="b">' not in line]
    assert [line for line in new if line in kept] == kept and "fullinertia" in "".join(new)
    again = tp.load(tmp_path / "new.xml")
    assert np.abs(again.parameters.values - changed.parameters.values).max() < WRITTEN


def test_axes_that_are_principal_stay_diagonal(arm, tmp_path):
    pi = arm.parameters.values.reshape(-1, 10).copy()
    pi[2] = [0.5, 0, 0, 0, 0.01, 0, 0, 0.02, 0, 0.025]
    tp.write_mjcf(arm.with_parameters(pi.ravel()), tmp_path / "new.xml")
    line = next(x for x in (tmp_path / "new.xml").read_text().splitlines() if 'mass="0.5"' in x)
    assert 'diaginertia="0.01 0.02 0.025"' in line and "quat" not in line and "fullinertia" not in line


def test_what_is_fixed_to_a_body_keeps_its_own_inertia_or_shares(arm, tmp_path):
    before = mujoco.MjModel.from_xml_string(ARM)
    pi = arm.parameters.values.reshape(-1, 10).copy()
    pi[1] *= 1.5
    tp.write_mjcf(arm.with_parameters(pi.ravel()), tmp_path / "new.xml")
    after = mujoco.MjModel.from_xml_path(str(tmp_path / "new.xml"))
    assert after.body("tool").mass == before.body("tool").mass and after.body("b").mass[0] > before.body("b").mass[0]
    pi[1] = arm.parameters.values.reshape(-1, 10)[1] / 10  # lighter than the tool alone
    with pytest.warns(TaupiWarning, match=r"Body 'b' without tool would not be a real body"):
        tp.write_mjcf(arm.with_parameters(pi.ravel()), tmp_path / "light.xml")
    assert np.abs(tp.load(tmp_path / "light.xml").parameters.values.reshape(-1, 10) - pi).max() < WRITTEN


# Other frames -----------------------------------------------------------------------------------------------------


CLASSIC = [dict(a=0, alpha=np.pi / 2, d=0.4), dict(a=0.5), dict(a=0.3, alpha=-np.pi / 2, d=0.1), dict(d=0.2, a=0.1)]
MODIFIED = [dict(d=0.4), dict(alpha=np.pi / 2), dict(a=0.5, d=0.1), dict(a=0.3, alpha=-np.pi / 2, d=0.2)]


def test_an_mjcf_of_the_same_arm_with_other_frames_takes_the_parameters(tmp_path):
    """Classic and modified frames of one arm, the second on a base that is turned and shifted."""
    ours = heavier(tp.Robot.from_dh(CLASSIC))
    turn = np.array([[0, -1, 0, 0.3], [1, 0, 0, -0.2], [0, 0, 1, 0.7], [0, 0, 0, 1.0]])
    theirs = tp.Robot.from_dh(MODIFIED, "modified", base=turn)
    tp.write_mjcf(theirs, tmp_path / "theirs.xml")
    tp.write_mjcf(ours, tmp_path / "new.xml", model=tmp_path / "theirs.xml")
    motion = states(4)
    expected = tp.inverse_dynamics(ours, terms=TERMS)(*motion)
    assert np.abs(torque(tmp_path / "new.xml", ours, motion) - expected).max() < SOFT
    assert np.abs(expected).max() > 10


def test_a_planar_arm_is_turned_and_not_mirrored(tmp_path):
    """All axes and the ways between them lie in a plane, which a reflection would keep as well."""
    rows, c, s = [dict(a=0.5), dict(a=0.4), dict(a=0.3)], np.cos(0.7), np.sin(0.7)
    ours = heavier(tp.Robot.from_dh(rows, gravity=(0, -9.81, 0)))
    turn = np.array([[c, -s, 0, 0.1], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    theirs = tp.Robot.from_dh(rows, base=turn, gravity=(9.81 * s, -9.81 * c, 0))
    tp.write_mjcf(theirs, tmp_path / "theirs.xml")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # gravity is the same, in a world that is turned
        tp.write_mjcf(ours, tmp_path / "new.xml", model=tmp_path / "theirs.xml")
    motion = states(3)
    expected = tp.inverse_dynamics(ours, terms=TERMS)(*motion)
    assert np.abs(torque(tmp_path / "new.xml", ours, motion) - expected).max() < SOFT


def test_names_may_differ_where_the_arm_is_the_same(tmp_path):
    ours = heavier(tp.Robot.from_dh(CLASSIC))
    named = [dict(row, name=f"axis_{k}") for k, row in enumerate(CLASSIC)]
    tp.write_mjcf(tp.Robot.from_dh(named), tmp_path / "theirs.xml")
    tp.write_mjcf(ours, tmp_path / "new.xml", model=tmp_path / "theirs.xml")
    motion = states(4)
    expected = tp.inverse_dynamics(ours, terms=TERMS)(*motion)
    new = tp.load(tmp_path / "new.xml")
    assert np.abs(torque(tmp_path / "new.xml", new, motion) - expected).max() < SOFT


def test_names_may_have_something_before_them_and_joints_may_be_more(tmp_path):
    """As where a file calls panda_joint1 joint1, and has fingers."""
    ours = heavier(tp.Robot.from_dh([dict(row, name=f"arm_{k}") for k, row in enumerate(CLASSIC)]))
    theirs = [dict(row, name=f"{k}") for k, row in enumerate([*CLASSIC, dict(a=0.1)])]
    theirs[4]["name"] = "finger"
    tp.write_mjcf(tp.Robot.from_dh(theirs), tmp_path / "theirs.xml")
    tp.write_mjcf(ours, tmp_path / "new.xml", model=tmp_path / "theirs.xml")
    engine, motion = tp.bridges.MujocoModel.of(tmp_path / "new.xml", ours), states(4)
    engine.model.dof_frictionloss[:] = 0
    expected = tp.inverse_dynamics(ours, terms=TERMS)(*motion)
    assert np.abs(engine(*motion) - expected).max() < SOFT


def test_another_arm_is_refused(tmp_path):
    longer = [*CLASSIC[:1], dict(a=0.52), *CLASSIC[2:]]
    tp.write_mjcf(tp.Robot.from_dh(longer), tmp_path / "longer.xml")
    with pytest.raises(TaupiError, match=r"longer.xml is another arm than arm: at q = 0 the axis of joint"):
        tp.write_mjcf(heavier(tp.Robot.from_dh(CLASSIC)), tmp_path / "new.xml", model=tmp_path / "longer.xml")
    tp.write_mjcf(tp.Robot.from_dh(CLASSIC[:3]), tmp_path / "shorter.xml")
    with pytest.raises(TaupiError, match=r"shorter.xml has no joint 'joint4' of arm; it has joint1, joint2, joint3"):
        tp.write_mjcf(tp.Robot.from_dh(CLASSIC), tmp_path / "new.xml", model=tmp_path / "shorter.xml")


def test_a_joint_of_another_kind_is_refused(tmp_path):
    """Its axis is the same, so that only its kind tells the arms apart."""
    slides = tp.Robot.from_dh([*CLASSIC[:3], dict(CLASSIC[3], joint="prismatic")])
    tp.write_mjcf(slides, tmp_path / "slides.xml")
    turns = tp.Robot.from_dh(CLASSIC)
    with pytest.raises(TaupiError, match=r"slides.xml is another arm than arm: joint4 slides there, and turns in arm"):
        tp.write_mjcf(turns, tmp_path / "new.xml", model=tmp_path / "slides.xml")
    with pytest.raises(TaupiError, match=r"slides.xml: joint 'joint4' is a slide, expected a hinge"):
        tp.bridges.MujocoModel.of(tmp_path / "slides.xml", turns)


def test_torques_are_those_of_the_acceleration_whatever_mujoco_steps_by(tmp_path):
    arm = tp.Robot.from_dh(CLASSIC).with_friction(viscous=3.0)
    tp.write_mjcf(arm, tmp_path / "arm.xml")
    text = (tmp_path / "arm.xml").read_text()
    head, _, rest = text.partition("<option ")
    option, _, rest = rest.partition("/>")
    stepped = f'{head}<option timestep="0.01" {option}><flag invdiscrete="enable"/></option>{rest}'
    (tmp_path / "stepped.xml").write_text(stepped)
    motion = np.random.default_rng(2).uniform(-1, 1, (3, 5, arm.n))
    expected = tp.inverse_dynamics(arm, terms="viscous")(*motion)
    torques = tp.bridges.MujocoModel.of(tmp_path / "stepped.xml", arm)(*motion)
    assert np.abs(torques - expected).max() < SOFT


def test_joints_that_the_robot_does_not_have_are_held(arm, tmp_path):
    held = tp.Robot.from_mjcf(tmp_path / "arm.xml", lock=["j3"])
    pi = held.parameters.values.reshape(-1, 10).copy()
    pi[0] *= 2
    changed = held.with_parameters(pi.ravel())
    tp.write_mjcf(changed, tmp_path / "new.xml", model=tmp_path / "arm.xml")
    motion = states(2)
    expected = tp.inverse_dynamics(changed, terms=TERMS)(*motion)
    assert np.abs(torque(tmp_path / "new.xml", changed, motion) - expected).max() < WRITTEN


def test_gravity_of_another_direction_is_a_warning(tmp_path):
    ours = heavier(tp.Robot.from_dh(CLASSIC))
    tp.write_mjcf(tp.Robot.from_dh(CLASSIC, gravity=(0, 0, -1.62)), tmp_path / "moon.xml")
    with pytest.warns(TaupiWarning, match=r"moon.xml: gravity is \(0, 0, -1.62\) m/s\^2 in the world of arm"):
        tp.write_mjcf(ours, tmp_path / "new.xml", model=tmp_path / "moon.xml")


# New files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ur_description/urdf/ur5_robot.urdf", "z1_description/urdf/z1.urdf"])
def test_a_new_mjcf_of_a_urdf(robots_dir, tmp_path, name):
    robot = heavier(tp.load(robots_dir / name))
    tp.write_mjcf(robot, tmp_path / "new.xml")
    motion = states(robot.n)
    expected = tp.inverse_dynamics(robot, terms=TERMS)(*motion)
    assert np.abs(torque(tmp_path / "new.xml", robot, motion) - expected).max() < SOFT
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "new.xml"))
    assert [model.actuator(k).name for k in range(model.nu)] == list(robot.joint_names)
    data = mujoco.MjData(model)
    data.qpos[:] = motion[0][0]
    mujoco.mj_kinematics(model, data)
    for frame in robot.frames:
        placed = tp.forward_kinematics(robot, frame.name)(motion[0][0])
        np.testing.assert_allclose(placed[:3, 3], data.site(frame.name).xpos, atol=1e-12)


def test_a_new_mjcf_of_joints_that_follow_others(robots_dir, tmp_path):
    """The torque of a coordinate is that of all joints that it moves, each times its ratio."""
    text = (Path(__file__).parents[2] / "e2e" / "test_export_cli.py").read_text()
    urdf = text.split('URDF = """')[1].split('"""')[0]
    (tmp_path / "two.urdf").write_text(urdf.replace('</parent><child link="fore"/>', "").replace(
        '<child link="fore"/>', '<child link="fore"/><mimic joint="shoulder" multiplier="-0.5" offset="0.2"/>'
    ))  # fmt: skip
    robot = tp.load(tmp_path / "two.urdf")
    assert robot.n == 1 and len(robot.joints) == 2
    tp.write_mjcf(robot, tmp_path / "new.xml")
    engine = tp.bridges.MujocoModel.of(tmp_path / "new.xml", robot)
    motion = states(1)
    # Equalities are soft in MuJoCo, and act along the coordinate a little.
    np.testing.assert_allclose(engine(*motion), tp.inverse_dynamics(robot)(*motion), atol=1e-6)


def test_a_floating_base_is_a_free_joint(tmp_path):
    ours = tp.load("ur10").floating_base()
    tp.write_mjcf(ours, tmp_path / "free.xml")
    again = tp.load(tmp_path / "free.xml")
    assert again.floating and again.n == ours.n
    q = np.concatenate([tp.floating.neutral(ours)[:7], states(6)[0][0]])
    rates = np.random.default_rng(2).uniform(-1, 1, (2, ours.n))
    np.testing.assert_allclose(
        tp.inverse_dynamics(again)(q, *rates), tp.inverse_dynamics(ours)(q, *rates), rtol=1e-9, atol=1e-9
    )


# Bad input --------------------------------------------------------------------------------------------------------


def test_drives_that_mjcf_has_no_joints_for_are_refused(tmp_path):
    arm = tp.load("ur10")
    with pytest.raises(TaupiError, match=r"has elastic joints \(.*\): other tools have no motor behind a spring"):
        tp.write_mjcf(arm.with_transmissions(stiffness=1e4), tmp_path / "new.xml")
    coupling = np.eye(6)
    coupling[5, 4] = 1
    with pytest.raises(TaupiError, match=r"in the coordinates of motors, several of which move"):
        tp.write_mjcf(arm.with_coupling(coupling.astype(int).tolist()), tmp_path / "new.xml")
    assert not (tmp_path / "new.xml").exists()


def test_names_that_mjcf_forbids_are_refused(tmp_path):
    rows = [dict(row, name=f"j{k}") for k, row in enumerate(CLASSIC)]
    links = [dict(m=1, com=(0, 0, 0), inertia=(1, 0, 0, 1, 0, 1), name=n) for n in ("a", "world", "b", "c")]
    with pytest.raises(TaupiError, match=r"a moving link called 'world', which is the name of MuJoCo's own world"):
        tp.write_mjcf(tp.Robot.from_dh(rows, links=links), tmp_path / "new.xml")
    rows[1]["name"] = "el\x07bow"
    with pytest.raises(TaupiError, match="which XML cannot hold"):
        tp.write_mjcf(tp.Robot.from_dh(rows), tmp_path / "new.xml")


def test_names_with_marks_of_xml_are_written(tmp_path):
    rows = [dict(row, name=f'<j"{k}&') for k, row in enumerate(CLASSIC)]
    tp.write_mjcf(tp.Robot.from_dh(rows), tmp_path / "new.xml")
    assert [j.name for j in tp.load(tmp_path / "new.xml").joints] == [row["name"] for row in rows]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ('inertiafromgeom="true"', "takes inertias from shapes alone"),
        ('settotalmass="5"', "scales all masses"),
        ('fusestatic="true"', "adds bodies without joints to those that carry them"),
    ],
)
def test_settings_that_change_masses_are_refused(tmp_path, setting, words):
    (tmp_path / "arm.xml").write_text(ARM.replace('angle="degree"', f'angle="degree" {setting}'))
    robot = tp.load(tmp_path / "arm.xml")
    with pytest.raises(TaupiError, match=words):
        tp.write_mjcf(robot, tmp_path / "new.xml")


def test_bounds_of_masses_are_refused_where_they_matter(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM.replace('angle="degree"', 'angle="degree" boundmass="0.3"'))
    robot = tp.load(tmp_path / "arm.xml")
    pi = robot.parameters.values
    tp.write_mjcf(robot.with_parameters(1.1 * pi), tmp_path / "new.xml")
    with pytest.raises(TaupiError, match="with which MuJoCo would make body 'c' heavier than it is"):
        tp.write_mjcf(robot.with_parameters(np.concatenate([pi[:20], pi[20:] / 2])), tmp_path / "light.xml")


def test_bodies_of_an_included_file_are_refused(arm, tmp_path):
    (tmp_path / "scene.xml").write_text('<mujoco><include file="arm.xml"/></mujoco>')
    with pytest.raises(TaupiError, match=r"scene.xml has no element of body 'a' of its own: it includes, attaches or"):
        tp.write_mjcf(heavier(arm), tmp_path / "new.xml", model=tmp_path / "scene.xml")


def test_bodies_that_cannot_exist_and_other_things_are_refused(arm, tmp_path):
    flat = np.tile([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 6)  # of inertia, Izz alone
    with pytest.raises(TaupiError, match="MuJoCo takes real bodies only"):
        tp.write_mjcf(tp.load("ur10").with_parameters(flat), tmp_path / "new.xml")
    with pytest.raises(TaupiError, match="MuJoCo would refuse body 'a'"):
        tp.write_mjcf(arm.with_parameters(flat[:30]), tmp_path / "new.xml")
    with refused("source", got=3):
        tp.write_mjcf(3, tmp_path / "new.xml")
    tp.write_mjcf(arm, tmp_path / "new.xml")
    with pytest.raises(TaupiError, match="exists already"):
        tp.write_mjcf(arm, tmp_path / "new.xml")
    (tmp_path / "arm.xml").unlink()
    with pytest.raises(TaupiError, match="no longer there"):
        tp.write_mjcf(arm, tmp_path / "other.xml")


def test_a_point_mass_gets_the_least_that_mujoco_takes(tmp_path):
    arm = tp.load("elbow2r")
    tp.write_mjcf(arm, tmp_path / "new.xml")
    motion = states(2)
    expected = tp.inverse_dynamics(arm)(*motion)
    assert np.abs(torque(tmp_path / "new.xml", arm, motion) - expected).max() < WRITTEN


def test_without_mujoco_the_extra_is_named(arm, tmp_path, monkeypatch):
    genuine = builtins.__import__

    def missing(name, *rest, **more):
        if name.partition(".")[0] == "mujoco":
            raise ImportError("No module named 'mujoco'", name="mujoco")
        return genuine(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(TaupiError, match=r"pip install taupi\[mjcf\]"):
        tp.write_mjcf(arm, tmp_path / "new.xml")


def test_files_beside_the_model_are_a_warning(tmp_path):
    text = ARM.replace("<worldbody>", '<asset><mesh file="x.stl"/></asset><worldbody>')
    (tmp_path / "arm.xml").write_text(text)
    (tmp_path / "other").mkdir()
    with pytest.warns(TaupiWarning, match=r"names files beside itself"):
        tp.write_mjcf(tp.load(tmp_path / "arm.xml"), tmp_path / "other" / "arm.xml")


def test_what_stands_in_for_lost_friction_is_no_negative_friction(tmp_path):
    """Friction that grows with speed faster than linearly: the line nearest to it starts below zero, its stand-in does not."""
    arm = tp.load("elbow2r").with_friction(viscous=2.0, coulomb=[1.0, 1.0], stribeck=[-0.999, 0.5])
    t, w = np.arange(2000)[:, None] / 200, np.array([2.1, 3.3])
    q, qd, qdd = 0.05 * np.sin(w * t), 0.05 * w * np.cos(w * t), -0.05 * w * w * np.sin(w * t)
    terms = ("viscous", "coulomb", "stribeck")
    log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm, terms=terms)(q, qd, qdd), names=arm.joint_names)
    fit = tp.identify(arm, log, "wls", terms, cutoff_hz=20)
    values = identified(fit, anyway=True).joints
    first, second = (values[name].dry_friction for name in arm.joint_names)
    assert first == 0.0 and second > 0.5
    tp.write_mjcf(fit, tmp_path / "arm.xml", anyway=True)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    assert model.dof_frictionloss == pytest.approx([0.0, second])
