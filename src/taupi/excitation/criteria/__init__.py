"""How much a motion tells: information of parameters, criteria of it, and their gradient along the motion."""
