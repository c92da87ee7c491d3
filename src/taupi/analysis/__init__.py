"""Analyses of a robot: bounds of its dynamics, its properties, nearness to singularities, ellipses of its mass."""
