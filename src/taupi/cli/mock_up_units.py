"""Functional Mock-up Units on the command line: where they go, and the plant inside one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taupi.cli.components import fit_of
from taupi.cli.description import Description
from taupi.errors import TaupiError

if TYPE_CHECKING:
    from taupi.simulation.plants.elastic_plant import ElasticPlant
    from taupi.simulation.plants.rigid_plant import RigidPlant

PLANT = "plant"


@dataclass(frozen=True)
class UnitOptions:
    """Where a unit goes and what it is like: the options --fmu, --fmi, --step and --binary."""

    path: Path | None
    fmi: str
    step: float | None
    binary: bool

    def write(self, subject: Any, name: str | None, force: bool) -> Path:
        """Write the unit of a plant, a law or a component, and return its path."""
        import taupi as tp

        assert self.path is not None
        return tp.bridges.emit_fmu(subject, self.path, self.fmi, name, self.step, self.binary, force)

    def refuse_alone(self) -> None:
        """Refuse options of a unit where none is asked for."""
        if self.step is not None or not self.binary or self.fmi != "3.0":
            raise TaupiError("--fmi, --step and --no-binary go with --fmu FILE.fmu.")


def build_plant(source: str, terms: tuple[str, ...], description: Description) -> RigidPlant | ElasticPlant:
    """Return the plant of a robot with `terms`, or of a fit with its own."""
    import taupi as tp

    fit = fit_of(source)
    if fit is not None and terms:
        raise TaupiError("--terms are those of the fit: leave them out.")
    robot = description.load(source) if fit is None else fit.robot_identified()
    if robot.elastic_joints:
        return tp.ElasticPlant(robot, (fit.terms if fit is not None else terms) or None)
    return tp.RigidPlant(robot, fit.terms if fit is not None else terms)
