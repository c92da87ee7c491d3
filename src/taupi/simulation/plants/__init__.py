"""What is simulated: rigid and elastic arms, their friction, what they carry and what acts on them."""
