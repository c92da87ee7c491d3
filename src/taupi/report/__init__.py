"""Pictures of robots and of results: one verb, `plot`, and a file for each thing that it draws."""

from taupi.report import ellipses as ellipses
from taupi.report import robot as robot
from taupi.report import run as run
from taupi.report.figure import plot as plot
