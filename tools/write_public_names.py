"""Write what type checkers and editors need to know about the public names into the modules that offer them.

    python tools/write_public_names.py

The names come from the table in src/taupi/public_names.py. Each module has `__all__` and imports for type checkers below a
marker; everything below the marker is rewritten.
"""

from __future__ import annotations

import sys
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"
LONGEST = 120  # of a line, as the formatter has it
MARKER = "# Below: written by tools/write_public_names.py from taupi/public_names.py.\n"


def module_file(namespace: str) -> Path:
    """Return the file of a namespace: a separate module, or the `__init__` of the room with its name."""
    folder = SRC / "taupi" / namespace
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def block(namespace: str) -> str:
    """Return what stands below the marker: `__all__`, and an import of each name for type checkers."""
    from taupi.public_names import NAMESPACES, homes

    table = homes(namespace)
    names = sorted([*table, *(() if namespace else (*NAMESPACES, "__version__"))])
    lines = [
        "# isort: off",
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in names),
        "]",
        "",
        "if TYPE_CHECKING:",
    ]
    lines += [f"    from taupi import {name}" for name in NAMESPACES if not namespace]
    modules: dict[str, list[str]] = {}
    for public, (module, name) in sorted(table.items()):
        modules.setdefault(module, []).append(name + (f" as {public}" if public != name else ""))
    for module, offered in sorted(modules.items()):
        line = f"    from {module} import {', '.join(offered)}"
        if len(line) > LONGEST:
            line = f"    from {module} import (\n" + "".join(f"        {name},\n" for name in offered) + "    )"
        lines.append(line)
    return "\n".join(lines) + "\n"


def written(namespace: str) -> str:
    """Return the text that the file of a namespace should have."""
    path = module_file(namespace)
    head, mark, _ = path.read_text(encoding="utf-8").partition(MARKER)
    if not mark:
        raise SystemExit(f"{path} has no line {MARKER!r}")
    return head + MARKER + block(namespace)


def main() -> None:
    """Write all of them."""
    from taupi.public_names import PUBLIC

    for path, text in {module_file(name): written(name) for name in PUBLIC}.items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}", file=sys.stderr)


if __name__ == "__main__":
    sys.path.insert(0, str(SRC))
    main()
