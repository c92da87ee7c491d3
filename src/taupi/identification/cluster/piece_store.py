"""Pieces stored in a folder, so that an interrupted fit continues where it stopped."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

from taupi.budget import budget
from taupi.errors import Argument, TaupiError
from taupi.files import path_of, write_file
from taupi.identification.rows.piece_file import read_piece, write_piece
from taupi.identification.rows.pieces import Piece
from taupi.identification.rows.plan import Plan
from taupi.input_files import read_bytes
from taupi.signals.formats.files import readable_source
from taupi.signals.formats.sources import address_of, file_system, shown_address


class PieceStore:
    """A folder of pieces, one file each, named after its plan and its log, so that pieces of other fits are never read.

    The folder may be an address, such as s3://bucket/pieces. A piece appears complete or not at all.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._address = address_of(folder)
        self._folder = str(folder) if self._address is None else self._address.rstrip("/")
        if self._address is not None:
            if self._address.startswith("http"):
                raise TaupiError(Argument("resume"), f" is {shown_address(folder)!r}: nothing can be written there.")
            return
        path = path_of(folder, "a folder for pieces", "resume")
        if path.exists() and not path.is_dir():
            raise TaupiError(Argument("resume"), f" is {str(path)!r}, which is a file, expected a folder.")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TaupiError(
                Argument("resume"), f" is {str(path)!r}, which cannot be made: {error.strerror}."
            ) from None

    def read_all(self, plan: Plan, identities: Sequence[str]) -> dict[int, Piece]:
        """Return the pieces that exist, by the index of their log; a damaged one counts as missing."""
        stored, result = self._stored(), {}
        for k, identity in enumerate(identities):
            name = _name(plan, identity)
            if name not in stored:
                continue
            try:
                piece, facts = read_piece(self._bytes(name), name)
            except (TaupiError, OSError):
                continue
            if facts == {"plan": plan.fingerprint, "log": identity}:
                result[k] = piece.packed()
        return result

    def _bytes(self, name: str) -> bytes:
        if self._address is None:
            return read_bytes(Path(self._folder, name), "a piece of a fit", budget().data_bytes)
        source = readable_source(f"{self._folder}/{name}", "a piece of a fit")
        with source.open("rb") as stream:
            return stream.read(budget().data_bytes)

    def write(self, plan: Plan, identity: str, piece: Piece) -> None:
        """Keep a piece."""
        name, facts = _name(plan, identity), {"plan": plan.fingerprint, "log": identity}
        if self._address is None:
            write_file(Path(self._folder, name), lambda stream: write_piece(piece, stream, facts), force=True)
            return
        buffer = io.BytesIO()
        write_piece(piece, buffer, facts)
        system, path = file_system(f"{self._folder}/{name}")
        system.pipe_file(path, buffer.getvalue())

    def _stored(self) -> set[str]:
        if self._address is None:
            return {path.name for path in Path(self._folder).iterdir()}
        system, path = file_system(self._folder)
        try:
            return {each.rpartition("/")[2] for each in system.ls(path, detail=False)}
        except FileNotFoundError:  # nothing was written yet
            return set()


def _name(plan: Plan, identity: str) -> str:
    return f"{plan.fingerprint[:16]}-{identity}.piece"
