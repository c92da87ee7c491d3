"""Elastic robots of which only the motors are measured: their links are simulated behind the springs."""
