"""Filters, derivatives, delays and periods: from a recorded log to signals that a regressor can use."""
