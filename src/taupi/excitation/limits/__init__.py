"""Limits of a motion: what they are, the rows that keep them during the design, and certificates that they are kept."""
