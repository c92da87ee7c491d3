"""Sentences about a motion: what its joints do not do, and why it cannot separate parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Below this share of the log's largest speed or acceleration, a joint stands still or keeps its speed.
_NEGLIGIBLE = 1e-9


def joint_facts(names: Sequence[str], qd: np.ndarray, qdd: np.ndarray) -> tuple[str, ...]:
    """Return, for each joint that does not move fully, what it does not do: `elbow never reverses`.

    `names` are the joints, `qd` (samples, n) their velocities and `qdd` their accelerations.

    >>> joint_facts(["elbow", "wrist"], np.array([[0.5, 0.0], [1.0, 0.0]]), np.array([[0.1, 0.0], [0.2, 0.0]]))
    ('elbow never reverses', 'wrist does not move')
    """
    facts = []
    fastest, hardest = np.abs(qd).max(initial=0.0), np.abs(qdd).max(initial=0.0)
    for k, name in enumerate(names):
        v, a = qd[:, k], qdd[:, k]
        if np.abs(v).max() <= _NEGLIGIBLE * fastest and np.abs(a).max() <= _NEGLIGIBLE * hardest:
            facts.append(f"{name} does not move")
        elif np.ptp(v) <= _NEGLIGIBLE * fastest:
            facts.append(f"{name} moves at one speed")
        elif (v > 0).all() or (v < 0).all():
            facts.append(f"{name} never reverses")
        elif (v >= 0).all() or (v <= 0).all():
            # In the matrix, sgn(qd) = 0 separates dry friction from an offset; in a real joint, which sticks, it does not.
            still = int((v == 0).sum())
            facts.append(f"{name} never reverses, but stands still in {still} samples: only these show its friction")
    return tuple(facts)


def merged_sentence(name: str, partners: Sequence[str], facts: Sequence[str]) -> str:
    """Return a sentence that says with which parameters another one is merged, and the reason if the motion shows one.

    `facts` are those that `joint_facts` returns for the motion.

    >>> merged_sentence("joint3.offset", ["joint3.coulomb"], ["joint3 never reverses"])
    'joint3 never reverses: its coulomb and offset are one.'
    >>> merged_sentence("link2.m", ["link1.mx", "link1.Izz"], [])
    'On this log link2.m cannot be distinguished from link1.mx, link1.Izz.'
    """
    owner, _, kind = name.rpartition(".")
    reason = next((f for f in facts if f.startswith(f"{owner} ")), None)
    own = [p.rpartition(".")[2] for p in partners if p.rpartition(".")[0] == owner]
    if reason and len(own) == len(partners) == 1:
        return f"{reason}: its {own[0]} and {kind} are one."
    shown = ", ".join(partners[:6]) + (f" and {len(partners) - 6} more" if len(partners) > 6 else "")
    return f"{reason + ': ' if reason else 'On this log '}{name} cannot be distinguished from {shown}."
