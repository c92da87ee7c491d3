"""The robot: its description, its parameters, and the files it is read from and written to."""
