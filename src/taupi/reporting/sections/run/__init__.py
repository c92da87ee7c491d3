"""The sections of the page of runs of control laws, one or several side by side."""
