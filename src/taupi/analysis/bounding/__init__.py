"""How bounds are found: functions on boxes, measures of them, branch and bound."""
