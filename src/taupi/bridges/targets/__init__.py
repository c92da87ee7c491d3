"""The simulators and file formats that an identified robot is written for. Each target has a file here, and registers itself."""

from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
