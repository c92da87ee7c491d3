"""Both regressors of an arm as formulas: Y, Y_r, and their parts X, W, Z link by link."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.types import Formula, Matrix, Vector
from taupi.errors import Argument, unknown
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.program.explicit.form import Explicit
from taupi.program.program import Port, Program
from taupi.regressors.classical import regressor, slotine_li_regressor
from taupi.regressors.lagrangian import link_blocks, require_lagrangian
from taupi.regressors.tensors import PARTS, SIZES, momentum_rows

FORMS = ("classical", "slotine-li", "momentum")


@builder
def link_block_program(robot: Robot, link: int, form: str = "slotine-li") -> Program:
    """Return X0, X1, X2, W0, W1, W2, Z0, Z1 of a `link` of `robot`, by number: its columns for mass, first moment and inertia.

    Y = X - W + Z. `form` is "slotine-li" (the default), functions of (q, qd, qrd, qrdd), or "classical", of (q, qd, qdd)
    (Gabiccini et al. 2009, eq. 19-35, 51-58). With "momentum" X0, X1, X2 are undotted, of (q, qd): the link's dT/dqd (eq. 14,
    19).
    """
    if form == "momentum":
        return _momentum_program(robot, link)
    reference = form == "slotine-li"

    def body(chain: Chain, q: Vector, qd: Vector, *more: Vector) -> tuple[Matrix, ...]:
        qrd, qrdd = more if reference else (qd, more[0])
        block = link_blocks(chain, q, qd, qrd, qrdd)[link]
        parts = [(block.x, "012"), (block.w, "012"), (block.z, "01")]
        return tuple(matrix[:, PARTS[k]] for matrix, kinds in parts for k in kinds)

    ports = [Port(x + k, (robot.n, *SIZES[k])) for x, kinds in (("X", "012"), ("W", "012"), ("Z", "01")) for k in kinds]
    inputs = ["q", "qd", "qrd", "qrdd"] if reference else ["q", "qd", "qdd"]
    return trace_robot(f"link_{robot.links[link].name}", robot, body, inputs, ports)


def _momentum_program(robot: Robot, link: int) -> Program:
    def body(chain: Chain, q: Vector, qd: Vector) -> tuple[Matrix, ...]:
        rows = momentum_rows(chain, q, qd)[link]
        return tuple(rows[:, part] for part in PARTS.values())

    ports = [Port("X" + k, (robot.n, *size)) for k, size in SIZES.items()]
    return trace_robot(f"momentum_{robot.links[link].name}", robot, body, ["q", "qd"], ports)


_READABLE = 400  # operations: a regressor with more would fill pages


@dataclass(frozen=True, eq=False)
class ExplicitRegressor:
    """Both regressors of `robot` as formulas, by the Lagrangian route of Gabiccini et al. (2009).

    Unpacking it gives Y and Y_r as SymPy matrices. `classical` and `slotine_li` are the forms to read, `link(i)` the parts X,
    W, Z of one link, `reduced` the same without the columns that vanish for every motion. `classical_program` and
    `slotine_li_program` are the programs behind them, `zero_columns` the parameters whose columns vanish.
    """

    robot: Robot
    classical_program: Program
    slotine_li_program: Program
    zero_columns: tuple[str, ...]

    def __iter__(self) -> Iterator[Formula]:
        yield self.classical_program.sympy()
        yield self.slotine_li_program.sympy()

    @property
    def parameters(self) -> Parameters:
        """The parameters that the columns multiply."""
        return self.classical_program.parameters

    @cached_property
    def classical(self) -> Explicit:
        """Y(q, qd, qdd) as formulas to read."""
        return self.classical_program.explicit()

    @cached_property
    def slotine_li(self) -> Explicit:
        """Y_r(q, qd, qrd, qrdd) as formulas to read."""
        return self.slotine_li_program.explicit()

    @cached_property
    def reduced(self) -> ExplicitRegressor:
        """Both regressors without the columns that vanish identically."""
        names = [n for n in self.parameters.names if n not in self.zero_columns]
        y, y_r = self.classical_program.columns(names), self.slotine_li_program.columns(names)
        return ExplicitRegressor(self.robot, y, y_r, zero_columns=())

    def link(
        self,
        which: int | str,
        form: str = "slotine-li",
        *,
        values: bool = False,
        angles: str = "shortest",
        names: bool | Mapping[str, str] = False,
        digits: int | None = None,
        short: bool = False,
        intermediates: int | None = None,
        limit: int | None = None,
    ) -> Explicit:
        """Return X, W, Z of the link `which`, by number from 0 or by name, in parts for mass, first moment and inertia.

        Args:
            which: The link, by number or name.
            form: "slotine-li" (the default), "classical", or "momentum" for the undotted X alone.
            values: As in `Program.explicit`, with the same default, as are the others.
            angles: See there.
            names: See there.
            digits: See there.
            short: See there.
            intermediates: See there.
            limit: See there.
        """
        links = [link.name for link in self.robot.links]
        if which not in links and which not in range(len(links)):
            raise unknown("link", str(which), links)
        if form not in FORMS:
            raise unknown(Argument("form"), form, FORMS)
        place = links.index(which) if isinstance(which, str) else which
        program = link_block_program(self.robot, place, form)
        return program.explicit(values, angles, names, digits, short, intermediates, limit)

    def __repr__(self) -> str:
        n, p = self.classical_program.outputs[0].shape
        zero = f", {len(self.zero_columns)} columns vanish for every motion" if self.zero_columns else ""
        return f"Explicit regressors of {self.robot.name}: Y and Y_r, {n} x {p}{zero}"

    def _repr_html_(self) -> str:
        """Return the columns of Y that do not vanish as formulas, with the parameters; only the latter if Y would be too long."""
        names = ", ".join(self.reduced.parameters.names)
        head = f"<p>{html.escape(repr(self))}</p><p>Columns that act: {html.escape(names)}</p>"
        if self.reduced.classical_program.operations.total > _READABLE:
            return f"{head}<p>Too long to read at once: .classical.latex(), .link(0), or .slotine_li.</p>"
        return f'{head}<div style="overflow-x:auto">{self.reduced.classical.html()}</div>'


def explicit_regressor(robot: Robot) -> ExplicitRegressor:
    """Return the classical and the Slotine-Li regressor of `robot` as formulas, link block by link block.

    tau = Y pi, M qrdd + C qrd + g = Y_r pi, Y = X - W + Z (Gabiccini et al. 2009, eq. 34, 59). Columns that vanish identically
    are found in exact arithmetic.

    Args:
        robot: The robot, with numbers or symbols; its masses do not matter.

    Returns:
        Both regressors as formulas; `.reduced` is without the columns that vanish, `.link(k)` the block of one link.

    >>> import taupi as tp
    >>> table = [dict(a="a1", alpha=0, d=0, theta=0), dict(a="a2", alpha=0, d=0, theta=0)]
    >>> Y, Y_r = tp.explicit_regressor(tp.Robot.from_dh(table, gravity=(0, "-gy", 0))).reduced
    >>> Y.shape, Y[0, 0]
    ((2, 8), a1**2*qdd1 + a1*gy*cos(q1))
    """
    require_lagrangian(robot)
    y = regressor(robot, algorithm="lagrangian")
    y_r = slotine_li_regressor(robot, algorithm="lagrangian")
    acting = set(y_r.reduced().parameters.names)
    return ExplicitRegressor(robot, y, y_r, tuple(n for n in y.parameters.names if n not in acting))
