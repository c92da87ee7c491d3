"""The settings: the gains of the laws, and the plant."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from taupi.reporting.run_content import RunContent
from taupi.reporting.sections.base import cell, head

FEW = 8  # numbers that are written out
_OWN = ("robot", "loads")
_GOES_WITH = {
    "wrench": ("frame", "axes"),
    "terms": ("smoothing",),
}  # settings that have a meaning only together with another one


class SettingsSection:
    """One column per law, one row per setting; then the plant."""

    name: ClassVar[str] = "settings"
    title: ClassVar[str] = "Settings"

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return both tables."""
        laws = {t.name: in_words(t.law) for t in content.trials if dataclasses.is_dataclass(t.law)}
        plant = in_words(content.first.plant) if dataclasses.is_dataclass(content.first.plant) else {}
        if not laws and not plant:
            return None
        keys = list(dict.fromkeys(k for settings in laws.values() for k in settings))
        rows = "".join(
            f"<tr>{cell(k, 'name')}{''.join(cell(settings.get(k, '-'), 'long') for settings in laws.values())}</tr>"
            for k in keys
        )
        gains = f"{head(['law', *laws])}<tbody>{rows}</tbody>" if laws else ""
        lines = "".join(f"<tr>{cell(k, 'name')}{cell(v, 'long')}</tr>" for k, v in plant.items())
        return {"laws": gains, "plant": f"{head(['plant', ''])}<tbody>{lines}</tbody>" if plant else ""}


def in_words(settings: Any) -> dict[str, str]:
    """Return the settings of a frozen object as words, without those that are off."""
    named = {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings) if f.name not in _OWN}
    idle = {other for name, others in _GOES_WITH.items() if _off(named.get(name, 0)) for other in others}
    return {k: words(v) for k, v in named.items() if not _off(v) and k not in idle}


def _off(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, tuple | list | float | int) and not value)


def words(value: Any) -> str:
    """Return a setting on one line: a few numbers as they are, many by how many there are and their range.

    >>> words(np.array([1.0, 2.5])), words(np.arange(1.0, 61.0)), words(np.full(6, 5.0))
    ('1, 2.5', '60 numbers, 1 .. 60', '5')
    """
    if isinstance(value, np.ndarray):
        flat = value.ravel()
        if value.ndim == 1 and len(flat) and (flat == flat[0]).all():
            return f"{flat[0]:.4g}"
        if len(flat) <= FEW and value.ndim == 1:
            return ", ".join(f"{v:.4g}" for v in flat)
        size = " x ".join(map(str, value.shape)) if value.ndim > 1 else str(len(flat))
        return f"{size} numbers, {flat.min():.4g} .. {flat.max():.4g}" if len(flat) else "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return "; ".join(words(v) for v in value)
    return getattr(value, "name", None) or str(value)
