"""The commands, one file each: a function named like its file, whose parameters are the options and whose docstring is the help.

To add a command, add its file, and its name below. Heavy modules are imported only when the function runs, so that
`taupi --help` and `taupi COMMAND --help` answer at once.
"""

# In the order of the help: robots, their programs, motions, logs and fits, simulation and control, studies, the installation.
COMMANDS = (
    *("init", "info", "view", "convert", "regressor", "base", "bounds"),
    *("emit", "explicit", "lump"),
    *("log", "excite", "identify", "validate", "compare", "report", "export"),
    *("payload", "gains", "contacts"),
    *("fleet", "worker", "compress", "combine"),
    *("simulate", "control", "study"),
    *("reproduce", "doctor"),
)
