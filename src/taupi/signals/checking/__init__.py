"""What is wrong with a log, and how it is handled: findings and their thresholds, cleaning, refusals."""
