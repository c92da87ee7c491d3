"""Logs from and to pandas DataFrames. pandas is needed only to make one."""

from __future__ import annotations

import numpy as np

from taupi.errors import TaupiError
from taupi.model.robot import Robot
from taupi.signals.floating_logs import written_columns
from taupi.signals.log import DataFrame, Log, LogSource
from taupi.signals.mapping.columns import Columns, ColumnsLike
from taupi.signals.mapping.guess import parse_header
from taupi.signals.mapping.tables import Table, log_from_table, resolve_layout


def from_frame(frame: DataFrame, robot: Robot | None, columns: ColumnsLike) -> Log:
    """Return the log in a DataFrame; columns that hold no numbers are ignored."""
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        raise TaupiError("{frame} is {got!r}, expected a pandas DataFrame.", got=type(frame).__name__)
    arrays: dict[str, np.ndarray] = {}
    index = getattr(frame, "index", None)
    title = getattr(index, "name", None)
    if isinstance(title, str) and (header := parse_header(title)) and header.signal == "time":
        arrays[title] = _numbers(index, title)
    for name in frame.columns:
        values = np.asarray(frame[name])
        if str(name) in arrays:
            raise TaupiError("{frame} has two columns named {name!r}. Give each its own name.", name=str(name))
        if values.dtype.kind in "fiubM":
            arrays[str(name)] = _numbers(values, str(name))
    if not arrays:
        raise TaupiError("{frame} has no columns of numbers.")
    table = Table(arrays, None)
    return log_from_table(table, resolve_layout(table, Columns.of(columns), robot), LogSource(format="pandas"))


def to_frame(log: Log) -> DataFrame:
    """Return a log as a DataFrame: time, then one column per signal and joint."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise TaupiError("to_frame needs pandas: pip install pandas.") from None
    columns = {"time": log.time}
    for name, value in log.signals.items():
        columns |= {f"{name}_{joint}": value[:, k] for k, joint in enumerate(log.names)}
    columns |= written_columns(log, flat=True)[0]
    return pd.DataFrame(columns)


def _numbers(values: object, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind == "M":
        ns = array.astype("datetime64[ns]").astype(np.int64)
        return (ns - ns[0]) * 1e-9 if len(ns) else ns.astype(float)
    try:
        return array.astype(float)
    except (TypeError, ValueError):
        raise TaupiError("frame: {name} holds no numbers.", name=name) from None
