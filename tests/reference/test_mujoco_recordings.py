"""An identified UR10e in MuJoCo: what its torques lose on runs that were held out, and why."""

import os
from pathlib import Path

import pytest
import spoilt

import taupi as tp

mujoco = pytest.importorskip("mujoco")

DATA = Path(os.environ.get("TAUPI_RECORDINGS") or Path(__file__).parents[3] / "shared" / "data") / "ur10e"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the recordings are not beside the checkout")
# What MJCF can hold of a fit's friction: the first without memory, which MJCF cannot hold; the second as a fit chooses it.
EXPRESSIBLE = ("rotor", "viscous", tp.terms.Coulomb(velocity=0.01), "offset")
PLACED = ("rotor", "viscous", "coulomb", "offset")


@pytest.fixture(scope="module", params=[EXPRESSIBLE, PLACED, None], ids=["expressible", "with memory", "default"])
def checked(request, tmp_path_factory):
    robot = tp.load(DATA / "ur10e.urdf")
    columns = spoilt.mappings()["ur10e"]
    runs = [DATA / f"{name}.csv.gz" for name in ("exc_30s_12harm", "exc_40s_12harm", "exc_50s_12harm")]
    fit = tp.identify(robot, runs, terms=request.param, columns=columns)
    export = tp.write_mjcf(fit, tmp_path_factory.mktemp("ur10e") / "ur10e.xml")
    held_out = ("val_ptp_10_points", "exc_20s_8harm")
    return export, {n: tp.bridges.check_mjcf(fit, export, DATA / f"{n}.csv.gz", columns=columns) for n in held_out}


def test_friction_that_mjcf_has_costs_less_than_a_tenth(checked):
    export, seen = checked
    for comparison in seen.values():
        # MuJoCo computes what the exported parameters mean: the same as ours without memory of friction, to 3 %.
        nearest = comparison.others.get("no memory", comparison.fit)
        assert comparison.others["mujoco"].relative < 1.03 * nearest.relative
    if not export.lost:
        assert seen["val_ptp_10_points"].ratio < 1.1


def test_what_has_no_place_is_named_with_its_cost(checked):
    export, seen = checked
    if export.lost:
        assert {name.rsplit(".")[-1] for name in export.lost} == {"load", "curve"}
        for comparison in seen.values():
            assert comparison.fit.relative < comparison.others["placed"].relative < 1.6 * comparison.fit.relative
