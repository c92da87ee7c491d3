"""Matplotlib figures, one file per subject: importing this registers each of them with the verb `plot`."""

from taupi.reporting.figures import fit as fit
from taupi.reporting.figures import robot as robot
from taupi.reporting.figures import run as run
from taupi.reporting.figures.figure import plot as plot
