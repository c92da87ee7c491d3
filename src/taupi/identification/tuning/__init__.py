"""Choices made from the logs: cutoffs, shapes of friction, delays."""
