"""Logs of robots: their file formats, what is wrong with them, and how they become signals for a regressor."""
