"""Bytes changed at random: single bits, numbers at the edge of their range, spans cut out, doubled, moved or borrowed."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

# Words that trip readers of any format.
TOKENS: tuple[bytes, ...] = tuple(
    text.encode("utf-8", "surrogatepass")
    for text in (
        *(
            "",
            "0",
            "-1",
            "1e308",
            "1e-308",
            "1e999",
            "1e1000000000",
            "nan",
            "inf",
            "-inf",
            "1/0",
            "9**9**9",
            "9" * 400,
            "9" * 5000,
        ),
        *(
            "null",
            "true",
            "None",
            "[]",
            "{}",
            '""',
            "''",
            "[[1]]",
            '{"a":1}',
            "pi/2",
            "sqrt(-1)",
            "sin(x)",
            "l**(1/3)",
            "0x10",
        ),
        *(
            "[",
            "]",
            "{",
            "}",
            '"',
            "'",
            "<",
            ">",
            "/>",
            "=",
            ":",
            ";",
            ",",
            ".",
            "#",
            "%",
            "\\",
            "\n",
            "\r\n",
            "\t",
            " ",
            "\x00",
        ),
        *(
            "{i}",
            "{joint}",
            "{i.real}",
            "{i:>99999999}",
            "a." * 60,
            "[" * 300,
            "<a>" * 300,
            "(" * 300,
            "\ufeff",
            "\ud800",
            "é",
            "\x7f",
        ),
        *(
            "base",
            "time",
            "q",
            "tau",
            "joint1",
            "<!DOCTYPE a>",
            "&amp;",
            "&#0;",
            "<!--",
            "]]>",
            "<link/>",
            "</robot>",
            "[[joint]]",
        ),
        *(
            'count="1000000000"',
            'nrow="100000" ncol="100000"',
            '<include file="/dev/zero"/>',
            "../../etc/passwd",
            "/dev/zero",
        ),
    )
)
_EDGES = (0, 1, -1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63))


def mutated(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Return a seed with one to eight changes; `others` are seeds of the same format, from which spans are taken."""
    data = bytearray(seed)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        _CHANGES[rng.randrange(len(_CHANGES))](data, others, rng)
    return bytes(data[: 1 << 20])


def _span(data: bytearray, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((0, 1, 2, 4, 8, 16, 60, 300)))


def _flip(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _byte(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _integer(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    size = rng.choice((2, 4, 4, 8))
    if len(data) > size:
        start = rng.randrange(len(data) - size)
        value = rng.choice((*_EDGES, rng.randrange(1 << 16), len(data))) & ((1 << 8 * size) - 1)
        data[start : start + size] = value.to_bytes(size, rng.choice(("little", "little", "big")))


def _double(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    if len(data) > 8:
        start = rng.randrange(len(data) - 8)
        data[start : start + 8] = struct.pack("<d", rng.choice((float("nan"), float("inf"), 1e308, -0.0, 1e-320, 1e30)))


def _cut(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    start, stop = _span(data, rng)
    del data[start:stop]


def _truncate(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _copy(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    start, stop = _span(data, rng)
    place = rng.randrange(len(data) + 1)
    data[place:place] = data[start:stop] * rng.choice((1, 1, 2, 40))


def _token(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    start, stop = _span(data, rng)
    data[start:stop] = rng.choice(TOKENS)


def _splice(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    other = bytearray(rng.choice(others))
    (a, b), (c, d) = _span(data, rng), _span(other, rng)
    data[a:b] = other[c:d]


def _value(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    """Replace the text between two quotes, or a number: the file stays well-formed, so that later checks are reached."""
    pieces = bytes(data).split(b'"')
    if len(pieces) > 2 and rng.random() < 0.6:
        pieces[rng.randrange(1, len(pieces), 2)] = rng.choice(TOKENS).replace(b'"', b"").replace(b"<", b"")
        data[:] = b'"'.join(pieces)
        return
    places = [k for k in range(len(data)) if 48 <= data[k] <= 57 and (k == 0 or not 48 <= data[k - 1] <= 57)]
    if places:
        start = rng.choice(places)
        stop = start
        while stop < len(data) and (48 <= data[stop] <= 57 or data[stop] in b".eE+-"):
            stop += 1
        data[start:stop] = rng.choice(TOKENS[:36])


_CHANGES = (_flip, _byte, _integer, _double, _cut, _truncate, _copy, _token, _token, _splice, _value, _value)
