"""Where the result comes from: version, command, files with their hashes, seed, settings."""

from __future__ import annotations

import html
import json
from typing import Any, ClassVar, Protocol

from taupi.reporting.sections.base import cell, head


class Recorded(Protocol):
    """A content that knows where it comes from."""

    @property
    def provenance(self) -> dict[str, Any]:
        """Facts by name; under `files`, one row per file."""
        ...


class ProvenanceSection:
    """Everything needed to do it again."""

    name: ClassVar[str] = "provenance"
    title: ClassVar[str] = "Provenance"

    def fields(self, content: Recorded) -> dict[str, str] | None:
        """Return the facts and the files."""
        if not content.provenance:
            return None
        facts = {k: v for k, v in content.provenance.items() if k != "files"}
        rows = "".join(
            f"<tr>{cell(k.replace('_', ' '))}<td><code>{html.escape(_text(v))}</code></td></tr>"
            for k, v in facts.items()
        )
        files: list[dict[str, Any]] = list(content.provenance.get("files", ()))
        keys = list(dict.fromkeys(k for f in files for k in f))
        lines = "".join(f"<tr>{''.join(cell(_text(f.get(k, '')), 'long') for k in keys)}</tr>" for f in files)
        table = f'<div class="wide"><table>{head(keys)}<tbody>{lines}</tbody></table></div>' if files else ""
        return {"facts": rows, "files": table}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
