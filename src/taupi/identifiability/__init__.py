"""What can be identified: base parameters and classes of parameters, exactly; rank and condition of what a log shows."""
