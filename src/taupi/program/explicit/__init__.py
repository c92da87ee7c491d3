"""Programs as formulas: expansion into polynomials, a presentation that people can read, and its writers."""
