"""Errors in the words of the command line: they name arguments as Python has them."""

from __future__ import annotations

import re

_SPELLINGS = (
    (re.compile(r"force=True"), "--force"),
    (re.compile(r"anyway=True"), "--anyway"),
    (
        re.compile(r"Use log\.\w+\(\)(, short_gap=\.\.\.)?, or long_gaps='\w+' or '\w+'"),
        "Use --gaps longest or --gaps interpolate",
    ),
    (
        re.compile(r"Leave the joint out with log\.select\(\.\.\.\)"),
        "Leave its columns out of the mapping, and --lock the joint",
    ),
    (re.compile(r"columns=(\{.*\})"), r"--columns FILE.toml with \1"),
    (re.compile(r", or read it whole with stream=False"), ""),
    (re.compile(r"\bcutoff_hz(?= is )|(?<=Give )cutoff_hz\b"), "--cutoff"),
    (re.compile(r"^decimate(?= is )"), "--decimate"),
    (re.compile(r"\bNo long_gaps\b"), "No --gaps"),
    (re.compile(r"^rate_hz\b|\brate_hz=\.\.\. ?(?=\.)|\brate_hz=\.\.\."), "--rate-hz"),
    (re.compile(r"taupi\.output_error\(robot, log\)"), "--estimator output_error"),
    (re.compile(r"to take the joints as rigid, elastic=False"), "to take the joints as rigid, --rigid"),
    (re.compile(r"^torque_limits is True, but"), "--torque-limit description:"),
    (re.compile(r"^q_noise\b"), "--noise"),
    (re.compile(r'estimator="feasible"'), "--estimator feasible"),
    (re.compile(r"intermediates=20"), "--intermediates 20"),
    (re.compile(r", or raise limit(?=\.)"), ""),
    (re.compile(r"`into`"), "--into"),
)


def spelled(error: Exception) -> str:
    """Return the sentence of an error with options in place of keywords.

    >>> spelled(ValueError("out.png exists already. Use another name, or force=True to overwrite it."))
    'out.png exists already. Use another name, or --force to overwrite it.'
    >>> spelled(ValueError("map.toml: rate_hz is -1, expected a positive number."))
    'map.toml: rate_hz is -1, expected a positive number.'
    >>> spelled(ValueError("Say columns={'time': ...} or rate_hz=... ."))
    "Say --columns FILE.toml with {'time': ...} or --rate-hz."
    """
    text = str(error)
    for python, shell in _SPELLINGS:
        text = python.sub(shell, text)
    return text
