"""The 3 x 25 regressor of Aldana, Nuño & Basañez in one call: a planar arm of three links at its tip, lengths unknown."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from taupi.dynamics.chain import require_robot
from taupi.errors import Argument, TaupiError
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.papers.aldana.model import THETA, UNKNOWN, P, document_model
from taupi.papers.formulas import numeric
from taupi.regressors.lump import Lumped, lump

_SYMBOLS = (*(f"{name}{k}" for name in ("m", "I", "l", "lc") for k in (1, 2, 3)), "g")


def planar_3r_regressor(robot: Robot | None = None) -> Lumped:
    """Return Y and Theta of u = Y(q, qd, v, vd) Theta, 3 x 25: a planar arm of three links in the coordinates of its tip.

    Y Theta = M(r) vd + C(r, rd) v + g(r) for any v, vd, with r = (x, y, phi) (Aldana et al., section 4 and Table 2, corrected). Y
    has no masses or lengths: these are in Theta. `robot` gives Theta its values; it has the symbols m1, I1, l1, lc1, ..., g of
    the catalogue's "planar3r", which is the default. `regressor` of the result is Y, a program; `parameters` is Theta,
    `expressions` its formulas, `relations` says which of the 25 columns depend on others: 14 are independent.

    >>> import taupi as tp
    >>> arm = tp.load("planar3r")
    >>> lumped = tp.operational.planar_3r_regressor(arm)
    >>> state = [0.3, 0.9, -0.4], [0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]
    >>> Y = lumped.regressor(*state)
    >>> Y.shape, bool(abs(Y @ lumped.parameters.values - tp.operational.force(arm, task="planar")(*state)).max() < 1e-10)
    ((3, 25), True)
    """
    arm = load("planar3r") if robot is None else robot
    require_robot(arm)
    known = {name: value for name, value in arm.symbols if value is not None}
    absent = [name for name in _SYMBOLS if name not in known]
    if absent:
        names = ", ".join(absent)
        raise TaupiError(
            Argument("robot"), f" {arm.name!r} has no {names}; expected the symbols of 'planar3r', with values."
        )
    values = {name: float(value) for name, value in known.items()}
    p = {name: Fraction(float(numeric(text, values))) for name, text in P.items()}
    lengths = {name: Fraction(known[name]) for name in (*UNKNOWN, "g") if name in known}
    lumped = lump(document_model().bind(**p, **lengths), unknown=UNKNOWN, into=THETA)
    return replace(lumped, regressor=replace(lumped.regressor, name="operational_planar_3r_regressor"))
