"""What is chosen by looking at the logs: cutoffs, delays."""
