"""MJCF by its features: each small file is read as MuJoCo compiles it, torque by torque and mass by mass."""

import warnings

import mujoco
import numpy as np
import pytest
from mjcf_files import Writer
from mujoco_states import converted, equalities, in_mujoco, states

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

TIGHT = 1e-11  # of the largest entry: rotations are rounded to 1e-17, and some files have forty of them
LEG = """<body name="{n}thigh" pos=".1 {y} 0" quat=".9 .1 .2 .3"><joint name="{n}hip" axis="1 0 .2" pos=".01 0 .02"/>
<inertial mass="1.5" pos=".01 .02 -.1" quat=".8 .1 .5 .2" diaginertia=".02 .015 .01"/>
<body name="{n}shank" pos="0 .03 -.2"><joint name="{n}knee" axis="0 1 0" ref=".3"/>
<inertial mass=".4" pos="0 .01 -.1" fullinertia=".004 .003 .002 .0001 .0002 -.0003"/>
<site name="{n}foot" pos="0 0 -.2"/></body></body>"""
LEGS = LEG.format(n="l_", y=".2") + LEG.format(n="r_", y="-.2")
TRUNK = '<inertial mass="8" pos=".02 0 .05" diaginertia=".2 .3 .35"/>'
ROBOT = f'<body name="trunk" pos="0 0 .5" quat=".7 .7 0 .1"><freejoint name="root"/>{TRUNK}{LEGS}</body>'
CUBE = '<body name="cube" pos="1 0 0"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
ARM = LEG.format(n="a_", y="0")


def world(*parts, before="", after=""):
    """An MJCF file of bodies, with elements before and after the world."""
    return f'<mujoco model="r">{before}<worldbody>{"".join(parts)}</worldbody>{after}</mujoco>'


DEFAULTS = """<default><joint damping=".3"/><default class="leg"><joint axis="0 1 0" armature=".02"/>
<geom type="capsule" size=".03 .1" density="800"/></default></default>"""
CLASSES = """<body name="t"><freejoint/><geom type="ellipsoid" size=".2 .1 .05" mass="3"/>
<body name="u" childclass="leg" pos="0 0 -.1"><joint name="ju"/><geom pos="0 0 -.1"/><body name="v" pos="0 0 -.2">
<joint name="jv" class="leg" axis="1 0 0"/><geom euler="30 0 10"/></body></body></body>"""
SHAPES = """<body name="b" euler="10 20 30"><joint name="h" axis="0 0 1"/><geom type="box" size=".1 .2 .05" pos=".1 0 0"/>
<geom type="cylinder" size=".04 .2" fromto="0 0 0 .1 .2 .3"/><geom type="sphere" size=".06" mass="0"/></body>"""
SEVERAL = """<body name="b"><joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
<joint name="z" axis="0 0 1" pos=".1 .2 0"/><geom type="box" size=".1 .2 .3" pos="0 .1 0"/></body>"""
BALLS = """<body name="b" pos="0 .1 0" quat=".9 .3 0 0"><joint name="wrist" type="ball" pos=".02 0 .01"/>
<geom type="box" size=".1 .2 .3" pos="0 .1 .1"/><body name="c" pos=".2 0 0"><joint name="h" axis="0 1 0"/>
<geom type="capsule" size=".05 .1"/><body name="d" pos="0 0 .3"><joint name="end" type="ball"/>
<geom type="box" size=".02 .03 .04" pos=".1 0 0"/></body></body></body>"""
FREE_BALL = f'<body name="root"><freejoint/><geom type="box" size=".2 .1 .1"/>{BALLS}</body>'
REPLICATED = """<body name="hub"><freejoint name="root"/><geom type="cylinder" size=".1 .05"/>
<replicate count="3" euler="0 0 120"><body name="arm" pos=".1 0 0"><joint name="j" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/></body></replicate></body>"""
FROM_GEOMS = '<compiler inertiafromgeom="true" settotalmass="12" angle="radian" eulerseq="zyx" autolimits="true"/>'
DEGREES = '<compiler angle="degree" eulerseq="XYZ" boundmass=".01" boundinertia=".001" balanceinertia="true"/>'
ACTUATED = """<tendon><fixed name="t"><joint joint="l_hip" coef="1"/><joint joint="r_hip" coef="-1"/></fixed></tendon>
<actuator><motor joint="l_hip"/><position tendon="t" kp="5"/></actuator>
<keyframe><key qpos="0 0 1 1 0 0 0 .1 .2 .3 .4"/></keyframe><sensor><jointpos joint="l_hip"/></sensor>"""
FRAMED = f'<frame pos="0 0 1" euler="0 90 0">{SHAPES}</frame>'

