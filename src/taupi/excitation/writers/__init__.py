"""Motions as files that a robot's controller runs, one module per format. `FORMATS` is the table of formats.

A format is a module with `write(samples, folder) -> None`, which writes the file `FILE` into a folder. `JOINTS` is the number of
joints that an arm needs for it, or None if any number will do.
"""

FORMATS = {
    "csv": "taupi.excitation.writers.csv",
    "ros2": "taupi.excitation.writers.ros2",
    "ros2-goal": "taupi.excitation.writers.ros2_goal",
    "urscript": "taupi.excitation.writers.urscript",
    "franka": "taupi.excitation.writers.franka",
    "npz": "taupi.excitation.writers.npz",
}
