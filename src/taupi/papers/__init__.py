"""The source studies, each rerun: published figures beside ours. One folder per study, one line in `registry`."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "Reproduction",
    "reproduce",
    "studies",
]

if TYPE_CHECKING:
    from taupi.papers.registry import reproduce, studies
    from taupi.papers.study import Reproduction
