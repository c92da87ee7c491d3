"""Motions that make identification as precise as a robot's limits allow, and the proof that the limits hold."""
