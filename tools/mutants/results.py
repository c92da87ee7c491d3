"""Outcomes that are kept from run to run, so that an interrupted run continues where it stopped.

A kill is believed while the changed file and the test that killed it are as they were; that a mutant survived is believed
only while nothing at all has changed.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, fields
from pathlib import Path

from mutants.places import Mutant
from mutants.reach import digest
from mutants.trial import Outcome


class Results:
    """The outcomes in the file `path`; `everything` names all that a survival depends on."""

    def __init__(self, path: Path, root: Path, everything: str) -> None:
        self.path, self.root, self.everything = path, root, everything
        self._lock = threading.Lock()
        self._entries: dict[str, dict] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def get(self, mutant: Mutant) -> Outcome | None:
        """Return a mutant's outcome, if it is known and still believed."""
        entry = self._entries.get(mutant.key)
        if entry is None or entry["file digest"] != digest(self.root / mutant.file):
            return None
        outcome = Outcome(**{f.name: entry[f.name] for f in fields(Outcome)})
        same = (
            self._test_digest(outcome) == entry["test digest"]
            if outcome.killed
            else entry["everything"] == self.everything
        )
        return outcome if same else None

    def put(self, mutant: Mutant, outcome: Outcome) -> None:
        """Save a mutant's outcome to disk at once."""
        digests = {"file digest": digest(self.root / mutant.file), "test digest": self._test_digest(outcome)}
        with self._lock:
            self._entries[mutant.key] = asdict(outcome) | digests | {"everything": self.everything}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_suffix(".new")
            beside.write_text(json.dumps(self._entries, indent=0), encoding="utf-8")
            os.replace(beside, self.path)

    def _test_digest(self, outcome: Outcome) -> str:
        return digest(self.root / outcome.test.partition("::")[0]) if outcome.test else ""
