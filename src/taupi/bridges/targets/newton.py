"""Newton: the USD layer, and the lines of Python that load it."""

from __future__ import annotations

from typing import ClassVar

from taupi.bridges.targets.passport import Passport
from taupi.bridges.targets.target import plain, register
from taupi.bridges.targets.usd import Usd, usd_text

_LOADER = '''import numpy as np

with np.load("samples.npz") as file:
    SAMPLES = dict(file)


def set_sample(model, k, samples=SAMPLES):
    """Set robot k in a newton.Model of one robot, joints and bodies by the ends of their labels; 0 is the estimate."""
    labels = [label.split("/")[-1] for label in model.joint_label]
    dofs = [int(model.joint_qd_start.numpy()[labels.index(str(name))]) for name in samples["joint_names"]]
    for field, name in (("armature", "armature"), ("damping", "viscous"), ("friction", "coulomb")):
        array = getattr(model, f"joint_{field}")
        values = array.numpy()
        values[dofs] = samples[name][k]
        array.assign(values)
    bodies = [[label.split("/")[-1] for label in model.body_label].index(str(name)) for name in samples["link_names"]]
    inertia = samples["inertia"][k][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
    news = {"mass": samples["mass"][k], "com": samples["com"][k], "inertia": inertia}
    news |= {"inv_mass": 1 / news["mass"], "inv_inertia": np.linalg.inv(inertia)}
    for field, new in news.items():
        array = getattr(model, f"body_{field}")
        values = array.numpy()
        values[bodies] = new
        array.assign(values)
'''


@register
class Newton(Usd):
    """The layer of the target usd and a function that builds a `newton.Model` of it."""

    name: ClassVar[str] = "newton"
    title: ClassVar[str] = "Newton"
    versions: ClassVar[tuple[str, ...]] = ("1.8",)
    remarks: ClassVar[tuple[str, ...]] = ("Dry friction acts in SolverMuJoCo, and creeps at standstill.",)
    link: ClassVar[str] = "https://newton-physics.github.io/newton/"

    loader: ClassVar[str] = _LOADER

    def files(self, passport: Passport) -> dict[str, str]:
        """Return the layer and the loader."""
        layer = f"{passport.name}.usda"
        return {layer: usd_text(passport), f"{passport.name}_newton.py": _loader(passport, layer)}


def _loader(passport: Passport, layer: str) -> str:
    lines = [
        f'"""{plain(passport.robot.name)} in Newton {passport.version}, identified by taupi."""',
        "",
        "from pathlib import Path",
        "",
        "import newton",
        "",
        "",
        "def build() -> newton.Model:",
        '    """Return the model: armature, damping and friction of joints are those that were identified."""',
        "    builder = newton.ModelBuilder()",
        "    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)",
        f"    builder.add_usd(str(Path(__file__).with_name({layer!r})))",
        "    return builder.finalize()",
        "",
    ]
    return "\n".join(lines)
