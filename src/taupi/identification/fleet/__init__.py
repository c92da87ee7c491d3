"""A fleet of arms of one kind: shared links, and separate friction for each arm."""
