"""CasADi as `cs`, imported when one of its names is first used: a program whose machine code is on disk does not need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import casadi as cs
else:

    class _CasadiOnUse:
        """Stands in for the module: a name is looked up in it once and kept."""

        def __getattr__(self, name: str) -> Any:
            import casadi

            value = getattr(casadi, name)
            self.__dict__[name] = value
            return value

    cs = _CasadiOnUse()

__all__ = ["cs"]
