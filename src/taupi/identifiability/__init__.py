"""What can be identified: base parameters, classes of parameters, exact regrouping, rank and conditioning of a log."""
