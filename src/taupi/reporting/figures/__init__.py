"""Matplotlib figures, one file per kind of thing: importing this registers each of them with the verb `plot`."""

from taupi.reporting.figures import fit as fit
from taupi.reporting.figures import fleet as fleet
from taupi.reporting.figures import mass_ellipses as mass_ellipses
from taupi.reporting.figures import motion as motion
from taupi.reporting.figures import robot as robot
from taupi.reporting.figures import run as run
from taupi.reporting.figures import validation as validation
from taupi.reporting.figures.figure import plot as plot
