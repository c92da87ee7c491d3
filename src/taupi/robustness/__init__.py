"""Robustness: many uncertain arms under several control laws, and how they perform."""
