"""The friction terms of a fit, and dry friction along a motion."""
