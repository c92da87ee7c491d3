"""From columns of a file to the signals of a log: which column is what, in which unit; guesses."""
