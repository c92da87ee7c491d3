"""Elastic joints against MuJoCo, where links and rotors are bodies of their own and springs are tendons.

A rotor turns by phi = k theta on the link that carries it. Its mass and inertia are in no link there; here they are in the
link's ten parameters, but for the spin.
"""

import dataclasses
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import PEER, error, random_robot

import taupi as tp
from taupi.model.placement import Placement
from taupi.model.scalars import unit_vector


def text(values):
    return " ".join(repr(float(v)) for v in np.ravel(values))


@dataclasses.dataclass(frozen=True)
class Rotor:
    """A rotor with its centre of mass on its axis, as round as rotors are."""

    mass: float
    centre: np.ndarray
    axis: np.ndarray
    axial: float
    ratio: float

    @property
    def inertia(self):
        along = np.outer(self.axis, self.axis)
        return self.axial * along + 0.7 * self.axial * (np.eye(3) - along)

    def ten(self):
        """Its ten parameters in the frame of the link that carries it."""
        s = np.array([[0, -self.centre[2], self.centre[1]], [self.centre[2], 0, -self.centre[0]], [0, 0, 0]])
        s[2] = [-self.centre[1], self.centre[0], 0]
        tensor = self.inertia + self.mass * s.T @ s
        six = [tensor[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
        return np.r_[self.mass, self.mass * self.centre, six]


def inertial(body, ten):
    """Write ten parameters as MuJoCo wants them: at the centre of mass."""
    m, c = ten[0], ten[1:4] / ten[0]
    xx, xy, xz, yy, yz, zz = ten[4:]
    at_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    i = at_origin - m * (c @ c * np.eye(3) - np.outer(c, c))
    six = (i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2])
    ET.SubElement(body, "inertial", {"pos": text(c), "mass": text(m), "fullinertia": text(six)})


def model_of(robot, own, rotors, stiffness, damping, viscous):
    """A MuJoCo model: links with their own bodies, rotors on the links that carry them, tendons between."""
    root = ET.Element("mujoco")
    ET.SubElement(root, "compiler", {"angle": "radian", "boundmass": "0", "balanceinertia": "false"})
    ET.SubElement(root, "option", {"gravity": text(robot.gravity)})
    bodies = [ET.SubElement(root, "worldbody")]
    tendons = ET.SubElement(root, "tendon")
    for i, joint in enumerate(robot.joints):
        turn = Rotation.from_matrix(np.array(joint.before.rotation, dtype=float)).as_quat()[[3, 0, 1, 2]]
        place = {"pos": text(joint.before.translation), "quat": text(turn)}
        carrier = bodies[joint.parent + 1]
        body = ET.SubElement(carrier, "body", {"name": f"link{i}", **place})
        kind = "slide" if joint.prismatic else "hinge"
        ET.SubElement(body, "joint", {"name": f"q{i}", "type": kind, "axis": text(joint.axis)})
        inertial(body, own[i])
        bodies.append(body)
        rotor = rotors[i]
        spinning = ET.SubElement(carrier, "body", {"name": f"rotor{i}", "pos": text(rotor.centre)})
        friction = viscous[i] / rotor.ratio**2
        spin = {"name": f"phi{i}", "type": "hinge", "axis": text(rotor.axis), "damping": repr(float(friction))}
        ET.SubElement(spinning, "joint", spin)
        inertial(spinning, Rotor(rotor.mass, np.zeros(3), rotor.axis, rotor.axial, rotor.ratio).ten())
        spring = {"stiffness": text(stiffness[i]), "damping": text(damping[i]), "springlength": "0"}
        tendon = ET.SubElement(tendons, "fixed", spring)
        ET.SubElement(tendon, "joint", {"joint": f"q{i}", "coef": "1"})
        ET.SubElement(tendon, "joint", {"joint": f"phi{i}", "coef": repr(-1 / rotor.ratio)})
    model = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model


def made(seed):
    """A random tree without frames behind joints, its links and rotors apart (for MuJoCo) and together (for us)."""
    rng = np.random.default_rng(seed)
    robot = random_robot(seed, joints=5)
    joints = tuple(dataclasses.replace(j, after=Placement()) for j in robot.joints)
    robot = dataclasses.replace(robot, joints=joints, base=Placement())
    n = robot.n
    axes = [np.array(unit_vector(v), dtype=float) for v in rng.normal(size=(n, 3))]
    rotors = [
        Rotor(rng.uniform(0.2, 1), rng.uniform(-0.3, 0.3, 3), z, rng.uniform(0.002, 0.02), rng.uniform(2, 9))
        for z in axes
    ]
    own = robot.parameters.values.reshape(n, 10)
    together = own.copy()
    for joint, rotor in zip(robot.joints, rotors, strict=True):
        if joint.parent >= 0:
            together[joint.parent] += rotor.ten()
    stiffness, damping, viscous = rng.uniform(100, 900, n), rng.uniform(0, 2, n), rng.uniform(0, 2, n)
    arm = robot.with_parameters(together.ravel()).with_transmissions(
        stiffness=stiffness,
        rotor_inertia=[r.axial for r in rotors],
        gear_ratio=[r.ratio for r in rotors],
        motor_axis=axes,
        damping=damping,
        viscous=viscous,
        coulomb=0,
        offset=0,
        stribeck=0,
    )
    return arm, model_of(robot, own, rotors, stiffness, damping, viscous), np.array([r.ratio for r in rotors])


@pytest.mark.parametrize("seed", range(6))
def test_against_rotors_as_bodies(seed):
    arm, model, ratio = made(seed)
    n = arm.n
    rng = np.random.default_rng([seed, 1])
    q, qd, qdd, thetad, thetadd = rng.uniform(-1.5, 1.5, (5, n))
    theta = q + rng.uniform(-0.1, 0.1, n)
    data = mujoco.MjData(model)
    link = [model.joint(f"q{i}").dofadr[0] for i in range(n)]
    motor = [model.joint(f"phi{i}").dofadr[0] for i in range(n)]
    for field, a, b in ((data.qpos, q, theta), (data.qvel, qd, thetad), (data.qacc, qdd, thetadd)):
        field[link], field[motor] = a, ratio * b
    mujoco.mj_inverse(model, data)
    wanted = np.r_[data.qfrc_inverse[link], ratio * data.qfrc_inverse[motor]]
    assert error(tp.elastic.inverse_dynamics(arm)(q, qd, qdd, theta, thetad, thetadd), wanted) < PEER
    Y = tp.elastic_regressor(arm, terms=("coulomb", "viscous", "damping"))
    assert error(Y(q, qd, qdd, theta, thetad, thetadd) @ Y.parameters.values, wanted) < PEER
    mass = np.zeros((2 * n, 2 * n))
    mujoco.mj_fullM(model, data, mass)
    scale = np.r_[np.ones(n), ratio]
    both = [*link, *motor]
    assert error(tp.elastic.mass_matrix(arm)(q), scale[:, None] * mass[np.ix_(both, both)] * scale) < PEER
    # Forward: the torques that its own motors get.
    u = rng.uniform(-20, 20, n)
    data.qfrc_applied[:] = 0
    data.qfrc_applied[motor] = u / ratio
    mujoco.mj_forward(model, data)
    ours = tp.elastic.forward_dynamics(arm)(q, qd, theta, thetad, u)
    for got, expected in zip(ours, (data.qacc[link], data.qacc[motor] / ratio), strict=True):
        assert error(got, expected) < PEER


def test_gravity_of_the_vectors_robots_is_that_of_the_rigid_arm():
    from elastic import arm

    for name in ("planar2", "spatial3", "rpr3", "puma560"):
        q = np.random.default_rng(2).uniform(-2, 2, (4, arm(name).n))
        got = tp.elastic.gravity_torque(arm(name))(q)
        assert error(got[:, : arm(name).n], tp.gravity_torque(arm(name))(q)) == 0
        assert not got[:, arm(name).n :].any()
