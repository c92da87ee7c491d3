"""What hatchling asks while it builds: the text and the links that a package registry shows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).parent))
from repository import absolute, address, addresses


class ProjectMetadata(MetadataHookInterface):
    """The README with links that work anywhere, and the project's addresses, where TAUPI_REPOSITORY names the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the two to the metadata."""
        repository = address()
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, repository)}
        if repository is not None:
            metadata["urls"] = addresses(repository)
