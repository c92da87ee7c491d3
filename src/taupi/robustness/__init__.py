"""Robustness: many uncertain arms under several control laws, and what becomes of them."""
