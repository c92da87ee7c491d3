"""Closed loops over symbols, compiled, and rolled out one by one or in batches."""
