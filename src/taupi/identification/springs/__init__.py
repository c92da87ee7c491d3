"""Springs that bend little: rows in which the deflection is what is measured, and what the logs show of each spring."""
