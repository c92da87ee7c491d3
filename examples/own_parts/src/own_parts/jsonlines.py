"""A log format: one JSON object per line, such as {"t": 0.01, "q1": 0.2, "tau1": 3.1}."""

from __future__ import annotations

import json

import numpy as np

import taupi as tp

endings = (".jsonl",)


def sniff(path):
    """Return whether a file is of this format, by its first bytes."""
    with path.open("rb") as stream:
        return stream.read(2) == b'{"'


def head(path, columns, robot):
    """Return the columns of a file as they are named in it; which is which signal is not a format's work."""
    with path.open() as stream:
        rows = [json.loads(line) for line in stream]
    return tp.signals.Table({name: np.array([row[name] for row in rows]) for name in rows[0]}, path)


def read(path, columns, robot, source):
    """Return the log in a file."""
    return tp.signals.read_table(head(path, columns, robot), columns, robot, source)


def write(log, stream, path):
    """Write a log to an open file; a format that is only read leaves this function out."""
    for k, time in enumerate(log.time.tolist()):
        row = {"t": time}
        for name, signal in (("q", log.q), ("tau", log.tau)):
            row |= {} if signal is None else {f"{name}{j + 1}": value for j, value in enumerate(signal[k].tolist())}
        stream.write(json.dumps(row).encode() + b"\n")
