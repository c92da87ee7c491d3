"""USD: bodies and joints as UsdPhysics has them, with the attributes of Newton and of PhysX for what that lacks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from taupi.bridges.alignment import vector_of
from taupi.bridges.mujoco.joint_attributes import number_text
from taupi.bridges.targets.bodies import JointedLink, base_name, principal, turned_to
from taupi.bridges.targets.newton_engine import NewtonModel
from taupi.bridges.targets.passport import Passport
from taupi.bridges.targets.target import Place, Target, TorqueFunction, identifier, register
from taupi.dynamics.orientation import quaternion
from taupi.errors import TaupiError
from taupi.model.robot_parts import BASE

# A mass of 0 would mean that the reader computes it from shapes.
_LEAST_MASS, _LEAST_INERTIA = 1e-9, 1e-12


@register
class Usd(Target):
    """One layer in text: `newton:` and `physxJointAxis:` attributes side by side, since each reader knows only its own."""

    name: ClassVar[str] = "usd"
    title: ClassVar[str] = "USD"
    versions: ClassVar[tuple[str, ...]] = ("26.11",)
    places: ClassVar[Mapping[str, Place]] = {
        "armature": Place("newton:armature, physxJointAxis:angular:armature"),
        "damping": Place("newton:damping, physxJointAxis:angular:viscousFrictionCoefficient", per_degree=True),
        "dry_friction": Place("newton:friction, physxJointAxis:angular:staticFrictionEffort, dynamicFrictionEffort"),
        "kp": Place("drive:angular:physics:stiffness", per_degree=True),
        "kd": Place("drive:angular:physics:damping", per_degree=True),
        "effort": Place("drive:angular:physics:maxForce"),
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "Read back with usd-core and Newton; PhysX's attributes were written after their documentation.",
        "Newton computes in single precision; newton:inertia is in double.",
    )
    checked: ClassVar[str] = "run"
    engine: ClassVar[str] = "Newton"
    needs: ClassVar[tuple[str, str]] = ("newton", "newton")
    digits: ClassVar[str] = "float"
    link: ClassVar[str] = "https://openusd.org/release/api/usd_physics_page_front.html"

    def files(self, passport: Passport) -> dict[str, str]:
        """Return the layer."""
        return {f"{passport.name}.usda": usd_text(passport)}

    def torque(self, folder: Path, passport: Passport) -> TorqueFunction:
        """Return Newton's inverse dynamics of the layer."""
        return NewtonModel.of(next(folder.glob("*.usda")), passport)


def usd_text(passport: Passport) -> str:
    """Return the robot of a passport as a USD layer."""
    return _Layer(passport).text()


