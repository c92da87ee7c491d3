"""Programs: functions traced once over symbols, and the targets and emitters that read the trace. Knows no robots."""