TWIN = ROBOT.replace('"root"', '"root2"').replace("l_", "m_").replace("r_", "s_").replace("trunk", "trunk2")

FILES = {
    "free joint": world(ROBOT),
    "defaults and classes": world(CLASSES, before=DEFAULTS),
    "inertia from shapes": world(SHAPES, before=FROM_GEOMS),
    "degrees, bounds": world(SHAPES, SEVERAL.replace('"b"', '"b2"'), before=DEGREES),
    "several joints of a body": world(SEVERAL),
    "ball joints": world(BALLS),
    "ball joints on a free body": world(FREE_BALL),
    "replicated bodies": world(REPLICATED),
    "actuators, tendons, keyframes": world(ROBOT, after=ACTUATED),
    "frames": world(FRAMED),
    "a prop beside the robot": world(CUBE, ROBOT, CUBE.replace('"cube"', '"cup"')),
    "a prop beside an arm": world(CUBE, ARM),
    "two arms": world(ARM, ARM.replace("a_", "b_").replace('pos=".1 0', 'pos=".1 1')),
    "two of a kind": world(ROBOT, TWIN),
    "a drone": world(CUBE),
    "tilted gravity": world(ARM, before='<option gravity="1 2 -9"/>'),
}  # fmt: skip


def read(tmp_path, text, warned="error", **options):
    file = tmp_path / "robot.xml"
    file.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter(warned)
        return tp.load(file, **options), mujoco.MjModel.from_xml_path(str(file))


@pytest.mark.parametrize("what", FILES)
def test_torque_and_mass_matrix_are_mujocos(tmp_path, what):
    robot, model = read(tmp_path, FILES[what], snap=False)
    q, qd, qdd = (x[0] for x in states(robot, seed=3))
    tau = tp.inverse_dynamics(robot).compile("numpy")(q, qd, qdd)
    expected, mass = in_mujoco(robot, model, q, qd, qdd)
    ours = converted(robot, q, qd, qdd, tau)[3]
    assert np.abs(ours - expected).max() < TIGHT * np.abs(expected).max()
    matrix = tp.mass_matrix(robot).compile("numpy")(q)
    energies = [v @ m @ v for v, m in ((qd, matrix), (converted(robot, q, qd, qdd, tau)[1], mass))]
    assert energies[0] == pytest.approx(energies[1], rel=TIGHT)


def agree(robot, model, seed):
    """Whether torque and kinetic energy at a random state are MuJoCo's."""
    q, qd, qdd = (x[0] for x in states(robot, seed=seed))
    follow, held = equalities(robot, model)
    tau = tp.inverse_dynamics(robot).compile("numpy")(q, qd, qdd)
    expected, mass = in_mujoco(robot, model, q, qd, qdd, follow, held)
    _, velocity, _, ours = converted(robot, q, qd, qdd, tau)
    energy, theirs = qd @ tp.mass_matrix(robot).compile("numpy")(q) @ qd, velocity @ mass @ velocity
    return np.abs(ours - expected).max() < TIGHT * np.abs(expected).max() and abs(energy - theirs) < TIGHT * theirs


@pytest.mark.parametrize("seed", range(16))
def test_random_files_are_mujocos(tmp_path, seed):
    file = Writer(seed)
    for name, text in file.others.items():
        (tmp_path / name).write_text(text)
    assert agree(*read(tmp_path, file.text, "ignore", snap=False), seed)