class _Layer:
    def __init__(self, passport: Passport) -> None:
        self.passport, self.robot = passport, passport.robot
        followers = [piece.joint.name for piece in passport.pieces if piece.master]
        if followers:
            raise TaupiError(
                "{robot} has joints that follow others ({followers:,}), for which UsdPhysics has no schema.",
                remedy="Write it for MuJoCo or as URDF.",
                robot=self.robot.name,
                followers=followers,
            )
        self.base = base_name(self.robot)
        self.root = identifier(self.robot.name)
        self.links = _identifiers([self.base, *self.robot.link_names], self.robot.name)
        self.joints = _identifiers([j.name for j in self.robot.joints], self.robot.name)

    def text(self) -> str:
        gravity = vector_of(self.robot.gravity, self.robot)
        size = float(np.linalg.norm(gravity))
        down = gravity / size if size else np.array([0.0, 0.0, -1.0])
        fixed = not all(piece.free for piece in self.passport.pieces if piece.parent == BASE)
        lines = [
            "#usda 1.0",
            "(",
            f'    defaultPrim = "{self.root}"',
            "    kilogramsPerUnit = 1",
            "    metersPerUnit = 1",
            '    upAxis = "Z"',
            ")",
            "",
            'def PhysicsScene "physicsScene"',
            "{",
            f"    vector3f physics:gravityDirection = {_tuple(down)}",
            f"    float physics:gravityMagnitude = {number_text(size)}",
            "}",
            "",
            *_prim(
                "Xform", self.root, ["PhysicsArticulationRootAPI", "NewtonArticulationRootAPI"], self._content(fixed)
            ),
        ]
        return "\n".join([*lines, ""])

    def _content(self, fixed: bool) -> list[str]:
        lines: list[str] = []
        if fixed:
            lines += self._body(self.base, np.eye(4), 1.0, np.zeros(3), np.eye(3))  # bolted: its mass has no effect
        for piece in self.passport.pieces:
            lines += self._body(piece.link, piece.world, piece.mass, piece.com, piece.inertia)
        joints: list[str] = []
        if fixed:
            to = [f"rel physics:body1 = {self._path(self.base)}"]
            joints += _prim("PhysicsFixedJoint", f"{self.links[self.base]}_to_world", [], to)
        for piece in self.passport.pieces:
            joints += [] if piece.free else self._joint(piece)
        return [*lines, *_prim("Scope", "joints", [], joints)]

    def _body(self, name: str, world: np.ndarray, mass: float, com: np.ndarray, inertia: np.ndarray) -> list[str]:
        if np.linalg.eigvalsh(inertia)[0] < _LEAST_INERTIA:
            inertia = inertia + _LEAST_INERTIA * np.eye(3)
        moments, axes = principal(inertia)
        six = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        content = [
            f"point3f physics:centerOfMass = {_tuple(com)}",
            f"float3 physics:diagonalInertia = {_tuple(moments)}",
            f"float physics:mass = {number_text(max(mass, _LEAST_MASS))}",
            f"quatf physics:principalAxes = {_tuple(quaternion(axes))}",
            f"double[] newton:inertia = [{', '.join(map(number_text, six))}]",
            f"quatd xformOp:orient = {_tuple(quaternion(world[:3, :3]))}",
            f"double3 xformOp:translate = {_tuple(world[:3, 3])}",
            'uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]',
        ]
        schemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "NewtonMassAPI"]
        return _prim("Xform", self.links[name], schemas, content, name)

    def _joint(self, piece: JointedLink) -> list[str]:
        joint, place = piece.joint, self.passport.target.places
        values, drive = self.passport.joints[joint.name], self.passport.drives[joint.name]
        slides = joint.prismatic
        word, kind = ("linear", "PhysicsPrismaticJoint") if slides else ("angular", "PhysicsRevoluteJoint")
        turn = turned_to(piece.axis)
        axis = f"physxJointAxis:{word}"

        def number(quantity: str, value: float) -> str:
            return number_text(place[quantity].number(value, slides))

        content = [
            'uniform token physics:axis = "Z"',
            f"rel physics:body0 = {self._path(self.base if piece.parent == BASE else self.passport.pieces[piece.parent].link)}",
            f"rel physics:body1 = {self._path(piece.link)}",
            f"point3f physics:localPos0 = {_tuple(piece.pose[:3, 3])}",
            "point3f physics:localPos1 = (0, 0, 0)",
            f"quatf physics:localRot0 = {_tuple(quaternion(piece.pose[:3, :3] @ turn))}",
            f"quatf physics:localRot1 = {_tuple(quaternion(turn))}",
            f"float newton:armature = {number('armature', values.armature)}",
            f"float newton:damping = {number('damping', values.damping)}",
            f"float newton:friction = {number('dry_friction', values.dry_friction)}",
            f"float {axis}:armature = {number('armature', values.armature)}",
            f"float {axis}:viscousFrictionCoefficient = {number('damping', values.damping)}",
            f"float {axis}:staticFrictionEffort = {number('dry_friction', values.dry_friction)}",
            f"float {axis}:dynamicFrictionEffort = {number('dry_friction', values.dry_friction)}",
            f"float physxJoint:armature = {number('armature', values.armature)}",
        ]
        if piece.range:
            scale = 1.0 if slides else 180 / math.pi
            content += [
                f"float physics:lowerLimit = {number_text(piece.range[0] * scale)}",
                f"float physics:upperLimit = {number_text(piece.range[1] * scale)}",
            ]
        content += [
            f"float drive:{word}:physics:stiffness = {number('kp', drive.kp or 0.0)}",
            f"float drive:{word}:physics:damping = {number('kd', drive.kd)}",
            f'uniform token drive:{word}:physics:type = "force"',
        ]
        if drive.effort is not None:
            content.append(f"float drive:{word}:physics:maxForce = {number('effort', drive.effort)}")
        schemas = [f"PhysicsDriveAPI:{word}", "NewtonJointAPI", "PhysxJointAPI", f"PhysxJointAxisAPI:{word}"]
        return _prim(kind, self.joints[joint.name], schemas, content, joint.name)

    def _path(self, link: str) -> str:
        return f"</{self.root}/{self.links[link]}>"


def _prim(kind: str, name: str, schemas: Sequence[str], content: Sequence[str], label: str | None = None) -> list[str]:
    """Return a prim; the name that a robot has for it is kept as its display name if USD has another."""
    metadata = [] if label in (None, name) else [f"    displayName = {_quoted(str(label))}"]
    if schemas:
        metadata.append("    prepend apiSchemas = [" + ", ".join(f'"{s}"' for s in schemas) + "]")
    head = [f'def {kind} "{name}"', *(["(", *metadata, ")"] if metadata else [])]
    return [*head, "{", *(f"    {line}" if line else "" for line in content), "}", ""]


def _tuple(values: Sequence[float] | np.ndarray) -> str:
    return f"({', '.join(number_text(float(v)) for v in values)})"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def _identifiers(names: Sequence[str], robot: str) -> dict[str, str]:
    """Return the names as USD identifiers; refuse two that would become the same one."""
    result: dict[str, str] = {}
    for name in names:
        word = identifier(name)
        if word in result.values():
            raise TaupiError(
                "{robot} has two names that USD would take for {word!r}.",
                remedy="Rename one of them in the description.",
                robot=robot,
                word=word,
            )
        result[name] = word
    return result
