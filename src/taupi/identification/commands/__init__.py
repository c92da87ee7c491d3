"""Robots of which commands and encoders are known, and no torque: what is simulated, what is free, and what is solved for."""
