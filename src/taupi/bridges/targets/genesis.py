"""Genesis: a URDF, and the setters of what that has no place for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from taupi.bridges.targets.passport import Passport
from taupi.bridges.targets.target import Place, Target, plain, register
from taupi.bridges.targets.urdf import urdf_text

_LOADER = '''import numpy as np

with np.load("samples.npz") as file:
    SAMPLES = dict(file)


def set_sample(robot, k, samples=SAMPLES):
    """Set the joints and masses of robot k in an entity, after scene.build(); 0 is the estimate."""
    dofs = [robot.get_joint(str(name)).dofs_idx_local[0] for name in samples["joint_names"]]
    robot.set_dofs_armature(samples["armature"][k], dofs)
    robot.set_dofs_damping(samples["viscous"][k], dofs)
    robot.set_dofs_frictionloss(samples["coulomb"][k], dofs)
    links = [robot.get_link(str(name)).idx_local for name in samples["link_names"]]
    robot.set_links_mass(samples["mass"][k], links)
'''


@register
class Genesis(Target):
    """A URDF and a function that adds it to a scene and sets its joints, joint by joint."""

    name: ClassVar[str] = "genesis"
    title: ClassVar[str] = "Genesis"
    versions: ClassVar[tuple[str, ...]] = ("1.4",)
    places: ClassVar[Mapping[str, Place]] = {
        "armature": Place("set_dofs_armature", note="a URDF alone would get 0.1 kg m^2 per joint"),
        "damping": Place("set_dofs_damping"),
        "dry_friction": Place("set_dofs_frictionloss"),
        "kp": Place("set_dofs_kp"),
        "kd": Place("set_dofs_kv"),
        "effort": Place("set_dofs_force_range"),
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "Call `set_joints` after scene.build(); load the URDF with default_armature=0, as `add` does.",
    )
    digits: ClassVar[str] = "float"
    link: ClassVar[str] = "https://genesis-world.readthedocs.io/"

    loader: ClassVar[str] = _LOADER

    def files(self, passport: Passport) -> dict[str, str]:
        """Return the URDF and the setters."""
        urdf = f"{passport.name}.urdf"
        return {urdf: urdf_text(passport), f"{passport.name}_genesis.py": _setters(passport, urdf)}


def _setters(passport: Passport, urdf: str) -> str:
    driven = [j.name for j in passport.robot.single_joints if not j.mimic]
    values = [passport.joints[name] for name in driven]
    drives = [passport.drives[name] for name in driven]
    effort = [float("inf") if d.effort is None else d.effort for d in drives]
    lines = [
        f'"""{plain(passport.robot.name)} in Genesis {passport.version}, identified by taupi."""',
        "",
        "from pathlib import Path",
        "",
        "import genesis as gs",
        "",
        f"JOINTS = {driven!r}",
        f"ARMATURE = {[v.armature for v in values]!r}  # kg m^2, kg",
        f"DAMPING = {[v.damping for v in values]!r}  # N m s/rad, N s/m",
        f"FRICTIONLOSS = {[v.dry_friction for v in values]!r}  # N m, N",
        f"KP = {[d.kp or 0.0 for d in drives]!r}",
        f"KV = {[d.kd for d in drives]!r}",
        f"EFFORT = {effort!r}".replace("inf", 'float("inf")'),
        "",
        "",
        "def add(scene):",
        '    """Add the robot to a scene, without the armature that Genesis would give it."""',
        f"    file = str(Path(__file__).with_name({urdf!r}))",
        f"    fixed = {not passport.robot.floating}",
        "    return scene.add_entity(gs.morphs.URDF(file=file, fixed=fixed, default_armature=0.0))",
        "",
        "",
        "def set_joints(robot):",
        '    """Set what was identified, after scene.build()."""',
        "    dofs = [robot.get_joint(name).dofs_idx_local[0] for name in JOINTS]",
        "    robot.set_dofs_armature(ARMATURE, dofs)",
        "    robot.set_dofs_damping(DAMPING, dofs)",
        "    robot.set_dofs_frictionloss(FRICTIONLOSS, dofs)",
        "    robot.set_dofs_kp(KP, dofs)",
        "    robot.set_dofs_kv(KV, dofs)",
        "    robot.set_dofs_force_range([-f for f in EFFORT], EFFORT, dofs)",
        "",
    ]
    return "\n".join(lines)
