"""How much a motion shows: information about parameters, criteria of it, and their gradient along the motion."""
