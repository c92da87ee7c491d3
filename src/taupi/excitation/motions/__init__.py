"""Families of motions that are linear in their coefficients, and bounds of them that hold at all times."""
