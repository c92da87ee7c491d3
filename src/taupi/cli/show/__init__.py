"""What commands print, as readable text and as plain data for `--json`: one file for each thing that is shown."""
