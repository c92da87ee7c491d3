"""The verb `momentum_observer`: torque from outside, for a robot or for a fit."""

from __future__ import annotations

from taupi.checks import truth
from taupi.dynamics.imu_form import require_motors
from taupi.dynamics.terms import TermsLike
from taupi.errors import Argument, TaupiError, shown
from taupi.identification.online.friction_filter import FrictionFilter
from taupi.identification.online.model import OnlineModel
from taupi.identification.online.observer import MomentumObserver, observer_bandwidth
from taupi.identification.results.fit import Fit
from taupi.identification.results.online_model import online_model
from taupi.model.robot import Robot


def momentum_observer(
    source: Robot | Fit, bandwidth_hz: float = 20.0, terms: TermsLike | None = None, tracker: bool = False
) -> MomentumObserver:
    """Return an observer of the torque from outside: dr/dt = K (tau_ext - r), with K = 2 pi bandwidth (De Luca & Mattone 2003).

    `source` is a fit, whose parameters and terms it takes, or a robot with its own parameters and with `terms` of its joints,
    none by default; elastic joints of a robot are taken as rigid, `tau` as the torque of the joints. `bandwidth_hz` (20 Hz by
    default) sets how fast it follows: 63 % of a sudden contact after 1 / K = 8 ms; noise grows with it. With `tracker`, friction
    of a fit follows the robot, learnt while there is no contact; the default is False.

    The observer is used sample by sample (`init`, `step`), over a log (`external_torque`), as a program (`program`), as C
    (`taupi.emit_component`), and with thresholds from logs without contacts to find contacts (`calibrated`).

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> observer, q, rest = tp.momentum_observer(arm), [0.3, 0.5], [0.0, 0.0]
    >>> held = tp.gravity_torque(arm)(q) - [2.0, 0.0]  # someone carries 2 N m of the first joint
    >>> state = observer.init()
    >>> for _ in range(100):
    ...     tau_ext, state = observer.step(state, q, rest, held, dt=0.001)
    >>> tau_ext.round(3).tolist()
    [2.0, 0.0]
    """
    bandwidth_hz, tracker = observer_bandwidth("bandwidth_hz", bandwidth_hz), truth("tracker", tracker)
    if isinstance(source, Fit | Robot):
        require_motors(source.robot if isinstance(source, Fit) else source, "A momentum observer")
    if isinstance(source, Fit):
        if terms is not None:
            raise TaupiError(Argument("terms"), " are those of the fit: leave them out.")
        model = online_model(source)
    elif isinstance(source, Robot):
        model = OnlineModel.of_robot(source, () if terms is None else terms)
    else:
        raise TaupiError(Argument("source"), f" is {shown(source)}, expected a robot or a fit.")
    return MomentumObserver(model, bandwidth_hz, FrictionFilter.of(model, careful=True) if tracker else None)
