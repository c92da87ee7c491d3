"""Count the modules that `taupi identify` uses from a file to fit.json, and the layers between them.

    python tools/identify_path.py [COMMAND]

A module counts if the command's module imports it when it is loaded or when the command runs, directly or through others;
imports inside functions of other modules, and imports for type checkers, do not count, nor does the room that draws reports.
Packages count as modules. Layers are the steps of the longest chain of such imports.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = "taupi"
REPORTS = "taupi.reporting"
COMMANDS = "taupi.cli.commands"


class ImportGraph:
    """Which modules of the package import which, read from their source."""

    def __init__(self, source: Path = SOURCE) -> None:
        self.files = {_module_name(path.relative_to(source)): path for path in (source / PACKAGE).rglob("*.py")}

    def imports(self, module: str, in_functions: bool = False) -> set[str]:
        """Return what a module imports when it is loaded, and `in_functions` also what its functions import."""
        statements = _import_statements(ast.parse(self.files[module].read_text(encoding="utf-8")), in_functions)
        return {name for statement in statements for name in self._named(statement)}

    def _named(self, statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
        for alias in statement.names:
            if isinstance(statement, ast.Import):
                candidates = [alias.name]
            else:
                candidates = [f"{statement.module}.{alias.name}", str(statement.module)]
            yield from [name for name in candidates if name in self.files][:1]


class CommandPath:
    """What a command imports, directly or through others."""

    def __init__(self, command: str, graph: ImportGraph | None = None) -> None:
        self.root = f"{COMMANDS}.{command}"
        self.graph = graph or ImportGraph()
        self._imports: dict[str, set[str]] = {}

    def imports(self, module: str) -> set[str]:
        """Return what a module imports; the command's own functions count, since it runs."""
        if module not in self._imports:
            self._imports[module] = self.graph.imports(module, in_functions=module == self.root)
        return self._imports[module]

    @cached_property
    def modules(self) -> list[str]:
        """All modules that it uses, packages included, without those of reports."""
        seen: set[str] = set()
        waiting = [self.root]
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting += self.imports(module)
                waiting += [module.rpartition(".")[0]] if "." in module else []
        return sorted(name for name in seen if not name.startswith(REPORTS))

    @cached_property
    def longest_chain(self) -> list[str]:
        """The longest chain of modules of which each imports the next."""
        chains: dict[str, list[str]] = {}

        def chain(module: str) -> list[str]:
            if module not in chains:
                chains[module] = []  # a circular import
                chains[module] = [module, *max(map(chain, sorted(self.imports(module))), key=len, default=[])]
            return chains[module]

        return chain(self.root)

    @property
    def layers(self) -> int:
        """The number of imports in the longest chain."""
        return len(self.longest_chain) - 1


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _import_statements(node: ast.AST, in_functions: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        elif in_functions or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _import_statements(child, in_functions)


def main(arguments: list[str]) -> None:
    """Print the counts, the modules and the longest chain."""
    path = CommandPath(arguments[0] if arguments else "identify")
    print(f"{len(path.modules)} modules, {path.layers} layers")
    print("\n".join(path.modules))
    print(" > ".join(path.longest_chain))


if __name__ == "__main__":
    main(sys.argv[1:])
