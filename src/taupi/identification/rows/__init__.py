"""From logs to compressed rows of the regressor: one path, for a log in memory and for one that is streamed in blocks."""
