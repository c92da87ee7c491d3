"""Many roll-outs at once, and summaries of them: uncertain arms, sweeps, studies."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "Ensemble",
    "RobustnessStudy",
    "RunSummary",
    "robustness",
    "simulate_many",
    "simulate_summary",
]

if TYPE_CHECKING:
    from taupi.robustness.study import RobustnessStudy, robustness
    from taupi.simulation.rollouts.batch import Ensemble
    from taupi.simulation.rollouts.results import RunSummary
    from taupi.simulation.simulate import simulate_many, simulate_summary
