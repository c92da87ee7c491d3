"""Springs that bend little: rows in which the deflection is the measurement, and what the logs show about each spring."""