PALM = '<body name="e"><geom size=".1"/></body>'
CLOSED = '<equality><connect name="c" body1="a_shank" anchor="0 0 0"/></equality>'
TWICE = """<equality><joint joint1="l_hip" joint2="r_hip" polycoef=".1 2 0 0 0"/>
<joint joint1="l_hip" joint2="r_knee" polycoef=".1 2 0 0 0"/></equality>"""
TEXTS = {
    "comments that XML forbids": world(ARM + "<!-- a -- b ---->"),
    "a late declaration": '\n\n<?xml version="1.0"?>\n' + world(ARM),
    "gravity switched off": world(ARM, before='<option><flag gravity="disable"/></option>'),
    "ranges without end": world(ARM.replace('axis="1 0 .2"', 'axis="1 0 .2" limited="true" range="-inf inf"')),
    "infinite data": world(ARM, after='<custom><numeric name="n" data="inf 1"/></custom>'),
    "named like a fixed joint": world(ARM.replace("<site", PALM + "<site").replace("a_hip", "fixed e")),
    "named like a massless link": world(SEVERAL.replace("</body>", ARM.replace("a_thigh", "b/x") + "</body>")),
    "a site named like the end of a loop": world(ARM.replace("a_foot", "c.a"), after=CLOSED),
    "two equalities of one joint": world(ROBOT, after=TWICE),
    "one that follows is held": world(ROBOT, after=TWICE.replace('joint2="r_knee" polycoef=".1 2', 'polycoef=".3 0')),
}


@pytest.mark.parametrize("what", TEXTS)
def test_what_mujoco_reads_is_read(tmp_path, what):
    assert agree(*read(tmp_path, TEXTS[what], snap=False), 5)


def test_ends_of_a_range_that_are_infinite_are_none(tmp_path):
    limits = read(tmp_path, TEXTS["ranges without end"])[0].joints[0].limits
    assert (limits.lower, limits.upper) == (None, None)


def test_an_actuator_adds_to_armature_and_damping(tmp_path):
    own = ARM.replace('name="a_hip"', 'name="a_hip" armature=".1" damping=".2"')
    motor = '<actuator><motor joint="a_hip" gear="3" armature=".05" damping=".7"/></actuator>'
    robot, model = read(tmp_path, world(own, after=motor), snap=False)
    assert float(robot.joints[0].transmission.rotor_inertia) == pytest.approx(0.1 + 9 * 0.05)
    assert float(robot.joints[0].friction.viscous) == pytest.approx(0.2 + 9 * 0.7)
    data, mass = mujoco.MjData(model), np.zeros((2, 2))
    data.qvel[0] = 1.0
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, mass)
    ours = tp.mass_matrix(robot, terms=("rotor",)).compile("numpy")(np.array(data.qpos))
    assert np.abs(ours - mass).max() < TIGHT and data.qfrc_passive[0] == pytest.approx(-6.5)


def test_ends_outside_the_robot_close_no_loop(tmp_path):
    moved = '<body name="hand" mocap="true"><geom size=".1"/></body>'
    robot, _ = read(tmp_path, world(ROBOT, moved, after='<equality><weld body1="trunk" body2="hand"/></equality>'))
    assert robot.floating and not robot.loops and any("(mocap)" in note for note in robot.notes)
    held = '<equality><connect body1="l_shank" body2="cube" anchor="0 0 0"/></equality>'
    robot, _ = read(tmp_path, world(ROBOT, CUBE, after=held))
    assert not robot.loops and any("1 loops are left out with them" in note for note in robot.notes)


def test_a_free_base_its_names_and_can_be_bolted(tmp_path):
    robot, _ = read(tmp_path, world(ROBOT))
    assert (robot.n, robot.nq, robot.floating) == (10, 11, True)
    assert robot.joint_names[:6] == ("root.wx", "root.wy", "root.wz", "root.vx", "root.vy", "root.vz")
    assert robot.position_names[:7] == ("root.px", "root.py", "root.pz", "root.hx", "root.hy", "root.hz", "root.hw")
    assert robot.link_names[0] == "trunk" and robot.actuated == (6, 7, 8, 9)
    bolted, _ = read(tmp_path, world(ROBOT), floating=False)
    assert bolted.joint_names == ("l_hip", "l_knee", "r_hip", "r_knee")
    home = bolted.frame("trunk").placement.matrix
    assert home[:3, 3].tolist() == [0, 0, 0.5]
    q = np.array([0.1, -0.2, 0.3, 0.4])
    moved = robot.fixed_base()
    there = tp.forward_kinematics(moved, "l_foot")(q)
    assert np.abs(home @ there - tp.forward_kinematics(bolted, "l_foot")(q)).max() < 1e-12


