"""Filters, derivatives, delays and periods of sampled signals."""
