"""The optional project around an emitted C program: a CMake file, a README, a call from Python."""

from __future__ import annotations

from taupi.program.emitters.c import files, names, prototype
from taupi.program.program import Program

_CMAKE = """cmake_minimum_required(VERSION 3.10)
project(taupi_{name} C)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(taupi_{name} SHARED {name}.c)
set_target_properties(taupi_{name} PROPERTIES
  OUTPUT_NAME {name} C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF WINDOWS_EXPORT_ALL_SYMBOLS ON)
target_include_directories(taupi_{name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
if(UNIX)
  target_link_libraries(taupi_{name} PUBLIC m)
endif()
"""

_README = """# {name}

```c
{prototype};
```

`{name}.h` describes the arguments. `{name}.c` needs only `<math.h>`: copy the two files into your own project, or build a
shared library here:

```shell
cmake -S . -B build
cmake --build build
python ctypes_example.py
```
"""

_EXAMPLE = '''"""Call {name} once through ctypes: python ctypes_example.py [LIBRARY]."""

import ctypes
import sys
from pathlib import Path


def library():
    """Return the path of the shared library: from the command line, or the one that CMake built here."""
    if len(sys.argv) > 1:
        return str(Path(sys.argv[1]).resolve())
    here = Path(__file__).resolve().parent
    paths = [p for ending in ("so", "dylib", "dll") for p in sorted(here.rglob(f"*{name}.{{ending}}"))]
    if not paths:
        sys.exit("No library yet: cmake -S . -B build && cmake --build build")
    return str(paths[0])


def sample(size):
    """Return an array of example values."""
    return (ctypes.{kind} * size)(*(0.1 * (k + 1) for k in range(size)))


function = ctypes.CDLL(library()).{name}
function.restype = None

{inputs}{outputs}
function({arguments})
{prints}'''


def project(program: Program, name: str | None = None, dtype: str = "float64") -> dict[str, str]:
    """Return the texts of CMakeLists.txt, README.md and ctypes_example.py, by file name."""
    name = next(iter(files(program, name, dtype))).removesuffix(".c")
    inputs, outputs = names(program, name)
    kind = "c_double" if dtype == "float64" else "c_float"
    samples = [f"{a} = sample({max(1, p.size)})" for a, p in zip(inputs, program.inputs, strict=True)]
    results = [f"{y} = (ctypes.{kind} * {max(1, p.size)})()" for y, p in zip(outputs, program.outputs, strict=True)]
    example = _EXAMPLE.format(
        name=name,
        kind=kind,
        inputs="".join(f"{line}\n" for line in samples),
        outputs="".join(f"{line}\n" for line in results),
        arguments=", ".join(inputs + outputs),
        prints="".join(f'print("{y}:", *{y})\n' for y in outputs),
    )
    return {
        "CMakeLists.txt": _CMAKE.format(name=name),
        "README.md": _README.format(name=name, prototype=prototype(program, name, dtype)),
        "ctypes_example.py": example,
    }
