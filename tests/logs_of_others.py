"""Small logs in the formats of others, written as they write them; each holds the same motion."""

import json
import struct

import numpy as np

NAMES = ("shoulder_pan", "elbow_flex")
RATE = 50.0


def motion(samples=120, shift=0.0):
    """Return time, positions, velocities and torques of two joints."""
    t = np.arange(samples) / RATE
    q = np.stack([0.8 * np.sin(2 * t + shift), 0.5 * np.cos(3 * t) - 0.2], axis=1)
    qd = np.stack([1.6 * np.cos(2 * t + shift), -1.5 * np.sin(3 * t)], axis=1)
    return t, q, qd, np.stack([3 * np.cos(t), np.sin(2 * t)], axis=1)


def lerobot(
    folder,
    version="v3.0",
    degrees=True,
    robot_type="so101_follower",
    names=None,
    template=None,
    extra=None,
    states=None,
):
    """Write a data set of two episodes: `states` are their positions, and `extra` more features, name -> (values, names)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    episodes = [motion(120), motion(90, 0.4)]
    names = [f"{name}.pos" for name in (*NAMES, "gripper")] if names is None else names
    template = template or {
        "v3.0": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "v2.1": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    }.get(version)
    feature = {"dtype": "float32", "shape": [3], "names": names}
    info = {
        "codebase_version": version, "robot_type": robot_type, "fps": int(RATE), "data_path": template,
        "features": {"observation.state": feature, "action": feature},
    }  # fmt: skip
    for name, (_, own) in (extra or {}).items():
        info["features"][name] = {"dtype": "float32", "names": own}
    (folder / "meta").mkdir(parents=True)
    (folder / "meta/info.json").write_text(json.dumps(info))
    tables = []
    for k, (t, q, _, _) in enumerate(episodes):
        state = np.column_stack([np.degrees(q) if degrees else q, 50 + 0 * t]).astype(np.float32)
        state = state if states is None else states[k].astype(np.float32)
        rows = {"observation.state": list(state), "action": list(state + np.float32(1))}
        for name, (values, _) in (extra or {}).items():
            rows[name] = list(values[k].astype(np.float32))
        columns = {name: pa.array(value, pa.list_(pa.float32(), len(value[0]))) for name, value in rows.items()}
        columns |= {
            "timestamp": pa.array(t.astype(np.float32)),
            "frame_index": pa.array(np.arange(len(t))),
            "episode_index": pa.array(np.full(len(t), k)),
            "index": pa.array(np.arange(len(t))),
            "task_index": pa.array(np.zeros(len(t), dtype=int)),
        }
        tables.append(pa.table(columns))
    whole = "episode_index" not in template
    for k, table in enumerate([pa.concat_tables(tables)] if whole else tables):
        place = {"chunk_index": 0, "file_index": 0, "episode_chunk": 0, "episode_index": k}
        file = folder / template.format(**place)
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, file)
    return folder


def mcap(
    path, messages, schema, encoding, schema_encoding, description=b"", compression="", topic="/joints", profile=""
):
    """Write an MCAP file with one channel; `messages` are (time in ns, bytes)."""

    def record(kind, content):
        return struct.pack("<BQ", kind, len(content)) + content

    def text(value):
        data = value.encode() if isinstance(value, str) else value
        return struct.pack("<I", len(data)) + data

    inner = record(3, struct.pack("<H", 1) + text(schema) + text(schema_encoding) + text(description))
    inner += record(4, struct.pack("<HH", 0, 1) + text(topic) + text(encoding) + struct.pack("<I", 0))
    for k, (ns, data) in enumerate(messages):
        inner += record(5, struct.pack("<HIQQ", 0, k, ns, ns) + data)
    if compression is not None:
        import lz4.frame

        packed = lz4.frame.compress(inner) if compression == "lz4" else inner
        chunk = struct.pack("<QQQI", 0, 1, len(inner), 0) + text(compression) + struct.pack("<Q", len(packed)) + packed
        inner = record(6, chunk)
    magic = b"\x89MCAP0\r\n"
    path.write_bytes(
        magic + record(1, text(profile) + text("test")) + inner + record(15, b"\0" * 4) + record(2, b"\0" * 20) + magic
    )
    return path


def foxglove_json(path, start=1_700_000_000, **options):
    """Write joint states as Foxglove does in JSON, the stamp inside each."""
    t, q, qd, tau = motion()
    messages = []
    for k, s in enumerate(t):
        joints = [
            {"name": name, "position": q[k, j], "velocity": qd[k, j], "effort": tau[k, j]}
            for j, name in enumerate(NAMES)
        ]
        ns = round(s * 1e9)
        stamp = {"sec": start + ns // 10**9, "nsec": ns % 10**9}
        messages.append((ns + 5, json.dumps({"timestamp": stamp, "joints": joints}).encode()))
    return mcap(path, messages, "foxglove.JointStates", "json", "jsonschema", b"{}", **options)


def foxglove_protobuf(path, **options):
    """Write joint states as Foxglove does in protobuf: its wire format, and the description in the schema, by hand."""

    def varint(n):
        out = b""
        while n > 0x7F:
            out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
        return out + bytes([n])

    def part(number, content):
        data = content.encode() if isinstance(content, str) else content
        return varint(number << 3 | 2) + varint(len(data)) + data

    def whole(number, n):
        return varint(number << 3) + varint(n)

    def double(number, x):
        return varint(number << 3 | 1) + struct.pack("<d", x)

    def field(name, number, kind, label=1, type_name=""):
        described = part(1, name) + whole(3, number) + whole(4, label) + whole(5, kind)
        return part(2, described + (part(6, type_name) if type_name else b""))

    stamp = part(1, "Timestamp") + field("seconds", 1, 3) + field("nanos", 2, 5)
    joint = part(1, "JointState") + field("name", 1, 9)
    joint += b"".join(
        field(name, k + 2, 1) for k, name in enumerate(("position", "velocity", "acceleration", "effort"))
    )
    states = part(1, "JointStates") + field("timestamp", 1, 11, 1, ".google.protobuf.Timestamp")
    states += field("joints", 2, 11, 3, ".foxglove.JointState")
    description = part(1, part(1, "timestamp.proto") + part(2, "google.protobuf") + part(4, stamp))
    description += part(1, part(1, "joints.proto") + part(2, "foxglove") + part(4, joint) + part(4, states))
    t, q, qd, tau = motion()
    messages = []
    for k, s in enumerate(t):
        ns = round(s * 1e9)
        content = part(1, whole(1, 1_700_000_000 + ns // 10**9) + whole(2, ns % 10**9))
        for j, name in enumerate(NAMES):
            content += part(2, part(1, name) + double(2, q[k, j]) + double(3, qd[k, j]) + double(5, tau[k, j]))
        messages.append((ns, content))
    return mcap(path, messages, "foxglove.JointStates", "protobuf", "protobuf", description, **options)


def ulog(path):
    """Write a flight log with one message about joints, as PX4 does: stamps in microseconds."""
    t, q, qd, tau = motion()

    def record(kind, content):
        return struct.pack("<HB", len(content), ord(kind)) + content

    data = b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 5)
    data += record("B", b"\0" * 40)
    data += record(
        "F",
        b"joint_state:uint64_t timestamp;float[2] position;double[2] velocity;double[2] effort;uint8_t[4] _padding0;",
    )
    data += record("F", b"battery:uint64_t timestamp;float voltage_v;")
    data += record("A", struct.pack("<BH", 0, 3) + b"joint_state") + record("A", struct.pack("<BH", 0, 4) + b"battery")
    for k in range(len(t)):
        row = struct.pack("<HQ2f4d", 3, 10**6 + round(1e6 * t[k]), *q[k], *qd[k], *tau[k])
        data += record("D", row) + record("D", struct.pack("<HQf", 4, 10**6, 12.0))
    path.write_bytes(data)
    return path


def twincat(path):
    """Write a scope's export: a column of time for each channel, decimal commas, facts above."""
    t, q, _, tau = motion()
    channels = {f"Axis{k + 1}.ActPos": (np.degrees(q[:, k]), "deg") for k in range(2)}
    channels |= {f"Axis{k + 1}.ActTorque": (tau[:, k], "Nm") for k in range(2)}
    pairs = list(channels.items())
    lines = ["Name;Project1;File;C:\\scope.svdx"[:0] + ";".join(f"Name;{name}" for name, _ in pairs)]
    lines += [";".join("SampleTime[ms];20" for _ in pairs), ";".join(f"Unit;{unit}" for _, (_, unit) in pairs)]
    lines += [";".join("Data-Type;REAL64" for _ in pairs), ""]
    for k, s in enumerate(t):
        lines.append(";".join(f"{1e3 * s:.9g};{value[k]:.12g}" for _, (value, _) in pairs).replace(".", ","))
    path.write_text("\n".join(lines) + "\n")
    return path
