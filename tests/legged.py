"""A quadruped in MuJoCo that stands on point feet and lifts its legs by turns: states, torques and contact forces."""

import warnings
import xml.etree.ElementTree as ET
from functools import cache

import mujoco
import numpy as np

import taupi as tp

FEET = ("FL", "FR", "RL", "RR")
RATE = 200  # samples per second that are kept


def _leg(name, x, y):
    side = 1 if y > 0 else -1
    return f"""<body name="{name}_hip" pos="{x} {y} 0"><joint name="{name}_hip" axis="1 0 0"/>
<inertial mass=".7" pos="-.005 {0.002 * side} 0" fullinertia=".0005 .0008 .0006 -.00001 0 0"/>
<body name="{name}_thigh" pos="0 {0.09 * side} 0"><joint name="{name}_thigh" axis="0 1 0"/>
<inertial mass="1.1" pos="-.004 {-0.02 * side} -.03" fullinertia=".0058 .0057 .001 .00002 -.0003 .00008"/>
<body name="{name}_calf" pos="0 0 -.213"><joint name="{name}_calf" axis="0 1 0"/>
<inertial mass=".2" pos=".005 0 -.12" fullinertia=".0013 .0013 .0001 0 .00003 0"/>
<geom name="{name}" type="sphere" size=".002" pos="0 0 -.213" mass="0" condim="3" friction=".9"/>
<site name="{name}" pos="0 0 -.213"/></body></body></body>"""


MODEL = f"""<mujoco model="quadruped"><compiler angle="radian"/>
<option timestep=".001" solver="Newton" tolerance="1e-14" iterations="100" cone="elliptic" integrator="Euler"/>
<default><joint armature=".008" damping=".15"/><geom solref=".01 1"/></default>
<worldbody><geom type="plane" size="5 5 .1" condim="3"/>
<body name="trunk" pos="0 0 .33"><freejoint name="root"/>
<inertial mass="6.9" pos=".02 0 -.005" fullinertia=".024 .098 .107 .0001 .001 0"/>
{_leg("FL", 0.19, 0.05)}{_leg("FR", 0.19, -0.05)}{_leg("RL", -0.19, 0.05)}{_leg("RR", -0.19, -0.05)}</body></worldbody>
</mujoco>"""


def robot(tmp_path):
    file = tmp_path / "quadruped.xml"
    file.write_text(MODEL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tp.load(file, snap=False)


def go2(robots_dir):
    """Unitree's Go2 from its URDF: the robot on a free base, and a MuJoCo model of the same links on a floor, with drives."""
    path = robots_dir / "go2_description/urdf/go2.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = tp.Robot.from_urdf(path, floating=True, snap=False)
    root = ET.fromstring(path.read_text())
    for element in list(root):
        if element.tag not in ("link", "joint"):
            root.remove(element)
        for shape in element.findall("visual") + element.findall("collision"):
            element.remove(shape)
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", {"fusestatic": "false"})
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    spec.option.tolerance, spec.option.iterations, spec.option.timestep = 1e-14, 100, 0.001
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1], condim=3, solref=[0.01, 1])
    trunk = spec.body(robot.link_names[0])
    trunk.pos = [0, 0, 0.33]
    trunk.add_freejoint(name="root")
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_HINGE:
            joint.armature, joint.damping, joint.frictionloss = 0.008, [0.15, 0, 0], 0
            joint.limited, joint.actfrclimited = 0, 0
    for foot in FEET:
        sphere = {
            "type": mujoco.mjtGeom.mjGEOM_SPHERE,
            "size": [0.002, 0, 0],
            "mass": 0,
            "condim": 3,
            "solref": [0.01, 1],
        }
        spec.body(f"{foot}_foot").add_geom(name=foot, friction=[0.9, 0.005, 0.0001], **sphere)
        spec.body(f"{foot}_foot").add_site(name=foot)
    model = spec.compile()
    order = [model.joint(k).name for k in range(1, model.njnt)]
    return robot.with_transmissions(rotor_inertia=0.008).with_friction(viscous=0.15), model, order


@cache
def record(seconds=8.0, stand=False):
    """The quadruped's states, as `simulated` gives them."""
    return simulated(mujoco.MjModel.from_xml_string(MODEL), seconds, stand=stand)


def simulated(model, seconds, rate=RATE, stand=False):
    """time, q, qd, qdd in MuJoCo's convention, motor torques, contact flags, and wrenches on the feet in their axes."""
    data = mujoco.MjData(model)
    home = np.tile([0.0, 0.8, -1.5], 4)
    data.qpos[7:] = home
    rows = {name: [] for name in ("t", "q", "qd", "qdd", "tau", "flags", "force")}
    feet = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, f) for f in FEET]
    phases = np.array([0.3, 1.1, 2.0, 2.9, 0.7, 1.9, 2.3, 0.2, 1.4, 2.6, 0.9, 1.7])
    for k in range(int((seconds + 1.0) / model.opt.timestep)):
        t = k * model.opt.timestep
        target = home + 0.06 * np.sin(2 * np.pi * (0.9 + 0.13 * np.arange(12)) * t + phases)
        leg, into = (0, 3, 1, 2)[int(t / 0.4) % 4], t % 0.4
        if into < 0.16 and t > 1 and not stand:
            target[3 * leg : 3 * leg + 3] += np.sin(np.pi * into / 0.16) ** 2 * np.array([0.1, 0.3, -0.6])
        ctrl = 120 * (target - data.qpos[7:]) - 3.0 * data.qvel[6:]
        data.qfrc_applied[6:] = ctrl
        mujoco.mj_forward(model, data)
        if t >= 1 and k % round(1000 / rate) == 0:
            flags, force, wrench = np.zeros(4, dtype=bool), np.zeros((4, 6)), np.zeros(6)
            for c in range(data.ncon):
                contact = data.contact[c]
                if contact.geom2 in feet and contact.efc_address >= 0:
                    i = feet.index(contact.geom2)
                    mujoco.mj_contactForce(model, data, c, wrench)
                    pull = contact.frame.reshape(3, 3).T @ wrench[:3]
                    site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, FEET[i])
                    turn = data.site_xmat[site].reshape(
                        3, 3
                    )  # it acts where bodies touch, a little off the foot's middle
                    lever = np.cross(contact.pos - data.site_xpos[site], pull)
                    flags[i], force[i] = True, np.concatenate([turn.T @ lever, turn.T @ pull])
            for name, value in zip(rows, (t, data.qpos, data.qvel, data.qacc, ctrl, flags, force), strict=True):
                rows[name].append(np.array(value))
        mujoco.mj_step(model, data)
    return {name: np.array(value) for name, value in rows.items()}
