"""Programs: functions traced once over symbols, and the targets that read the trace. Knows nothing of robots."""
