"""Functional Mock-up Units: plants, controllers and online components, for tools that support FMI 2.0 or 3.0.

From the bottom up: `model.py` (what a unit has: variables, states, the C behind them), `description.py` (its XML), `unit.py` (its
sources, the system's compiler, and all of it in one file).
"""
