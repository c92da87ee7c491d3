"""Fuzzing of every reader: seeds of each format, changed at random, read in processes with limits of memory and time."""
