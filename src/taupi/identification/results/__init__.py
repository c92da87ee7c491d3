"""The results of a fit: estimates, uncertainty, validation, files, exports."""
