"""Parameters that real bodies can have."""
