"""The public names: one table, what is generated from it, names that have moved, and every parameter documented."""

import ast
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import pytest
from refusals import refused

import taupi
from taupi.errors import MovedWarning, TaupiWarning
from taupi.public_names import MOVED, NAMESPACES, PUBLIC, homes, public_address
from taupi.settings import Settings

ROOT = Path(__file__).parents[2]
# The contract: what users and their tests rely on to be at the top of the package.
CONTRACT = """
    load Robot inverse_dynamics forward_dynamics mass_matrix gravity_torque coriolis_matrix christoffel_symbols jacobian
    operational_dynamics regressor slotine_li_regressor operational_regressor elastic_regressor base_parameters read_log Log
    write_log load_fit BSpline TaupiError identify identify_payload identify_gains momentum_observer excite
    report plot write_urdf simulate
    simulate_many RigidPlant SlotineLi NiemeyerSlotine Walker __version__
"""
MOST_NAMES = 97  # at the top, beside the namespaces: what one can still read through


def namespace(name):
    return importlib.import_module(f"taupi.{name}".rstrip("."))


# The table ------------------------------------------------------------------------------------------------------------


def test_the_contract_is_at_the_top():
    assert set(taupi.__all__) >= set(CONTRACT.split()) and set(NAMESPACES) <= set(taupi.__all__)
    assert len(homes("")) <= MOST_NAMES


@pytest.mark.parametrize("name", PUBLIC)
def test_the_generated_part_is_up_to_date(name):
    spec = importlib.util.spec_from_file_location("write_public_names", ROOT / "tools" / "write_public_names.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    path = tool.module_file(name)
    assert path.read_text(encoding="utf-8") == tool.written(name), "run python tools/write_public_names.py"


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_resolves_and_is_listed(name):
    module = namespace(name)
    assert dir(module) == sorted(module.__all__) == module.__all__ and module.__doc__
    for public in module.__all__:
        assert getattr(module, public) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        module.nonsense  # noqa: B018


@pytest.mark.parametrize("name", PUBLIC)
def test_no_module_has_the_name_of_a_public_name(name):
    """Importing a submodule sets an attribute of its package: it would take the place of a function of the same name."""
    module = namespace(name)
    submodules = {m.name for m in pkgutil.iter_modules(getattr(module, "__path__", []))}
    assert not submodules & set(homes(name))


def test_one_name_means_one_thing():
    """A name that several namespaces offer is the same object, but for the short names of elastic and operational."""
    seen = {}
    for name in PUBLIC:
        for public, home in homes(name).items():
            if public == home[1]:
                assert seen.setdefault(public, home) == home


def test_no_two_classes_share_a_name():
    """One word, one meaning, for public and private classes alike."""
    places = defaultdict(list)
    package = ROOT / "src" / "taupi"
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(package)}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_brings_nothing_heavy(name):
    code = f"import sys, taupi; dir(taupi.{name}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "casadi", "sympy", "scipy", "matplotlib"} & set(loaded)


# Names that have moved ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_moved_names_still_work_and_say_where_they_are(old, new):
    assert old not in taupi.__all__ and old not in dir(taupi)
    space, _, name = new.partition(".")
    with pytest.warns(MovedWarning, match=rf"taupi\.{old} has moved to taupi\.{space}\.{name};") as record:
        value = getattr(taupi, old)
    assert value is getattr(namespace(space), name)
    assert record[0].filename == __file__


def test_a_moved_name_warns_as_both_kinds():
    assert issubclass(MovedWarning, TaupiWarning) and issubclass(MovedWarning, DeprecationWarning)
    with warnings.catch_warnings(), pytest.raises(MovedWarning):
        warnings.simplefilter("error")
        from taupi import Viscous  # noqa: F401


def test_an_import_of_a_moved_name_warns_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from taupi import Viscous  # noqa: F401
    (warning,) = caught
    assert warning.filename == __file__ and "taupi.terms.Viscous" in str(warning.message)


def moved_uses(text):
    names = "|".join(sorted(MOVED, key=len, reverse=True))
    uses = re.findall(rf"(?<![\w.])(?:tp|taupi)\\?\.({names})\b", text)
    for body in re.findall(r"^[ \t]*(?:>>> )?from taupi import (\([^)]*\)|[^\n(]+)$", text, flags=re.MULTILINE):
        uses += [n for n in re.findall(r"\w+", body) if n in MOVED]
    return sorted(set(uses))


