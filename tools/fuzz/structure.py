"""Changes that leave a file well-formed, so that what lies behind its parser is reached: trees, tables, arrays, packed bytes."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import struct
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from fuzz.mutator import TOKENS, mutated

_REALS = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 1e154, 1e60, 1e-320, 0.0, -0.0, -1.0, 1e-9, 2.0)
_WHOLE = (-1, 0, 1, 2, 3, -5, 127, 10**6, 2**31, 2**62, -(2**63))
_WORDS = tuple(token.decode("utf-8", "replace") for token in TOKENS if b"\x00" not in token)


def _some(rng: random.Random) -> range:
    """Return how many changes are made to one input."""
    return range(rng.choice((1, 1, 1, 2, 3, 5)))


# Trees ----------------------------------------------------------------------------------------------------------------


def inside_json(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change values, keys and lists of a JSON file; or its bytes."""
    try:
        tree, other = json.loads(seed), json.loads(rng.choice(others))
    except ValueError:  # a part that an earlier change has broken
        return mutated(seed, others, rng)
    if rng.random() < 0.2:
        return mutated(seed, others, rng)
    for _ in _some(rng):
        places = [*_json_places(tree)]
        holder, key = rng.choice(places)
        kind = rng.random()
        if kind < 0.5:
            holder[key] = _other_value(holder[key], rng)
        elif kind < 0.6:
            del holder[key]
        elif kind < 0.7:
            from_, at = rng.choice([*_json_places(other)])
            holder[key] = copy.deepcopy(from_[at])
        elif kind < 0.8:
            from_, at = rng.choice(places)
            if from_ is not holder and at in (from_ if isinstance(from_, dict) else range(len(from_))):
                holder[key] = copy.deepcopy(from_[at])
        elif isinstance(holder, list):
            holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
        else:
            holder[rng.choice(_WORDS)] = holder.pop(key) if rng.random() < 0.5 else holder[key]
        if not tree:
            break
    return json.dumps(tree).encode("utf-8", "surrogatepass")[: 1 << 20]


def _json_places(tree: Any) -> list[tuple[Any, Any]]:
    """Return each place in a tree: what holds it, and its key there. Each level is as likely as those below it."""
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        found += [(node, key) for key in keys]
        waiting += [node[key] for key in keys]
    return found or [({"": tree}, "")]


def _other_value(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool) or rng.random() < 0.25:
        return rng.choice(
            (None, True, False, 0, 1.5, "", "x", [], {}, [[]], {"a": 1}, [0.0], 10**400, rng.choice(_WORDS))
        )
    if isinstance(value, int):
        return rng.choice((*_WHOLE, value + 1, -value))
    if isinstance(value, float):
        return rng.choice((*_REALS, -value, 2 * value))
    if isinstance(value, str):
        return mutated(value.encode("utf-8", "replace"), [value.encode("utf-8", "replace")], rng).decode(
            "utf-8", "replace"
        )
    return rng.choice((value[::-1], value[:1], value * 2) if isinstance(value, list) else ({}, [], [value]))


