"""USD: an arm written into a stage by usd-core alone, with joint frames of its own, has the dynamics of the arm."""

import numpy as np
import pytest

import taupi as tp

pxr = pytest.importorskip("pxr")
from pxr import Gf, Usd, UsdGeom, UsdPhysics  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402

N = 3
ANGLES = np.array([[0.3, -0.2, 0.5], [0.1, 0.7, -0.4], [-0.6, 0.2, 0.1]])
STEPS = np.array([[0.0, 0.1, 0.3], [0.4, 0.0, 0.1], [0.2, -0.1, 0.2]])
MASSES, COMS = np.array([2.0, 1.5, 0.7]), np.array([[0.1, 0.02, 0.05], [0.2, -0.03, 0.01], [0.05, 0.0, 0.1]])
MOMENTS = np.array([[0.02, 0.03, 0.025], [0.01, 0.015, 0.012], [0.002, 0.003, 0.0025]])
TILTS = np.array([[0.2, 0.1, -0.3], [0.0, 0.4, 0.2], [0.5, 0.0, 0.1]])


def quaternion(rotation):
    x, y, z, w = rotation.as_quat()
    return Gf.Quatf(float(w), Gf.Vec3f(float(x), float(y), float(z)))


def vector(values):
    return Gf.Vec3f(*(float(v) for v in values))


def stage(path, metre=1.0, kilogram=1.0, kinds=("Revolute", "Revolute", "Prismatic"), inwards=(), up="Z"):
    """Write a chain of three bodies; each joint's frame is turned so that its axis is the child's z."""
    made = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(made, metre)
    UsdPhysics.SetStageKilogramsPerUnit(made, kilogram)
    UsdGeom.SetStageUpAxis(made, up)
    names = ["base", *(f"link{k + 1}" for k in range(N))]
    pose = np.eye(4)
    for k, name in enumerate(names):
        if k:
            step = np.eye(4)
            step[:3, :3], step[:3, 3] = Rotation.from_euler("xyz", ANGLES[k - 1]).as_matrix(), STEPS[k - 1]
            pose = pose @ step
        body = UsdGeom.Xform.Define(made, f"/arm/{name}")
        shown = pose.copy()
        shown[:3, 3] /= metre
        body.AddTransformOp().Set(Gf.Matrix4d(shown.T))
        UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
        if k:
            mass = UsdPhysics.MassAPI.Apply(body.GetPrim())
            mass.CreateMassAttr(float(MASSES[k - 1] / kilogram))
            mass.CreateCenterOfMassAttr(vector(COMS[k - 1] / metre))
            mass.CreateDiagonalInertiaAttr(vector(MOMENTS[k - 1] / kilogram / metre**2))
            mass.CreatePrincipalAxesAttr(quaternion(Rotation.from_euler("xyz", TILTS[k - 1])))
    bolt = UsdPhysics.FixedJoint.Define(made, "/arm/bolt")
    bolt.CreateBody1Rel().SetTargets(["/arm/base"])
    for k, kind in enumerate(kinds):
        joint = getattr(UsdPhysics, f"{kind}Joint").Define(made, f"/arm/joint{k + 1}")
        turned = Rotation.from_euler("y", -90, degrees=True)  # its x axis is the child's z
        inner, outer = Rotation.from_euler("xyz", ANGLES[k]) * turned, turned
        sides = [(names[k], STEPS[k], inner), (names[k + 1], np.zeros(3), outer)]
        for number, (body, place, rotation) in enumerate(sides[::-1] if k in inwards else sides):
            getattr(joint, f"CreateBody{number}Rel")().SetTargets([f"/arm/{body}"])
            getattr(joint, f"CreateLocalPos{number}Attr")(vector(place / metre))
            getattr(joint, f"CreateLocalRot{number}Attr")(quaternion(rotation))
        joint.CreateAxisAttr("X")
        if kind == "Revolute":
            joint.CreateLowerLimitAttr(-90.0)
            joint.CreateUpperLimitAttr(120.0)
    made.Save()
    return path


def urdf(path, kinds=("revolute", "revolute", "prismatic")):
    """Write the same chain as URDF, by its own conventions."""
    text = '<robot name="arm"><link name="base"/>'
    for k, kind in enumerate(kinds):
        tensor = Rotation.from_euler("xyz", TILTS[k]).as_matrix()
        tensor = tensor @ np.diag(MOMENTS[k]) @ tensor.T
        entries = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{tensor[i, j]:.15g}"' for i in range(3) for j in range(i, 3))
        text += (
            f'<link name="link{k + 1}"><inertial><origin xyz="{" ".join(map(str, COMS[k]))}"/><mass value="{MASSES[k]}"/>'
            f'<inertia {entries}/></inertial></link><joint name="joint{k + 1}" type="{kind}">'
            f'<parent link="{"base" if k == 0 else f"link{k}"}"/><child link="link{k + 1}"/>'
            f'<origin xyz="{" ".join(map(str, STEPS[k]))}" rpy="{" ".join(map(str, ANGLES[k]))}"/><axis xyz="0 0 1"/>'
            '<limit lower="-9" upper="9" effort="1" velocity="1"/></joint>'
        )
    path.write_text(text + "</robot>")
    return tp.load(path)


