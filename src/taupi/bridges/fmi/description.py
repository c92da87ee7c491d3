"""The XML of a unit: its variables and how they depend on each other, for FMI 2.0 and 3.0."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from taupi.bridges.fmi.model import UnitModel, Variable
from taupi.errors import TaupiError
from taupi.version import __version__

# Control characters, which XML does not allow, and line breaks, which FMI forbids in names.
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_BASE_UNITS = {
    "rad": 'rad="1"',
    "m": 'm="1"',
    "rad/s": 'rad="1" s="-1"',
    "m/s": 'm="1" s="-1"',
    "rad/s2": 'rad="1" s="-2"',
    "m/s2": 'm="1" s="-2"',
    "N.m": 'kg="1" m="2" s="-2"',
    "N": 'kg="1" m="1" s="-2"',
    "s": 's="1"',
}
_RATE_UNITS = {
    "rad": "rad/s",
    "m": "m/s",
    "rad/s": "rad/s2",
    "m/s": "m/s2",
}  # of a derivative, by the unit of what is derived


@dataclass(frozen=True)
class ListedVariable:
    """A variable in the list of a unit: its value reference, and its role for other units."""

    variable: Variable
    reference: int
    causality: str
    initial: str | None = None
    derivative_of: int | None = None
    variability: str = "continuous"


@dataclass(frozen=True)
class Listing:
    """All variables of a model by value reference, in the order in which the C has them."""

    model: UnitModel

    @property
    def first(self) -> dict[str, int]:
        """Where each group begins: inputs, states, rates, outputs, step; and the number of all values."""
        m = self.model
        sizes = [1, len(m.inputs), len(m.states), len(m.states), len(m.outputs), int(m.step is not None)]
        names = ("FIRST_INPUT", "FIRST_STATE", "FIRST_RATE", "FIRST_OUTPUT", "STEP", "VALUES")
        return {name: sum(sizes[: k + 1]) for k, name in enumerate(names)}

    def entries(self) -> list[ListedVariable]:
        """Return all variables."""
        m, first = self.model, self.first
        result = [ListedVariable(Variable("time", "s"), 0, "independent")]
        result += [ListedVariable(v, first["FIRST_INPUT"] + k, "input") for k, v in enumerate(m.inputs)]
        causality = "output" if m.states_are_outputs else "local"
        result += [ListedVariable(v, first["FIRST_STATE"] + k, causality, "exact") for k, v in enumerate(m.states)]
        for k, v in enumerate(m.states):
            rate = Variable(f"der({v.name})", _RATE_UNITS.get(v.unit or ""))
            result.append(
                ListedVariable(rate, first["FIRST_RATE"] + k, "local", "calculated", first["FIRST_STATE"] + k)
            )
        result += [
            ListedVariable(v, first["FIRST_OUTPUT"] + k, "output", "calculated") for k, v in enumerate(m.outputs)
        ]
        if m.step is not None:
            step = Variable("step", "s", m.step)
            result.append(ListedVariable(step, first["STEP"], "parameter", "exact", None, "fixed"))
        return result


def quoted(text: str) -> str:
    """Return a text as the value of an attribute, with quotes; what XML cannot hold becomes an underscore."""
    return quoteattr(_FORBIDDEN.sub("_", text))


def description(model: UnitModel, identifier: str, token: str, fmi: str, sources: Sequence[str]) -> str:
    """Return modelDescription.xml for a version of `fmi`, "3.0" or "2.0"."""
    names = [quoted(e.variable.name) for e in Listing(model).entries()]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise TaupiError(
            "Two variables would be called {twice!r}: XML cannot hold what tells them apart. Rename the joints.",
            twice=twice[0],
        )
    return _version_3(model, identifier, token) if fmi == "3.0" else _version_2(model, identifier, token, sources)


def _units(entries: Sequence[ListedVariable]) -> list[str]:
    used = [name for name in _BASE_UNITS if any(e.variable.unit == name for e in entries)]
    return [
        "  <UnitDefinitions>",
        *(f'    <Unit name="{name}"><BaseUnit {_BASE_UNITS[name]}/></Unit>' for name in used),
        "  </UnitDefinitions>",
    ]


def _head(model: UnitModel, attributes: str, fmi: str) -> list[str]:
    return [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="{fmi}" modelName={quoted(model.title)} {attributes}',
        *([f"    description={quoted(model.policy)}"] if model.policy else []),
        f'    generationTool="taupi {__version__}" variableNamingConvention="flat">',
    ]


def _experiment(model: UnitModel) -> str:
    return f'  <DefaultExperiment startTime="0.0" stopTime="1.0" stepSize="{model.step or 1e-3!r}"/>'


def _version_3(model: UnitModel, identifier: str, token: str) -> str:
    entries = Listing(model).entries()
    able = f'modelIdentifier="{identifier}" canGetAndSetFMUState="true" canSerializeFMUState="true"'
    able += ' providesDirectionalDerivatives="true"' if model.tangent else ""
    lines = _head(model, f'instantiationToken="{token}"', "3.0")
    lines += [] if model.sampled else [f"  <ModelExchange {able}/>"]
    lines += [f'  <CoSimulation {able} canHandleVariableCommunicationStepSize="true"/>', *_units(entries)]
    lines += ['  <LogCategories><Category name="logStatusError"/></LogCategories>']
    lines += [_experiment(model), "  <ModelVariables>"]
    for e in entries:
        derivative = "" if e.derivative_of is None else f' derivative="{e.derivative_of}"'
        name = f'name={quoted(e.variable.name)} valueReference="{e.reference}" {_common(e)}'
        lines.append(f"    <Float64 {name}{derivative}{_value(e)}/>")
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    for e in entries:
        if e.causality == "output":
            lines.append(f'    <Output valueReference="{e.reference}"{_dependencies(model, e, 0)}/>')
    rates = [e for e in entries if e.derivative_of is not None]
    lines += [f'    <ContinuousStateDerivative valueReference="{e.reference}"/>' for e in rates]
    unknown = [e for e in entries if e.initial == "calculated"]
    lines += [f'    <InitialUnknown valueReference="{e.reference}"{_at_start(model)}/>' for e in unknown]
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _common(e: ListedVariable) -> str:
    text = f'causality="{e.causality}" variability="{e.variability}"'
    return text if e.initial is None else f'{text} initial="{e.initial}"'


def _value(e: ListedVariable) -> str:
    unit = "" if e.variable.unit is None else f' unit="{e.variable.unit}"'
    starts = e.causality == "input" or e.initial == "exact"
    return unit + (f' start="{e.variable.start!r}"' if starts else "")


def _dependencies(model: UnitModel, e: ListedVariable, offset: int) -> str:
    """Return what an output depends on at the same instant: a state on itself, a sampled one on nothing, others on everything."""
    if model.sampled:
        return ' dependencies=""'
    return f' dependencies="{e.reference + offset}"' if e.initial == "exact" else ""


def _at_start(model: UnitModel) -> str:
    return ' dependencies=""' if model.sampled else ""


def _version_2(model: UnitModel, identifier: str, token: str, sources: Sequence[str]) -> str:
    entries = Listing(model).entries()
    files = ["    <SourceFiles>", *(f"      <File name={quoted(s)}/>" for s in sources), "    </SourceFiles>"]
    able = f'modelIdentifier="{identifier}" canGetAndSetFMUstate="true" canSerializeFMUstate="true"'
    able += ' providesDirectionalDerivative="true"' if model.tangent else ""
    lines = _head(model, f'guid="{token}" numberOfEventIndicators="0"', "2.0")
    if not model.sampled:
        lines += [f'  <ModelExchange {able} completedIntegratorStepNotNeeded="true">', *files, "  </ModelExchange>"]
    lines += [f'  <CoSimulation {able} canHandleVariableCommunicationStepSize="true">', *files, "  </CoSimulation>"]
    lines += [*_units(entries), '  <LogCategories><Category name="logStatusError"/></LogCategories>']
    lines += [_experiment(model), "  <ModelVariables>"]
    for e in entries:  # the index of a variable is its place in the list, counted from 1
        derivative = "" if e.derivative_of is None else f' derivative="{e.derivative_of + 1}"'
        name = f'name={quoted(e.variable.name)} valueReference="{e.reference}" {_common(e)}'
        lines.append(f"    <ScalarVariable {name}><Real{derivative}{_value(e)}/></ScalarVariable>")
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    outputs = [e for e in entries if e.causality == "output"]
    lines += _unknowns("Outputs", [f'index="{e.reference + 1}"{_dependencies(model, e, 1)}' for e in outputs])
    rates = [e for e in entries if e.derivative_of is not None]
    lines += _unknowns("Derivatives", [f'index="{e.reference + 1}"' for e in rates])
    unknown = [e for e in entries if e.initial == "calculated"]
    lines += _unknowns("InitialUnknowns", [f'index="{e.reference + 1}"{_at_start(model)}' for e in unknown])
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _unknowns(group: str, attributes: Sequence[str]) -> list[str]:
    if not attributes:
        return []
    return [f"    <{group}>", *(f"      <Unknown {text}/>" for text in attributes), f"    </{group}>"]


def build_description(identifier: str, sources: Sequence[str]) -> str:
    """Return buildDescription.xml, which says how to compile the sources in FMI 3.0."""
    files = "".join(f"\n      <SourceFile name={quoted(s)}/>" for s in sources)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiBuildDescription fmiVersion="3.0">
  <BuildConfiguration modelIdentifier="{identifier}">
    <SourceFileSet language="C99">{files}
    </SourceFileSet>
  </BuildConfiguration>
</fmiBuildDescription>
"""
