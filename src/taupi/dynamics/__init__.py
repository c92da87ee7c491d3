"""Dynamics: algorithms over SX, one a file, and the programs that they make."""
