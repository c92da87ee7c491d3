"""Whether the torques of a log were measured, or are currents or voltages times gains that somebody stated."""

from __future__ import annotations

import numpy as np

from taupi.signals.log import Log

# Rows that are examined, and the share of the torque up to which a deviation from a multiple is rounding.
_ROWS, _ROUNDING = 2000, 1e-6


def rests_on_gains(log: Log) -> bool:
    """Return whether tau is a combination of the currents, or of voltages and speeds of the motors, apart from rounding.

    >>> import numpy as np
    >>> current = np.random.default_rng(0).normal(size=(50, 2))
    >>> log = Log(np.arange(50) / 100, np.zeros((50, 2)), current=current, tau=current * [9.0, 4.0])
    >>> rests_on_gains(log), rests_on_gains(log.with_(tau=current**3))
    (True, False)
    """
    if log.tau is None:
        return False
    for names in (("current",), ("voltage", "thetad"), ("voltage",)):
        signals = [log.signals[name] for name in names if name in log.signals]
        if len(signals) < len(names):
            continue
        both = np.hstack([log.tau, *signals])[:_ROWS]
        both = both[np.isfinite(both).all(axis=1)]
        tau, drive = both[:, : log.n], both[:, log.n :]
        if len(both) <= drive.shape[1] or not tau.any():
            continue
        rest = tau - drive @ np.linalg.lstsq(drive, tau, rcond=None)[0]
        if np.linalg.norm(rest) < _ROUNDING * np.linalg.norm(tau):
            return True
    return False
