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
    from taupi.robustness.study import RobustnessStudy
    from taupi.signatures import robustness
    from taupi.signatures import simulate_many
    from taupi.signatures import simulate_summary
    from taupi.simulation.rollouts.ensemble import Ensemble
    from taupi.simulation.run_summary import RunSummary
