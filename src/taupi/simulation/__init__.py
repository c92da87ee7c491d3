"""Simulation: plants, sensors, references, integrators, and closed loops traced into one compiled step."""
