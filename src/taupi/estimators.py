"""Estimators and what they work on: the settings behind `tp.identify(..., estimator=...)`, and shapes of links.

A name such as `estimator="huber"` uses the defaults; `estimator=tp.estimators.Huber(...)` changes them.
"""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "Box",
    "ClosedLoop",
    "Consistent",
    "Ellipsoid",
    "Entropic",
    "Feasible",
    "FrictionShapes",
    "Huber",
    "Hull",
    "OrdinaryLeastSquares",
    "OutputError",
    "Problem",
    "Ridge",
    "WeightedLeastSquares",
    "assemble",
    "build_problem",
    "identify_shapes",
    "output_error",
]

if TYPE_CHECKING:
    from taupi.identification.estimators.closed_loop import ClosedLoop
    from taupi.identification.estimators.consistent import Consistent
    from taupi.identification.estimators.entropic import Entropic
    from taupi.identification.estimators.feasible import Feasible
    from taupi.identification.estimators.friction_shapes import FrictionShapes, identify_shapes
    from taupi.identification.estimators.huber import Huber
    from taupi.identification.estimators.ols import OrdinaryLeastSquares
    from taupi.identification.estimators.output_error import OutputError, output_error
    from taupi.identification.estimators.ridge import Ridge
    from taupi.identification.estimators.wls import WeightedLeastSquares
    from taupi.identification.identify import build_problem
    from taupi.identification.physical.link_bounds import Box, Ellipsoid, Hull
    from taupi.identification.problem import Problem
    from taupi.identification.results.assemble import assemble