def compare(robot, other, signs=1.0):
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, qd, qdd = rng.normal(size=(3, N))
        want = tp.inverse_dynamics(other)(q, qd, qdd)
        got = tp.inverse_dynamics(robot)(signs * q, signs * qd, signs * qdd) * signs
        assert np.allclose(got, want, atol=2e-5 * np.abs(want).max())  # a stage holds single precision


@pytest.mark.parametrize("ending", [".usda", ".usdc", ".usd"])
@pytest.mark.parametrize(("metre", "kilogram"), [(1.0, 1.0), (0.01, 0.001)])
def test_a_stage_has_the_dynamics_of_the_arm(tmp_path, ending, metre, kilogram):
    robot = tp.load(stage(tmp_path / f"arm{ending}", metre, kilogram))
    compare(robot, urdf(tmp_path / "arm.urdf"))
    assert robot.joint_names == ("joint1", "joint2", "joint3") and robot.link_names == ("link1", "link2", "link3")
    limits = robot.joints[0].limits
    assert limits.lower == pytest.approx(-np.pi / 2) and limits.upper == pytest.approx(2 * np.pi / 3)


def test_joints_that_are_stated_inwards(tmp_path):
    robot = tp.load(stage(tmp_path / "arm.usda", inwards=(1, 2)))
    compare(robot, urdf(tmp_path / "arm.urdf"), np.array([1, -1, -1]))


def test_up_axis_friction_and_the_base(tmp_path):
    path = stage(tmp_path / "arm.usda", up="Y")
    made = Usd.Stage.Open(str(path))
    from pxr import Sdf

    prim = made.GetPrimAtPath("/arm/joint1")
    for name, value in (("newton:damping", 0.5 * np.pi / 180), ("newton:friction", 0.3), ("newton:armature", 0.02)):
        prim.CreateAttribute(name, Sdf.ValueTypeNames.Float).Set(float(value))
    made.Save()
    robot = tp.load(path)
    assert [float(v) for v in robot.gravity] == [0, -9.81, 0]
    joint = robot.joints[0]
    assert float(joint.friction.viscous) == pytest.approx(0.5) and float(joint.friction.coulomb) == pytest.approx(0.3)
    assert float(joint.transmission.rotor_inertia) == pytest.approx(0.02)
    assert tp.load(path, floating=True).n == N + 6 and tp.load(path, lock=["joint3"]).n == 2


def test_a_first_joint_on_the_ground(tmp_path):
    path = stage(tmp_path / "arm.usda")
    made = Usd.Stage.Open(str(path))
    made.RemovePrim("/arm/base"), made.RemovePrim("/arm/bolt")
    UsdPhysics.Joint(made.GetPrimAtPath("/arm/joint1")).GetBody0Rel().ClearTargets(True)
    made.Save()
    compare(tp.load(path), urdf(tmp_path / "arm.urdf"))


def edited(path, edit):
    made = Usd.Stage.Open(str(path))
    edit(made)
    made.Save()
    return path


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda s: UsdPhysics.MassAPI(s.GetPrimAtPath("/arm/link2")).GetMassAttr().Set(0.0), "no mass of its own"),
        (
            lambda s: UsdPhysics.MassAPI(s.GetPrimAtPath("/arm/link2")).GetDiagonalInertiaAttr().Set(Gf.Vec3f(0)),
            "'link2' has no inertia of its own",
        ),
        (lambda s: UsdPhysics.Joint.Define(s, "/arm/joint2"), "expected a revolute, prismatic, fixed or spherical"),
        (
            lambda s: UsdPhysics.Joint(s.GetPrimAtPath("/arm/joint3")).GetBody1Rel().SetTargets(["/arm/link2"]),
            "to itself",
        ),
        (lambda s: [s.RemovePrim(f"/arm/joint{k}") for k in (1, 2, 3)], "no moving joint"),
        (lambda s: s.RemovePrim("/arm"), "0 rigid bodies"),
    ],
)
def test_stages_that_cannot_be(tmp_path, edit, words):
    path = edited(stage(tmp_path / "arm.usda"), edit)
    with pytest.raises(tp.TaupiError, match=words):
        tp.load(path)


def test_damage_and_a_loop(tmp_path):
    path = stage(tmp_path / "arm.usda")
    (tmp_path / "cut.usda").write_text(path.read_text()[:300])
    (tmp_path / "cut.usdc").write_bytes(b"PXR-USDC" + bytes(100))
    for name in ("cut.usda", "cut.usdc"):
        with pytest.raises(tp.TaupiError, match=r"cut off or damaged|rigid bodies"):
            tp.load(tmp_path / name)

    def loop(made):
        joint = UsdPhysics.FixedJoint.Define(made, "/arm/loop")
        joint.CreateBody0Rel().SetTargets(["/arm/base"])
        joint.CreateBody1Rel().SetTargets(["/arm/link3"])

    with pytest.raises(tp.TaupiError, match="closes a loop"):
        tp.load(edited(path, loop))
