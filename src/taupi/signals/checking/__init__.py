"""What is wrong with a log, and what is done about it: findings and their thresholds, cleaning, refusals."""
