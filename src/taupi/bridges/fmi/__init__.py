"""Functional Mock-up Units: plants, controllers and online components, for tools that support FMI 2.0 or 3.0.

From the bottom up: `model.py` (what a unit has: variables, states, the C behind them), `description.py` (its XML), `sources.py`
(its C), `compiler.py` (the system's compiler), `unit.py` (all of it in one file).
"""