def test_one_tree_is_the_robot_and_another_can_be_picked(tmp_path):
    robot, _ = read(tmp_path, FILES["a prop beside the robot"])
    assert robot.link_names[0] == "trunk" and "left out" in robot.notes[-1] and "cube, cup" in robot.notes[-1]
    cube, _ = read(tmp_path, FILES["a prop beside the robot"], root="cup")
    assert cube.link_names == ("cup",) and cube.n == 6
    with pytest.raises(TaupiError, match="No root link of a tree 'cap'"):
        read(tmp_path, FILES["a prop beside the robot"], root="cap")


LINEAR = """<equality><joint joint1="l_knee" joint2="l_hip" polycoef=".2 -1.5 0 0 0"/>
<joint joint1="r_hip" joint2="l_knee" polycoef="0 .5 0 0 0"/><joint joint1="r_knee" polycoef=".1 0 0 0 0"/>
<joint joint1="l_hip" joint2="r_hip" active="false"/></equality>"""


def test_linear_equalities_are_joints_that_follow(tmp_path):
    robot, model = read(tmp_path, world(ROBOT, before='<compiler angle="radian"/>', after=LINEAR), snap=False)
    assert robot.joint_names[6:] == ("l_hip",) and "3 equalities between joints" in robot.notes[-1]
    # q_knee = 0.3 + 0.2 - 1.5 q_hip, and q_r_hip = 0.5 (q_knee - 0.3), by the definition of polycoef about qpos0.
    follow = {"l_knee": (-1.5, 0.5), "r_hip": (-0.75, 0.1)}
    q, qd, qdd = (x[0] for x in states(robot, seed=4))
    expected, _ = in_mujoco(robot, model, q, qd, qdd, follow, held={"r_knee": 0.4})
    tau = tp.inverse_dynamics(robot).compile("numpy")(q, qd, qdd)
    ours = converted(robot, q, qd, qdd, tau)[3]
    assert np.abs(ours - expected).max() < TIGHT * np.abs(expected).max()


def test_equalities_that_contradict_are_said(tmp_path):
    mutual = '<equality><joint joint1="l_hip" joint2="r_hip"/><joint joint1="r_hip" joint2="l_hip"/></equality>'
    robot, _ = read(tmp_path, world(ROBOT, after=mutual))
    assert robot.n == 9 and any("which follows it already" in note for note in robot.notes)


def test_loops_are_kept_and_welds_to_the_world_bolt(tmp_path):
    loops = '<equality><connect name="c" body1="l_shank" body2="r_shank" anchor="0 0 -.2"/></equality>'
    robot, _ = read(tmp_path, world(ROBOT, after=loops))
    assert [(k.frame_a, k.frame_b, k.kind) for k in robot.loops] == [("c.a", "c.b", "point")]
    sites = '<equality><weld site1="l_foot" site2="r_foot"/></equality>'
    assert read(tmp_path, world(ROBOT, after=sites))[0].loops[0].kind == "weld"
    bolted, _ = read(tmp_path, world(ROBOT, after='<equality><weld body1="trunk"/></equality>'))
    assert not bolted.floating and bolted.n == 4 and any("welded to the world" in note for note in bolted.notes)
    assert not any("equalit" in note for note in bolted.notes)


STAND = '<body name="stand" pos=".3 -.2 .1" euler="0 30 20"><geom size=".1"/><site name="s" pos="0 .1 0" euler="10 0 0"/></body>'
WELDS = {
    "to the world": '<weld body1="trunk" relpose=".1 .2 .3 .8 .1 -.2 .3"/>',
    "the world first": '<weld body1="world" body2="trunk" relpose="1 2 3 .5 .5 .1 .3"/>',
    "with an anchor": '<weld body1="trunk" body2="world" anchor=".1 .2 .3" relpose=".1 .2 .3 .8 .1 -.2 .3"/>',
    "where it starts": '<weld body1="trunk" body2="world" anchor=".1 .2 .3"/>',
    "to a stand": '<weld body1="stand" body2="trunk" anchor=".1 0 0" relpose=".4 .5 .6 .9 0 .3 .1"/>',
    "by sites": '<weld site1="s" site2="l_foot"/>',
    "by sites of the base": '<weld site1="trunk_site" site2="s"/>',
}


