"""Limits of a motion: what they are, the rows that keep them while it is designed, and certificates that it does."""
