"""What comes of a fit: estimates, uncertainty, validation, files, exports."""
