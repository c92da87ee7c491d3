"""The search for the best motion: variables, rows of limits, IPOPT, several starts."""
