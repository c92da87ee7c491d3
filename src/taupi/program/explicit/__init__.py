"""Programs as formulas: expansion into polynomials, a readable form, and its writers."""
