"""Gains of drives, torque per ampere, from currents with and without a known mass."""