def test_moved_uses_are_seen():
    text = (
        "x = tp.Viscous()\nfrom taupi import (\n    Port,\n    load,\n)\ntaupi.control.lyapunov.lyapunov; tp.trace_x\n"
    )
    assert moved_uses(text) == ["Port", "Viscous"]


def test_no_file_uses_a_moved_name():
    own = {Path(__file__).resolve(), ROOT / "src/taupi/public_names.py", ROOT / "docs/api/names.md"}
    files = [ROOT / "README.md"]
    for folder in ("src", "docs", "tests", "examples", "benchmarks", "tools"):
        files += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md") and p.resolve() not in own]
    used = {str(p.relative_to(ROOT)): uses for p in files if (uses := moved_uses(p.read_text(encoding="utf-8")))}
    assert not used, "\n".join(f"{path}: {', '.join(uses)}" for path, uses in used.items())


# Documentation --------------------------------------------------------------------------------------------------------

KNOWN = {"self", "cls"}


def public_callables():
    """Every public callable by its dotted name: functions, constructors, and public methods of public classes."""
    callables = {}
    for name in PUBLIC:
        for public in homes(name):
            value = getattr(namespace(name), public)
            path = ".".join(filter(None, ("taupi", name, public)))
            callables[path] = value
            if inspect.isclass(value):
                callables |= methods_of(path, value)
    by_identity = {}  # a thing that several places offer, or several classes inherit, counts once
    for path, value in callables.items():
        by_identity.setdefault(id(getattr(value, "__func__", value)), (path, value))
    return dict(by_identity.values())


def methods_of(path, kind):
    table = {}
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if name.startswith("_") or isinstance(member, property):
            continue
        method = getattr(kind, name)
        module = getattr(inspect.unwrap(method), "__module__", None) if callable(method) else None
        if not inspect.isclass(method) and module and module.startswith("taupi"):
            table[f"{path}.{name}"] = method
    return table


def undocumented(value):
    """The parameters of a callable that its docstring never mentions."""
    if isinstance(value, type) and issubclass(value, Warning | Exception):
        return []
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return []
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value):
        # What a class takes from its bases is described there.
        own = [kind for kind in value.__mro__ if kind.__module__.startswith("taupi")]
        text = "\n".join(part for kind in own for part in (kind.__doc__, kind.__init__.__doc__) if part)
    return [p for p in signature.parameters if p not in KNOWN and not re.search(rf"(?<!\w){re.escape(p)}(?!\w)", text)]


CALLABLES = public_callables()


def room_of(value):
    return inspect.unwrap(value).__module__.split(".")[1]


@pytest.mark.parametrize("room", sorted({room_of(value) for value in CALLABLES.values()}))
def test_every_parameter_is_in_the_docstring(room):
    callables = {path: value for path, value in CALLABLES.items() if room_of(value) == room}
    missing = {path: names for path, value in callables.items() if (names := undocumented(value))}
    lines = "\n".join(f"{path} does not mention {', '.join(names)}" for path, names in missing.items())
    assert not missing, lines


# Settings -------------------------------------------------------------------------------------------------------------


def settings_of_functions():
    """Every class of settings that a public function takes whole, by the function and the parameter's name."""
    found = {}
    for space in PUBLIC:
        for public in homes(space):
            function = getattr(namespace(space), public)
            if inspect.isfunction(function) and "options" in inspect.signature(function).parameters:
                names = vars(importlib.import_module(function.__module__))
                for p in inspect.signature(function).parameters.values():
                    kind = names.get(str(p.annotation).removesuffix(" | None"))
                    if inspect.isclass(kind) and issubclass(kind, Settings) and p.name != "sensors":
                        found[f"{space}.{public}({p.name})"] = (function, kind)
    return found


def test_documented_settings_are_where_the_docstring_says():
    found = settings_of_functions()
    assert {"read_log", "reading_budget", "simulate_many"} <= {name.partition("(")[0].split(".")[-1] for name in found}
    for name, (function, kind) in found.items():
        addresses = [public_address(each) for each in (kind, *kind.__subclasses__())]
        (address,) = (address for address in addresses if f"`{address}`" in function.__doc__)
        place, _, attribute = address.rpartition(".")
        assert issubclass(getattr(importlib.import_module(place), attribute), kind), name


def test_wrong_settings_name_those_that_exist():
    with refused("budget", got=3, expected="taupi.signals.Budget"):
        taupi.signals.reading_budget(budget=3)
