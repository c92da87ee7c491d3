"""What commands print, as text for people and as plain data for `--json`: a file for each thing that is shown."""
