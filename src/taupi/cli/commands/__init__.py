"""The commands, one file each: a function named like its file, whose parameters are the options and whose docstring is the help.

To add a command, add its file, and a line below. Heavy modules are imported only when the function runs, so that
`taupi --help` and `taupi COMMAND --help` answer at once.
"""

# The help of `taupi`: by job, its commands in the order in which they are used, and what each does in at most 64 characters.
JOBS: dict[str, dict[str, str]] = {
    "Start": {
        "init": "Write a folder to start with: mappings and settings, commented",
        "studio": "Identify and excite in a browser: columns, fits, pages",
        "doctor": "Check the installation: versions, extras, a few known results",
    },
    "Know a robot": {
        "info": "Show its card: joints, limits, parameters, what was read",
        "view": "Show it in three dimensions, in a browser",
        "convert": "Write it in taupi's own TOML format, without loss",
        "base": "Show which parameters can be identified at all",
        "bounds": "Show guaranteed bounds of M, c and g over a joint range",
    },
    "Get formulas and programs": {
        "explicit": "Write a regressor or any other program as formulas",
        "regressor": "Show a regressor: its columns, its cost, its value at a state",
        "lump": "Make the dynamics linear in the parameters you choose",
        "emit": "Write a program or controller as C, Python, MATLAB or CUDA",
    },
    "Identify from logs": {
        "excite": "Design a motion to record, proven to stay within limits",
        "log": "Check a log: what it holds, what is wrong with it",
        "identify": "Identify a robot: parameters, a verdict, a report",
        "check": "Show which parameters of a model the logs contradict",
    },
    "Use a fit": {
        "validate": "Show how well it predicts the torque of other logs",
        "compare": "Show what changed in a robot, or which of two fits is better",
        "report": "Write its report: one self-contained HTML file",
        "export": "Write the identified robot: for a simulator, as URDF or C",
        "payload": "Weigh what the robot carries, with intervals",
        "gains": "Calibrate torque per ampere from currents and a known mass",
        "contacts": "Find contacts: when, where, and what force explains them",
    },
    "Identify from many logs": {
        "fleet": "Identify arms of one kind, and find those that stand out",
        "worker": "Start workers of a Dask cluster",
        "compress": "Compress a log to what a fit needs of it",
        "combine": "Fit logs of which only compressed pieces are available",
    },
    "Simulate and control": {
        "simulate": "Simulate a robot under a control law",
        "control": "Compare laws that adapt from a wrong initial estimate",
        "study": "Try laws on many arms that differ from the model",
        "reproduce": "Rerun a published study, beside the paper's results",
    },
}
COMMANDS: dict[str, str] = {name: line for commands in JOBS.values() for name, line in commands.items()}
