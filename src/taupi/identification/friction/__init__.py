"""Friction along a motion, and how its shape is chosen."""
