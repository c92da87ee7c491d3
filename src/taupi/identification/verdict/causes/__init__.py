"""The causes that are looked for: one class each, in the order in which they are named where they explain the same.

To add one, write a class with a `name` and `candidates(trials)`, and name it here.
"""

from __future__ import annotations

from taupi.identification.verdict.candidate import Cause
from taupi.identification.verdict.causes.gains import TorqueFactor
from taupi.identification.verdict.causes.gravity import CompensatedGravity, Mounting
from taupi.identification.verdict.causes.jumps import Spikes, WrappedAngles
from taupi.identification.verdict.causes.offset import OffsetOfQ, OffsetOfQByDescription
from taupi.identification.verdict.causes.order import SwappedJoints
from taupi.identification.verdict.causes.payload import OtherPayload
from taupi.identification.verdict.causes.signs import FlippedSigns, FlippedTorques
from taupi.identification.verdict.causes.timing import DelayedTorque
from taupi.identification.verdict.causes.units import Degrees, Milliseconds

# Those that a log shows by itself are looked for in every fit.
SHOWN: tuple[Cause, ...] = (Spikes(), WrappedAngles())
# Where something is left to be explained, these cost next to nothing.
SILENT: tuple[Cause, ...] = (OtherPayload(), DelayedTorque(), OffsetOfQ())
# Where nothing is, limits of positions may still tell of these.
REDIRECTED: tuple[Cause, ...] = (FlippedSigns(), SwappedJoints())
# The others only if there is a reason to.
TRIED: tuple[Cause, ...] = (
    Degrees(),
    CompensatedGravity(),
    Milliseconds(),
    FlippedTorques(),
    FlippedSigns(),
    TorqueFactor(),
    Mounting(),
    SwappedJoints(),
    OffsetOfQByDescription(),
)
# Those of them that cost little, since the logs need no second preparation, are looked for where there is no reason, too.
QUICK: tuple[Cause, ...] = (FlippedSigns(), TorqueFactor(), SwappedJoints())
# Those that a description tells of which explains little of a log, though the fit is good.
CONTRADICTING: tuple[Cause, ...] = (FlippedTorques(), Mounting(), OffsetOfQByDescription())
CAUSES: tuple[str, ...] = tuple(dict.fromkeys(cause.name for cause in (*SHOWN, *SILENT, *TRIED)))
