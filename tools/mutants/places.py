"""Where a file can be changed, and how: one place at a time, the rest of the text untouched.

It changes comparisons, arithmetic, constants, conditions, terms and factors of sums and products, calls that can be left
out or exchanged, statements, and return values. It leaves alone docstrings, annotations, decorators, assertions, anything
that is raised, text and what creates it, since no test should pin those letter by letter.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise

from mutants.source import Source

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==",
           "is": "is not", "is not": "is", "in": "not in", "not in": "in"}  # fmt: skip
BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*", "@": "*", "&": "|", "|": "&"}
AUGMENTED = {f"{before}=": f"{after}=" for before, after in ARITHMETIC.items() if before in "+-*/"}
EXCHANGED = {"sin": "cos", "cos": "sin", "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum",
             "fmin": "fmax", "fmax": "fmin", "argmin": "argmax", "argmax": "argmin", "any": "all", "all": "any",
             "floor": "ceil", "ceil": "floor", "vertcat": "horzcat", "horzcat": "vertcat"}  # fmt: skip
DROPPED_CALLS = {
    "sqrt",
    "log",
    "log2",
    "log10",
    "exp",
    "abs",
    "fabs",
    "square",
    "sign",
    "tanh",
    "reversed",
    "deg2rad",
    "rad2deg",
}
SWAPPED_ARGUMENTS = {"cross": 0, "arctan2": 0, "atan2": 0, "subtract": 0, "where": 1, "if_else": 1}

COUNTS = {"n", "size", "ndim", "shape", "count", "rows"}  # attributes that are integers: there a boundary matters
SILENT_METHODS = {"__repr__", "__str__", "_repr_html_"}
MESSAGES = {
    "TaupiError",
    "TaupiWarning",
    "Argument",
    "unknown",
    "about",
    "warn",
    "print",
    "TypeVar",
    "cast",
    "join",
    "format",
}
NO_RESULT = {"strict", "repr", "compare", "hash", "stacklevel", "maxsize", "check_finite", "overwrite_a", "overwrite_b",
             "copy", "parents", "exist_ok", "indent", "encoding", "chunksize"}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: `before` at [start, end) of `file` becomes `after`.

    `code` is the line as it stands, `rows` the first and last line of its statement, `nth` counts equal changes of equal
    lines, and `imported` says whether the place runs when the module is imported, and not when a function is called.
    """

    file: str
    line: int
    rows: tuple[int, int]
    start: int
    end: int
    kind: str
    before: str
    after: str
    code: str
    imported: bool
    nth: int = 0

    @property
    def key(self) -> str:
        """A name that stays the same as long as the line does, whatever happens to other lines."""
        return sha256(
            "\n".join((self.file, self.code, self.kind, self.before, self.after, str(self.nth))).encode()
        ).hexdigest()

    @property
    def change(self) -> str:
        """The change in words, on one line."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{before} -> {after or 'nothing'}"

    def apply(self, text: str) -> str:
        """Return the file's text with the change."""
        assert text[self.start : self.end] == self.before, f"{self.file} is not the file that was read"
        return text[: self.start] + self.after + text[self.end :]


def mutants_of(file: str, text: str) -> list[Mutant]:
    """Return every real change of a file that leaves it valid, in the order of the text."""
    source = Source(text)
    seen: Counter[str] = Counter()
    result = []
    for mutant in sorted(_Finder(file, source).mutants, key=lambda m: (m.start, m.end, m.kind, m.after)):
        result.append(replace(mutant, nth=seen[mutant.key]))
        seen[mutant.key] += 1
    return result


def is_change(mutant: Mutant, text: str) -> bool:
    """Return whether the changed file is valid Python with a different meaning."""
    try:
        return ast.dump(ast.parse(mutant.apply(text))) != ast.dump(ast.parse(text))
    except SyntaxError:
        return False


def _name(function: ast.expr) -> str:
    """The last name of what is called: `sin` of `np.sin`."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _is_list(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple | ast.ListComp | ast.Dict | ast.Set)


def _is_count(node: ast.expr) -> bool:
    """Return whether `node` looks like an integer: a count, and not a measured quantity."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool) and node.value != 0
    return (isinstance(node, ast.Call) and _name(node.func) == "len") or (
        isinstance(node, ast.Attribute) and node.attr in COUNTS
    )


