"""A fleet of arms of one kind: shared links, and friction that each arm has for itself."""
