"""Sections of the page of an exciting motion."""
