"""An MJCF file compiled by MuJoCo, without its shapes where their files are missing."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from taupi.errors import TaupiError
from taupi.input_files import printable
from taupi.model.formats import xml_tree
from taupi.model.formats.mjcf_check import check_mjcf
from taupi.model.formats.text_file import read_text

if TYPE_CHECKING:
    from mujoco import MjModel

_MISSING = re.compile(r"opening file|resource.*not found|no such file|could not (open|find|read)", re.IGNORECASE)


def mujoco_module() -> ModuleType:
    """Return the module `mujoco`, or raise an error that says how to install it."""
    try:
        import mujoco
    except ImportError:
        raise TaupiError("Reading MJCF needs the mujoco package. Install it with: pip install taupi[mjcf]") from None
    return mujoco


def compiled(file: Path) -> tuple[MjModel, tuple[str, ...]]:
    """Return the model of an MJCF file, compiled by MuJoCo, and notes on what was done to it.

    What the file asks for is added up first: MuJoCo would open pipes, and fill memory. Its root element may be <robot>, too.
    Where files of meshes or textures are missing, shapes that need them are left out, provided that no body takes its mass
    from one.
    """
    document = xml_tree.parse(read_text(file), printable(file.name))
    if document.tag not in ("mujoco", "mujocoinclude", "robot"):
        raise TaupiError(f"{file.name}: the root element is <{document.tag[:40]}>, expected <mujoco> or <robot>.")
    check_mjcf(document, file)
    mujoco = mujoco_module()
    errors = (ValueError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError)
    try:
        return mujoco.MjModel.from_xml_path(str(file)), ()
    except errors as error:
        reason = _sentence(error)
    if not _MISSING.search(reason):
        raise TaupiError(f"{file.name}: MuJoCo cannot compile it: {reason}.")
    try:
        return _without_shapes(mujoco, file, reason)
    except errors as error:
        if isinstance(error, TaupiError):
            raise
        raise TaupiError(f"{file.name}: MuJoCo cannot compile it: {reason}.") from None


def _sentence(error: BaseException) -> str:
    reason = re.sub(r"\s+", " ", str(error)).strip().removeprefix("XML Error: ").removeprefix("Error: ")
    return reason[:300].rstrip(".")


def _without_shapes(mujoco: ModuleType, file: Path, reason: str) -> tuple[MjModel, tuple[str, ...]]:
    spec = mujoco.MjSpec.from_file(str(file))
    from_geoms = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    for body in spec.bodies:
        shapes = [g for g in body.geoms if _needs_file(g) and _has_mass(g, spec)]
        if shapes and body.name != "world" and (from_geoms or not body.explicitinertial):
            raise TaupiError(
                f"{file.name}: {reason}, and body {body.name!r} takes its mass from such a shape.",
                remedy="Add the files, or give the body an <inertial>.",
            )
    count = 0
    for geom in list(spec.geoms):
        if _needs_file(geom):
            spec.delete(geom)
            count += 1
        else:
            geom.material = ""
    for site in spec.sites:
        site.material = ""
    for tendon in spec.tendons:
        tendon.material = ""
    shown = (spec.skins, spec.meshes, spec.hfields, spec.materials, spec.textures)
    for elements in (spec.sensors, spec.pairs, spec.excludes, *shown):  # they may name a shape
        for element in list(elements):
            spec.delete(element)
    return spec.compile(), (f"{reason}: {count} shapes are left out; all bodies have their own inertia",)


def _needs_file(geom: Any) -> bool:
    return bool(geom.meshname or geom.hfieldname)


def _has_mass(geom: Any, spec: Any) -> bool:
    """Return whether a geom adds to the mass of its body: not by mass or density zero, nor by its group."""
    first, last = spec.compiler.inertiagrouprange
    if not first <= geom.group <= last:
        return False
    return geom.mass > 0 if geom.mass == geom.mass else geom.density > 0
