"""The control laws, one file each."""
