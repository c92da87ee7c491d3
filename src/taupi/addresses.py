"""Addresses such as s3://bucket/run.parquet: which are read, how they are recognised, and how they are shown without secrets."""

from __future__ import annotations

import os
import re

# By protocol: the package that reads it.
PROTOCOLS = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "http": "aiohttp",
    "https": "aiohttp",
}
WEB = ("http", "https")
# A Path turns the slashes after the protocol into one. Protocols may be chained, as in simplecache::https://host/run.csv.
_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.:-]*[a-zA-Z0-9+.-]):/(.*)", re.DOTALL)
# A user's name and password may hold anything but what ends them; the rest of an address ends at a blank or a quotation mark.
_IN_TEXT = re.compile(r"(?<![\w+.-])([\w+.-]{2,}):(/+)((?:[^/?#]*@)?[^\s'\"]*)")
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_PARAMETERS = re.compile(r"\?[\w%.-]+=.*", re.DOTALL)  # of a store in which ? alone belongs to a pattern
_PORT = re.compile(r"\d*|.*[:\]]")  # what follows the last colon of host:port, or of [::1]


def protocol_of(path: str | os.PathLike[str]) -> str | None:
    """Return the protocol of an address, even if it was turned into a Path; None for a local path.

    >>> protocol_of("ftp://host/run.csv"), protocol_of("S3:/bucket/run.csv"), protocol_of("C:/run.csv"), protocol_of("run.csv")
    ('ftp', 's3', None, None)
    """
    match = _ADDRESS.fullmatch(os.fspath(path)) if isinstance(os.fspath(path), str) else None
    if match is None:
        return None
    protocol = match[1].lower()
    return protocol if protocol in PROTOCOLS or not os.path.isdir(f"{match[1]}:") else None


def without_secrets(text: str) -> str:
    """Return a text in which every address is shown without what may be secret in it: user, password, query.

    >>> without_secrets("--given=ftp://me:secret@host/run.csv?signature=abc: no answer")
    '--given=ftp://host/run.csv: no answer'
    >>> without_secrets("runs/a?b.csv"), without_secrets("s3://bucket/run-?.csv")
    ('runs/a?b.csv', 's3://bucket/run-?.csv')
    """

    def shown(match: re.Match[str]) -> str:
        body = match[3].rstrip(".,:;)")
        return f"{match[1]}:{match[2]}{_without_secrets(match[1], body)}{match[3][len(body) :]}"

    return _IN_TEXT.sub(shown, text) if ":/" in text else text


def address_without_secrets(address: str) -> str:
    """Return an address, given whole and with its protocol, without what may be secret in it."""
    protocol, _, rest = address.partition("://")
    return f"{protocol}://{_without_secrets(protocol, rest)}"


def _without_secrets(protocol: str, rest: str) -> str:
    """Return what follows the protocol of an address, without user, password and query."""
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in host:
        rest = rest[host.rindex("@") + 1 :]
    elif ":" in host and not _PORT.fullmatch(host.rpartition(":")[2]):  # a password with a slash in it
        rest = rest.rpartition("@")[2]
    store = protocol.lower() in PROTOCOLS and protocol.lower() not in WEB
    return (_PARAMETERS if store else _QUERY).sub("", rest)
