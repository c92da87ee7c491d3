"""Motions that make identification as sure as it can be within a robot's limits, and the proof that the limits hold."""
