"""Bags whose chunks, messages or files unpack to many times their size: refused before memory is taken."""

import bz2

import bags
import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag1 import reader as reader1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, storage_mcap
from rosbags.rosbag2 import Writer as Writer2
from rosbags.rosbag2 import reader as reader2

import taupi as tp
from taupi.signals.formats.rosbag import unpacked

LARGE = 3 << 20
SMALL = {"unpacked_bytes": 1 << 20, "unpacked_ratio": 2}


def fill(bag, ros1, size):
    """Forty joint states, and a text of `size` equal letters among them."""
    types = bags.store(ros1)
    serialise = types.serialize_ros1 if ros1 else types.serialize_cdr
    joints = bag.add_connection("/joint_states", bags.JOINT_STATE, typestore=types)
    texts = bag.add_connection("/text", "std_msgs/msg/String", typestore=types)
    for k in range(40):
        state = bags.joint_state(types, ros1, 1 + k * 10**7, ("a", "b"), [k, k], [0, 0], [1, 2])
        bag.write(joints, k * 10**7, serialise(state, bags.JOINT_STATE))
    bag.write(texts, 10**6, serialise(bags.text(types, ros1, "x" * size), "std_msgs/msg/String"))


def bag1(folder, compression, size):
    writer = Writer1(folder / "run.bag")
    writer.set_compression(compression)
    with writer as bag:
        fill(bag, True, size)
    return folder / "run.bag"


def bag2(folder, mode, storage, size):
    writer = Writer2(folder / "run", version=9, storage_plugin=storage)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer as bag:
        fill(bag, False, size)
    return folder / "run"


BAGS = {
    "bz2": lambda folder, size: bag1(folder, Writer1.CompressionFormat.BZ2, size),
    "lz4": lambda folder, size: bag1(folder, Writer1.CompressionFormat.LZ4, size),
    "mcap": lambda folder, size: bag2(folder, CompressionMode.STORAGE, StoragePlugin.MCAP, size),
    "file": lambda folder, size: bag2(folder, CompressionMode.FILE, StoragePlugin.SQLITE3, size),
}


@pytest.mark.parametrize("kind", BAGS)
def test_bags_that_unpack_to_many_times_their_size(tmp_path, kind):
    path = BAGS[kind](tmp_path, LARGE)
    log = tp.read_log(path)
    assert len(log) == 40 and np.array_equal(log.tau[0], [1, 2])
    with (
        tp.signals.reading_budget(**SMALL),
        pytest.raises(tp.TaupiError, match=r"unpacks to [0-9]+ MiB, expected 1 MiB at most"),
    ):
        tp.read_log(path)
    assert reader1.decompressors["bz2"] is bz2.decompress  # as rosbags has it, when nothing is read
    assert "taupi" not in repr([storage_mcap.DECOMPRESSORS, reader2.zstd])


@pytest.mark.parametrize("length", [LARGE, LARGE // 4])  # above the budget each, or only together
def test_messages_that_unpack_to_many_times_their_size(tmp_path, length):
    """Texts are of no interest here, and are not unpacked: so the joint states have very long names."""
    types, long = bags.store(False), "j" * length
    writer = Writer2(tmp_path / "run", version=9, storage_plugin=StoragePlugin.SQLITE3)
    writer.set_compression(CompressionMode.MESSAGE, CompressionFormat.ZSTD)
    with writer as bag:
        joints = bag.add_connection("/joint_states", bags.JOINT_STATE, typestore=types)
        for k in range(3):
            state = bags.joint_state(types, False, 1 + k * 10**7, (long,), [k])
            bag.write(joints, k * 10**7, types.serialize_cdr(state, bags.JOINT_STATE))
    assert len(tp.read_log(tmp_path / "run")) == 3
    with tp.signals.reading_budget(**SMALL), pytest.raises(tp.TaupiError, match=r"unpacks to [12] MiB, expected 1 MiB"):
        tp.read_log(tmp_path / "run")


def test_streams_behind_each_other_and_cut_off():
    packed = bz2.compress(b"a" * 3_000_000) + bz2.compress(b"b" * 100)
    assert unpacked(bz2.BZ2Decompressor, packed, 1, "x") == bz2.decompress(packed)
    with pytest.raises(EOFError):
        unpacked(bz2.BZ2Decompressor, packed[:20], 1, "x")
