"""The robot: its description, its parameters, and the files that it is read from and written to."""
