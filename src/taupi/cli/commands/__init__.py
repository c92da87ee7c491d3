"""The commands, a file each: the function that has the file's name, its parameters the options, its docstring the help.

To add a command, add its file, and its name below. What is heavy to import is imported when the function runs, so that
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
