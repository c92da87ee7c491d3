"""The control laws, one file each.

A new one is a frozen dataclass that derives from `AdaptiveLaw` (and `Damped`) or from `FixedLaw`, and says what its torque is
(`control`), what its Lyapunov function does (`claim`) and what it is called (`name`).
"""
