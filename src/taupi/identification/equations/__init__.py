"""What the rows of a fit are: one class per kind of robot and log, chosen once by `kinds.equations_of`."""