class _Finder(ast.NodeVisitor):
    """Walks the tree of a file and gathers `mutants`."""

    def __init__(self, file: str, source: Source) -> None:
        self.file, self.source = file, source
        self.mutants: list[Mutant] = []
        self._depth = 0  # of functions around the place
        self._rows = (1, 1)  # of the statement around the place
        self.visit(source.tree)

    def _add(self, kind: str, start: int, end: int, after: str) -> None:
        row = self.source.row(start)
        code, before = self.source.line(row), self.source.text[start:end]
        self.mutants.append(Mutant(self.file, row, self._rows, start, end, kind, before, after, code, not self._depth))

    # --- what is left alone, and where a place is ---

    def visit(self, node: ast.AST) -> None:
        """Visit a node; statements also say which rows they take."""
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno
            self._rows = (node.lineno, max(node.lineno, last or node.lineno))
        super().visit(node)

    def _block(self, nodes: Sequence[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Defaults are set where the function is defined, its body runs where it is called."""
        self._block([*node.args.defaults, *node.args.kw_defaults])
        if node.name not in SILENT_METHODS:
            self._depth += 1
            self._block(_without_docstring(node.body))
            self._depth -= 1

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """A lambda's body runs where it is called."""
        self._depth += 1
        self.visit(node.body)
        self._depth -= 1

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Bases and decorators stay as they are."""
        self._block(_without_docstring(node.body))

    def visit_Module(self, node: ast.Module) -> None:
        """The module's docstring stays as it is."""
        self._block(_without_docstring(node.body))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Annotations stay as they are."""
        self._block([node.value])

    def visit_keyword(self, node: ast.keyword) -> None:
        """Keywords that change no result stay as they are."""
        if node.arg not in NO_RESULT:
            self.visit(node.value)

    # --- operators ---

    def visit_Compare(self, node: ast.Compare) -> None:
        """Negate each comparison; move the boundary where whole numbers are compared."""
        operands = [node.left, *node.comparators]
        for left, right in pairwise(operands):
            tokens = self.source.between(left, right)
            symbol, start, end = " ".join(t.text for t in tokens), tokens[0].start, tokens[-1].end
            self._add("comparison", start, end, NEGATED[symbol])
            if symbol in BOUNDARY and (_is_count(left) or _is_count(right)):
                self._add("boundary", start, end, BOUNDARY[symbol])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Exchange `and` with `or`."""
        for left, right in pairwise(node.values):
            (token,) = self.source.between(left, right)
            self._add("and, or", token.start, token.end, {"and": "or", "or": "and"}[token.text])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Drop a minus, a `not`, or the `~` of a mask."""
        token = self.source.tokens(*self.source.span(node))[0]
        if not isinstance(node.op, ast.UAdd):
            self._add("sign" if isinstance(node.op, ast.USub) else "not", token.start, token.end, "")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Exchange the operator, or drop one side of it; text and lists that are put together stay as they are."""
        if _is_text(node.left) or _is_text(node.right):
            return
        (token,) = self.source.between(node.left, node.right)
        is_type = token.text == "|" and not self._depth  # an alias of types
        if token.text in ARITHMETIC and not (is_type or _is_list(node.left) or _is_list(node.right)):
            start, end = self.source.span(node)
            self._add("arithmetic", token.start, token.end, ARITHMETIC[token.text])
            if token.text in {"+", "-", "*", "/"}:
                self._add("dropped term" if token.text in "+-" else "dropped factor", token.start, end, "")
            if token.text in {"+", "-"}:
                self._add("dropped term", start, token.start if token.text == "-" else token.end, "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Change a number or a truth value."""
        value = node.value
        if isinstance(value, bool):
            self._add("constant", *self.source.span(node), str(not value))
        elif isinstance(value, int):
            self._add("constant", *self.source.span(node), str(value + 1))
        elif isinstance(value, float):
            self._add("constant", *self.source.span(node), repr(value + 1 if abs(value) < 10 else 2 * value))

    # --- calls and attributes ---

    def visit_Call(self, node: ast.Call) -> None:
        """Exchange a function with its sibling, drop it, swap its arguments, or shorten a range."""
        name = _name(node.func)
        if name in MESSAGES or name in {"isinstance", "issubclass"}:
            return
        start, end = self.source.span(node)
        function_end = self.source.span(node.func)[1]
        plain = not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        if name in EXCHANGED:
            self._add("function", function_end - len(name), function_end, EXCHANGED[name])
        if name in DROPPED_CALLS and plain and len(node.args) == 1:
            self._add("dropped call", start, function_end, "")
        if name in SWAPPED_ARGUMENTS and plain and len(node.args) > SWAPPED_ARGUMENTS[name] + 1:
            first, second = node.args[SWAPPED_ARGUMENTS[name] :][:2]
            begin, stop = self.source.span(first)[0], self.source.span(second)[1]
            self._add("swapped arguments", begin, stop, f"{self.source.segment(second)}, {self.source.segment(first)}")
        if name == "range" and plain and len(node.args) == 1:
            self._add("range", start, end, f"range(({self.source.segment(node.args[0])}) - 1)")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Drop a transposition."""
        if node.attr == "T" and isinstance(node.ctx, ast.Load):
            end = self.source.span(node)[1]
            self._add("transposition", end - len(".T"), end, "")
        self.generic_visit(node)

    # --- conditions and statements ---

    def _condition(self, test: ast.expr) -> None:
        """Negate a condition that has no operator of its own."""
        plain = isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        if plain and not (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"):
            self._add("condition", *self.source.span(test), f"not {self.source.segment(test)}")

    def visit_If(self, node: ast.If) -> None:
        """Negate the condition; what is for type checkers alone stays as it is."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Negate the condition."""
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Negate the conditions."""
        for test in node.ifs:
            self._condition(test)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        """Return nothing."""
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._add("return", *self.source.span(node), "return None")
        self.generic_visit(node)

    def _statement(self, node: ast.stmt) -> None:
        self._add("dropped statement", *self.source.span(node), "pass")

    def visit_Expr(self, node: ast.Expr) -> None:
        """Drop a call that is there for its effect."""
        if isinstance(node.value, ast.Call) and _name(node.value.func) not in MESSAGES:
            self._statement(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Drop an assignment to a part of an object, or to a name that was assigned before."""
        target = node.targets[0]
        if isinstance(target, ast.Subscript) or (isinstance(target, ast.Name) and target.id in _loaded(node.value)):
            self._statement(node)
        if not (isinstance(target, ast.Name) and target.id == "__all__"):
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Drop the statement, or exchange its operator."""
        self._statement(node)
        (token,) = self.source.between(node.target, node.value)
        if token.text in AUGMENTED and not _is_text(node.value) and not _is_list(node.value):
            self._add("arithmetic", token.start, token.end, AUGMENTED[token.text])
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        """Drop it."""
        self._statement(node)

    def visit_Break(self, node: ast.Break) -> None:
        """Drop it."""
        self._statement(node)


def _loaded(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    docstring = body and isinstance(body[0], ast.Expr) and _is_text(body[0].value)
    return body[1:] if docstring else body
