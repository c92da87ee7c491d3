"""The noise of sensors in a loop, period after period."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from taupi.errors import TaupiError

WORDS = 4  # words per value of the counter, and as many normal numbers
_UNIT = 2.0**-53


class NoiseStreams:
    """Standard normal noise of `seeds`, period after period; a period has `size` channels.

    It is a function of seed, period and channel, so that any part of it can be drawn on its own, on any device. The words
    come from Philox 4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), as in NumPy, with the seed as
    key; pairs of words make pairs of normal numbers by Box and Muller's rule. `program.emitters.cuda_roll` writes the same for a
    GPU.
    """

    def __init__(self, seeds: Sequence[int], size: int) -> None:
        plain = isinstance(seeds, range)  # those that nobody chose, of thousands of roll-outs
        plain = plain or (set(map(type, seeds)) == {int} and min(seeds) >= 0 and max(seeds) < 2**128)
        self._keys = seeds if plain else [key_of(seed) for seed in seeds]
        self._size = size

    @cached_property
    def _generators(self) -> list[np.random.Philox]:
        return [np.random.Philox(key=key) for key in self._keys]  # costly for many, and a GPU draws its own

    def draw(self, periods: int) -> np.ndarray:
        """Return the noise of the next `periods`, (periods, seeds, size)."""
        counts = -(-self._size // WORDS)
        raw = np.empty((periods, len(self._generators), counts * WORDS), dtype=np.uint64)
        for k, generator in enumerate(self._generators):
            raw[:, k] = generator.random_raw(periods * counts * WORDS).reshape(periods, -1)
        uniform = (raw >> np.uint64(11)).astype(float)
        radius = np.sqrt(-2 * np.log((uniform[..., ::2] + 1) * _UNIT))
        angle = 2 * np.pi * (uniform[..., 1::2] * _UNIT)
        normal = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
        return normal.reshape(*raw.shape)[..., : self._size]


def key_of(seed: int) -> int:
    """Return the key of a seed: the number itself, which has to fit into 128 bits."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**128:
        raise TaupiError("{seed} is {got!r}, expected a whole number from 0 to 2^128 - 1.", got=seed)
    return int(seed)