@pytest.mark.parametrize("what", WELDS)
def test_a_welded_base_is_held_where_mujoco_holds_it(tmp_path, what):
    body = ROBOT.replace(TRUNK, TRUNK + '<site name="trunk_site" pos=".1 .2 .3" euler="40 50 60"/>')
    text = world(STAND, body, after=f"<equality>{WELDS[what]}</equality>")
    robot, model = read(tmp_path, text, snap=False)
    data, tau = mujoco.MjData(model), None
    if what == "by sites":  # of a body that the base carries: a loop
        assert robot.floating and [loop.kind for loop in robot.loops] == ["weld"]
        return
    home = robot.frame("trunk").placement.matrix
    data.qpos[:3] = home[:3, 3]
    mujoco.mju_mat2Quat(data.qpos[3:7], home[:3, :3].ravel())
    mujoco.mj_fwdPosition(model, data)
    assert np.abs(data.efc_pos).max() < 1e-9 and data.nefc == 6
    data.qpos[7:] = q = np.array([0.1, -0.2, 0.3, 0.4])
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_rne(model, data, 0, tau := np.zeros(model.nv))
    assert np.abs(tp.gravity_torque(robot)(q) - tau[6:]).max() < TIGHT * np.abs(tau).max()


def test_a_welded_loop_has_its_anchor(tmp_path):
    weld = (
        '<equality><weld body1="l_shank" body2="r_shank" anchor=".1 .2 .3" relpose=".1 .2 .3 .8 .1 -.2 .3"/></equality>'
    )
    robot, model = read(tmp_path, world(ROBOT, after=weld), snap=False)
    data = mujoco.MjData(model)
    mujoco.mj_fwdPosition(model, data)
    ends = [robot.frame(name) for name in (robot.loops[0].frame_a, robot.loops[0].frame_b)]
    placed = []
    for end in ends:
        body, at = model.body(robot.links[end.link].name).id, end.placement.matrix
        placed.append(data.xpos[body] + data.xmat[body].reshape(3, 3) @ at[:3, 3])
    assert np.abs((placed[0] - placed[1]) - data.efc_pos[:3]).max() < 1e-12


