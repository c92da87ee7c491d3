"""Source text with positions: from the rows and byte columns of `ast` and the tokens of `tokenize` to offsets in the text."""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True)
class Token:
    """A token of the text and the offsets of its start and end."""

    text: str
    start: int
    end: int


class Source:
    """A file's text, its syntax tree and its tokens; offsets count characters from the beginning."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._lines = text.splitlines(keepends=True)
        self._starts = [0, *accumulate(len(line) for line in self._lines)]
        meaningful = {tokenize.OP, tokenize.NAME, tokenize.NUMBER}
        self._tokens = [
            Token(t.string, self._starts[t.start[0] - 1] + t.start[1], self._starts[t.end[0] - 1] + t.end[1])
            for t in tokenize.generate_tokens(io.StringIO(text).readline)
            if t.type in meaningful
        ]
        self._token_starts = [t.start for t in self._tokens]

    def offset(self, row: int, column: int) -> int:
        """Return the offset of a position as `ast` gives it: rows from 1, columns in bytes of UTF-8."""
        line = self._lines[row - 1] if row <= len(self._lines) else ""
        return self._starts[row - 1] + len(line.encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the start and end offsets of `node`, without parentheses around it."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def tokens(self, start: int, end: int) -> list[Token]:
        """Return the operators, names and numbers that begin in [start, end)."""
        return self._tokens[bisect_left(self._token_starts, start) : bisect_left(self._token_starts, end)]

    def between(self, left: ast.expr, right: ast.expr) -> list[Token]:
        """Return the tokens between two operands, parentheses left out: the operator."""
        inside = self.tokens(self.span(left)[1], self.span(right)[0])
        return [t for t in inside if t.text not in "()"]

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of `node`."""
        start, end = self.span(node)
        return self.text[start:end]

    def line(self, row: int) -> str:
        """Return row `row`, counted from 1, without the blanks around it."""
        return self._lines[row - 1].strip()

    def row(self, offset: int) -> int:
        """Return the row, counted from 1, in which `offset` lies."""
        return self.text.count("\n", 0, offset) + 1
