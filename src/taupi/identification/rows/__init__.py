"""From logs to compressed rows of the regressor: one path, whole or block by block."""