def inside_xml(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change attributes of an XML file, move, copy and remove elements; or change its bytes."""
    if rng.random() < 0.2:
        return mutated(seed, others, rng)
    root, other = ET.fromstring(seed), ET.fromstring(rng.choice(others))
    for _ in _some(rng):
        elements, kind = list(root.iter()), rng.random()
        element = rng.choice(elements)
        if kind < 0.6:
            named = [e for e in elements if e.attrib]
            _change_attribute(rng.choice(named), named, rng) if named else None
        elif len(element) and kind < 0.8:
            child = rng.choice(list(element))
            rng.choice((element.remove, element.append))(child)
        elif kind < 0.9:
            element.append(copy.deepcopy(rng.choice(list(other.iter()))))
        elif element is not root and not len(elements) > 300:
            rng.choice(elements).append(copy.deepcopy(element))
    return ET.tostring(root)[: 1 << 20]


def _change_attribute(element: ET.Element, others: Sequence[ET.Element], rng: random.Random) -> None:
    name, kind = rng.choice(list(element.attrib)), rng.random()
    if kind < 0.4:
        words = element.attrib[name].split() or [""]
        words[rng.randrange(len(words))] = rng.choice(
            ("nan", "inf", "-1", "0", "1e308", "-1e-308", "1e30", "1e9", "1e-12", "3.14159265", "7", "x", "")
        )
        element.attrib[name] = " ".join(words)
    elif kind < 0.6:
        element.attrib[name] = rng.choice(list(rng.choice(others).attrib.values()))
    elif kind < 0.8:
        text = "".join(c for c in rng.choice(_WORDS) if c >= " " and not 0xD800 <= ord(c) < 0xE000 and ord(c) != 0xFFFE)
        element.attrib[name] = text
    elif kind < 0.9:
        del element.attrib[name]
    else:
        element.attrib[rng.choice(list(rng.choice(others).attrib))] = element.attrib[name]


# Arrays and tables ----------------------------------------------------------------------------------------------------


def inside_arrays(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change numbers, rows or the text in the arrays of an archive, which stays sound; or change the archive."""
    if rng.random() < 0.1:
        return inside_zip(seed, others, rng)
    with np.load(io.BytesIO(seed)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for _ in _some(rng):
        name = rng.choice(list(arrays))
        arrays[name] = changed_array(arrays[name], rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:  # not by NumPy, which writes the current time
        for name, array in arrays.items():
            np.lib.format.write_array(member := io.BytesIO(), array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return stream.getvalue()


def changed_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Return an array with other numbers, with fewer or more rows, other axes, or another text."""
    if array.dtype.kind == "U":
        text = str(array.reshape(-1)[0]) if array.size else ""
        try:
            return np.array(
                inside_json(text.encode(), [text.encode()], rng).decode("utf-8", "replace").replace("\0", "?")
            )
        except json.JSONDecodeError:
            return np.array(rng.choice(_WORDS))
    kind, array = rng.random(), np.array(array)
    if kind < 0.7 and array.size:
        values: Sequence[float] = {"f": _REALS, "b": (0, 1)}.get(array.dtype.kind, _WHOLE)
        with np.errstate(all="ignore"):
            for _ in range(rng.choice((1, 1, 2, 9))):
                place = rng.randrange(array.size)
                new = rng.choice(values) if rng.random() < 0.8 else array.flat[place] * rng.choice((-1, 2))
                array.flat[place] = np.array(new).astype(array.dtype)
    elif kind < 0.8 and array.ndim:  # all of a column, or of a row
        array[..., rng.randrange(max(array.shape[-1], 1)) :][..., :1] = 0
    elif kind < 0.87 and array.ndim and len(array):
        array = np.delete(array, rng.randrange(len(array)), axis=0)
    elif kind < 0.94 and array.ndim and len(array):
        array = np.concatenate([array, array[: rng.choice((1, 1, 7))]])
    else:
        with np.errstate(all="ignore"):
            narrow = array.astype("f4")
        array = rng.choice((array.T, array.reshape(-1), array[None], array[..., :0], narrow, array[::-1]))
    return array


def inside_table(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change columns of a Parquet file, or what it says of itself; or its bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if rng.random() < 0.2:
        return mutated(seed, others, rng)
    table = pq.read_table(io.BytesIO(seed))
    for _ in _some(rng):
        kind, k = rng.random(), rng.randrange(max(table.num_columns, 1))
        if kind < 0.5 and table.num_columns:
            try:
                column = changed_array(table.column(k).to_numpy(), rng)
            except (pa.ArrowException, TypeError, ValueError):
                continue
            if column.shape == (table.num_rows,):
                table = table.set_column(k, table.column_names[k], pa.array(column))
        elif kind < 0.6 and table.num_columns > 1:
            table = table.remove_column(k)
        elif kind < 0.7 and table.num_columns:
            table = table.append_column(rng.choice((*_WORDS[:40], *table.column_names)), table.column(k))
        elif kind < 0.8:
            table = table.slice(rng.randrange(table.num_rows + 1))
        else:
            facts = dict(table.schema.metadata or {})
            own = [name for name in facts if facts[name][:1] in (b"{", b"[")]
            if own:
                name = rng.choice(own)
                facts[name] = inside_json(facts[name], [facts[name]], rng)
            table = table.replace_schema_metadata(facts)
    pq.write_table(table, stream := io.BytesIO(), compression="none")
    return stream.getvalue()


# Packed bytes ---------------------------------------------------------------------------------------------------------


def inside_gzip(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change the text and pack it again, or change the packed bytes."""
    if rng.random() < 0.3:
        return mutated(seed, others, rng)
    return gzip.compress(mutated(gzip.decompress(seed), [gzip.decompress(o) for o in others], rng), 1, mtime=0)


def inside_zip(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change one member of an archive, or the bytes of the archive."""
    if rng.random() < 0.4:
        return mutated(seed, others, rng)
    with zipfile.ZipFile(io.BytesIO(seed)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = rng.choice(list(members))
    members[chosen] = mutated(members[chosen], list(members.values()), rng)
    if rng.random() < 0.1:
        members[chosen + rng.choice(("", "x", "/", "\\", ".npy", "é"))] = members.pop(chosen)
    stream, packing = io.BytesIO(), rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():  # each with the same date: with only a name, a member gets the current time
            archive.writestr(zipfile.ZipInfo(name), data, packing, 1)
    return stream.getvalue()


def inside_mat(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change the bytes of a MATLAB file, and now and then pack its elements as MATLAB does."""
    data = mutated(seed, others, rng)
    if rng.random() < 0.7 or len(data) < 136:
        return data
    packed = zlib.compress(data[128:], 1)
    return data[:128] + struct.pack("<II", 15, len(packed)) + packed
