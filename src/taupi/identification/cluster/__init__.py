"""Logs that are read and compressed by the workers of a Dask cluster."""
