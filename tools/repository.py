"""Where the project can be found, which the person who builds it says: nothing in the checkout knows its public address."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_TARGET = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s]+)")  # of a Markdown link that is relative
_IMAGES = (".png", ".svg", ".jpg", ".gif")


def address(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the address of the repository: TAUPI_REPOSITORY, or that of a workflow on GitHub; None if none is stated."""
    stated = environment.get("TAUPI_REPOSITORY")
    server, name = environment.get("GITHUB_SERVER_URL"), environment.get("GITHUB_REPOSITORY")
    found = stated or (f"{server}/{name}" if server and name else None)
    if found and not re.fullmatch(r"https://[\w.-]+/[\w./-]+", found):
        raise ValueError(f"TAUPI_REPOSITORY is {found!r}, expected an address such as https://github.com/OWNER/taupi")
    return found.rstrip("/").removesuffix(".git") if found else None


def addresses(repository: str) -> dict[str, str]:
    """Return the links that a package registry shows beside the text."""
    pages = f"{repository}/blob/main"
    return {
        "Repository": repository,
        "Documentation": f"{pages}/docs/index.md",
        "Changelog": f"{pages}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def absolute(text: str, repository: str | None) -> str:
    """Return Markdown whose links lead somewhere outside of the checkout too; without an address they stay as they are."""
    if repository is None:
        return text

    def link(target: re.Match[str]) -> str:
        kind = "raw" if target[1].lower().endswith(_IMAGES) else "blob"
        return f"{repository}/{kind}/main/{target[1]}"

    return _TARGET.sub(link, text)
