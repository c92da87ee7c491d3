"""Errors on parts of the logs that were left out: what verdicts, gains and friction terms are decided by."""