SPRUNG = ARM.replace(
    'name="a_hip"', 'name="a_hip" stiffness="5" springref="20" damping=".7" frictionloss=".3" armature=".1"'
).replace('name="a_knee"', 'name="a_knee" stiffness="2" damping=".2" frictionloss=".1"')
EQUAL = '<equality><joint joint1="a_knee" joint2="a_hip" polycoef="0 2 0 0 0"/></equality>'
DRIVEN = '<actuator><motor joint="a_hip" gear="3" armature=".05" damping=".7"/></actuator>'
FLAGS = (
    *("constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "actuation"),
    *("spring damper", "constraint damper", "gravity spring", "eulerdamp sensor refsafe"),
)


@pytest.mark.parametrize("flags", FLAGS)
def test_flags_leave_out_what_mujoco_leaves_out(tmp_path, flags):
    option = (
        f"<option><flag {' '.join(f'{flag}=' + chr(34) + 'disable' + chr(34) for flag in flags.split())}/></option>"
    )
    robot, model = read(tmp_path, world(SPRUNG, before=option, after=EQUAL + DRIVEN), "ignore", snap=False)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    followers = int((data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY).sum())
    assert robot.n == 2 - followers
    free, model = read(tmp_path, world(SPRUNG, before=option, after=DRIVEN), "ignore", snap=False)
    assert passive_terms(free, model) < TIGHT
    said = [note for note in free.notes if "switched off" in note]
    assert bool(said) == bool({"constraint", "frictionloss", "spring", "damper"} & set(flags.split()))


def passive_terms(robot, model, seed=0):
    """The largest difference of gravity, springs, damping, dry friction and armature of hinges and slides from MuJoCo's."""
    q, qd, _ = (x[0] for x in states(robot, seed=seed))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, qd
    mujoco.mj_forward(model, data)
    rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF
    dry = np.zeros(robot.n)
    dry[data.efc_id[rows]] = data.efc_frictionloss[rows]
    terms = ("spring", "offset", "viscous", "coulomb")
    added = tp.inverse_dynamics(robot, terms=terms)(q, qd, 0 * q) - tp.inverse_dynamics(robot)(q, qd, 0 * q)
    mujoco.mj_fullM(model, data, mass := np.zeros((robot.n, robot.n)))
    down = tp.inverse_dynamics(robot)(q, 0 * q, 0 * q)
    mujoco.mj_rne(model, still := mujoco.MjData(model), 0, np.zeros(robot.n))
    still.qpos[:] = q
    mujoco.mj_forward(model, still)
    return max(
        np.abs(added - (dry * np.sign(qd) - data.qfrc_spring - data.qfrc_damper)).max(),
        np.abs(tp.mass_matrix(robot, terms=("rotor",)).compile("numpy")(q) - mass).max(),
        np.abs(down - still.qfrc_bias).max() / max(1.0, np.abs(down).max()),
    )


@pytest.mark.parametrize("seed", range(24))
def test_random_flags_are_mujocos(tmp_path, seed):
    rng = np.random.default_rng(seed)
    names = ("constraint", "frictionloss", "spring", "damper", "gravity", "actuation", "limit")
    flags = " ".join(f'{name}="{rng.choice(["enable", "disable"])}"' for name in names)
    joints = "".join(
        f'<joint name="j{k}" type="{rng.choice(["hinge", "slide"])}" axis="{" ".join(map(str, rng.normal(size=3)))}" '
        f'stiffness="{rng.uniform(0, 9)}" damping="{rng.uniform(0, 2)}" frictionloss="{rng.uniform(0, 2)}" '
        f'springref="{rng.uniform(-9, 9)}" armature="{rng.uniform(0, 0.2)}"/>'
        for k in range(3)
    )
    body = f'<body gravcomp="{rng.choice([0, 1])}" pos="0 0 1">{joints}<geom type="box" size=".1 .2 .3" pos=".1 .2 .3"/></body>'
    robot, model = read(tmp_path, world(body, before=f"<option><flag {flags}/></option>"), "ignore", snap=False)
    assert passive_terms(robot, model, seed) < 1e-10


def test_a_flag_of_older_versions_is_refused_with_its_successors(tmp_path):
    (tmp_path / "robot.xml").write_text(world(ARM, before='<option><flag passive="disable"/></option>'))
    with pytest.raises(TaupiError, match='spring="disable" damper="disable"'):
        tp.load(tmp_path / "robot.xml")


def test_gravity_compensation_that_a_flag_switches_off_is_no_warning(tmp_path):
    compensated = world(
        ARM.replace('pos=".1 0 0"', 'pos=".1 0 0" gravcomp="1"'), before='<option><flag gravity="disable"/></option>'
    )
    robot, _ = read(tmp_path, compensated)
    assert not any(float(g) for g in robot.gravity)


def test_springs_are_terms_of_the_link(tmp_path):
    sprung = ARM.replace('name="a_hip"', 'name="a_hip" stiffness="7" springref=".2"')
    robot, model = read(tmp_path, world(sprung, before='<compiler angle="radian"/>'))
    data = mujoco.MjData(model)
    data.qpos[:] = [0.5, 0.1]
    mujoco.mj_forward(model, data)
    q, still = np.array([0.5, 0.1]), np.zeros(2)
    with_spring = tp.inverse_dynamics(robot, terms=("spring", "offset"))(q, still, still)
    without = tp.inverse_dynamics(robot)(q, still, still)
    assert (with_spring - without).tolist() == pytest.approx([7 * 0.3, 0.0])
    assert data.qfrc_passive.tolist() == pytest.approx([-7 * 0.3, 0.0])


WARNED = {
    "gravity compensation": (world(ARM.replace('pos=".1 0 0"', 'pos=".1 0 0" gravcomp="1"')), "compensates it for 1 bodies"),
    "all of it": (world(SHAPES.replace('"b"', '"b" gravcomp="1"')), r"for 1 bodies\. .*with_gravity\(\(0, 0, 0\)\)"),
    "tendons that act": (world(ROBOT, after=ACTUATED.replace('name="t"', 'name="t" stiffness="4"')), "1 tendons are ignored"),
    "friction of a ball joint": (world(BALLS.replace('"wrist"', '"wrist" damping="1"')), "free and ball joints are ignored"),
    "driven tendons": (world(ROBOT, after=ACTUATED.replace('kp="5"', 'kp="5" armature=".1"')), "tendons are ignored, .*armature"),
    "equal tendons": (world(ROBOT, after=ACTUATED + '<equality><tendon tendon1="t"/></equality>'), r"ignored \(tendon\)"),
    "snapped": (world(SHAPES.replace("10 20 30", "0 0 1.57"), before='<compiler angle="radian"/>'), None),
}  # fmt: skip


@pytest.mark.parametrize("what", WARNED)
def test_what_changes_torques_is_never_silent(tmp_path, what):
    text, message = WARNED[what]
    if message is None:
        read(tmp_path, text)  # a quaternion of many digits: nothing was rounded, nothing is snapped
        return
    with pytest.raises(TaupiWarning, match=message):
        read(tmp_path, text)


MESHED = ROBOT.replace(TRUNK, TRUNK + '<geom type="mesh" mesh="hull" material="paint"/>')
ASSETS = """<asset><mesh name="hull" file="hull.stl"/><texture name="wood" type="2d" file="wood.png"/>
<material name="paint" texture="wood"/></asset>"""


def test_shapes_without_files_are_left_out(tmp_path):
    file = tmp_path / "robot.xml"
    file.write_text(world(MESHED, before=ASSETS))
    robot = tp.load(file)
    assert robot.floating and "1 shapes are left out" in robot.notes[0]
    assert robot.parameters == read(tmp_path, world(ROBOT))[0].parameters
    file.write_text(world(MESHED.replace(TRUNK, ""), before=ASSETS))
    with pytest.raises(TaupiError, match="body 'trunk' takes its mass from such a shape"):
        tp.load(file)


def test_a_base_that_never_moves_may_miss_the_file_of_its_mass(tmp_path):
    shape = '<geom type="mesh" mesh="hull"/>'
    text = world(f"<body>{shape}{ARM}</body>", before='<asset><mesh name="hull" file="hull.stl"/></asset>')
    (tmp_path / "robot.xml").write_text(text)
    robot = tp.load(tmp_path / "robot.xml")
    assert robot.parameters == read(tmp_path, world(ARM))[0].parameters
    (tmp_path / "robot.xml").write_text(text)
    assert any("body1 would take mass" in note for note in robot.notes)
    with pytest.raises(TaupiError, match="the mass of 'body1'"):
        tp.load(tmp_path / "robot.xml", floating=True)
    (tmp_path / "robot.xml").write_text(text.replace("<body>", '<body><joint name="turn"/>'))
    with pytest.raises(TaupiError, match="body 'body1' takes its mass from such a shape"):
        tp.load(tmp_path / "robot.xml")


def test_sensors_of_shapes_without_files_are_left_out(tmp_path):
    meshed = MESHED.replace('mesh="hull"', 'mesh="hull" name="shell"')
    sensor = '<sensor><framepos objtype="geom" objname="shell"/></sensor>'
    (tmp_path / "robot.xml").write_text(world(meshed, before=ASSETS, after=sensor))
    assert tp.load(tmp_path / "robot.xml").n == 10


def test_files_beside_the_folder_are_included(tmp_path):
    folder = tmp_path / "scene"
    folder.mkdir()
    (tmp_path / "body.xml").write_text(f"<mujocoinclude>{ROBOT}</mujocoinclude>")
    robot, model = read(folder, world('<include file="../body.xml"/>'), snap=False)
    assert robot.n == 10 == model.nv


def test_files_that_include_others(tmp_path):
    (tmp_path / "body.xml").write_text(f"<mujocoinclude>{ROBOT}</mujocoinclude>")
    robot, model = read(tmp_path, world('<include file="body.xml"/>'), snap=False)
    assert robot.n == 10 == model.nv
    (tmp_path / "leg.xml").write_text(world(ARM))
    attached = world(
        '<body name="base"><freejoint/><geom size=".1"/><frame pos="0 0 .1">'
        '<attach model="leg" body="a_thigh" prefix="x_"/></frame></body>',
        before='<asset><model name="leg" file="leg.xml"/></asset>',
    )
    robot, model = read(tmp_path, attached, snap=False)
    assert robot.joint_names[6:] == ("x_a_hip", "x_a_knee") and model.nv == robot.n
