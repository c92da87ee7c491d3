"""Write the seeds of every format to tests/fuzz/seeds: `PYTHONPATH=tests:tools python tests/fuzz/write_seeds.py`."""

from __future__ import annotations

import gzip
import io
import re
import shutil
import struct
import tempfile
from functools import partial
from pathlib import Path
from unittest import mock

import bags
import logs_of_others
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fits import friction_fit, friction_log
from fuzz.uses import PLAN_OF_SEEDS
from scipy.io import savemat
from unit.identification.test_piece_file import PIECE
from unit.signals.test_hostile_bags import BAGS as PACKED_BAGS

import taupi as tp
from taupi.identification.rows.pieces import write_piece
from taupi.identification.rows.plan import Plan

SEEDS = Path(__file__).parent / "seeds"
TIME = np.arange(24) / 100
Q = np.stack([np.sin(7 * TIME), np.cos(5 * TIME)], axis=1)
LOG = tp.Log(TIME, Q, qd=np.gradient(Q, TIME, axis=0), tau=3 * Q, names=("shoulder", "elbow"), notes=("a note",))

URDF = """<?xml version="1.0"?><robot name="r">
<link name="base"/><link name="a"><inertial><origin xyz="0.1 0 0" rpy="0 0.3 0"/><mass value="1.5"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
<collision><geometry><mesh filename="a.stl" scale="1 1 1"/></geometry></collision></link><link name="b"/><link name="tool"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 0.3" rpy="1.5708 0 0.1"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="2"/><dynamics damping="0.1" friction="0.2"/></joint>
<joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 1 1"/>
<mimic joint="j1" multiplier="-1" offset="0.2"/></joint>
<joint name="weld" type="fixed"><parent link="b"/><child link="tool"/><origin xyz="0 0 0.1"/></joint></robot>
"""
TOML = """[robot]
name = "r"
gravity = [0, 0, "-g"]
tip = "camera"
[values]
g = 9.81
l = 0.4
[[joint]]
origin = { xyz = [0, 0, 0.3], rpy = ["pi/2", 0, 0.1] }
axis = [0, 1, 1]
limits = { lower = -1, upper = 1 }
friction = { viscous = 0.1, coulomb = 0.3 }
transmission = { gear_ratio = 100, rotor_inertia = 2e-5, stiffness = 3000 }
link = { name = "a", m = 1.5, com = [0.1, 0, "l/2"], inertia = [0.1, 0, 0, 0.1, 0, 0.1] }
[[joint]]
type = "prismatic"
parent = "a"
mimic = { joint = "joint1", ratio = -1, offset = 0.2 }
[[frame]]
name = "camera"
link = "a"
origin = { quaternion = [1, 2, 3, 4] }
[[capsule]]
link = "a"
a = [0, 0, 0]
b = [0, 0, 0.3]
r = 0.05
"""
DH = """[robot]
convention = "modified"
coupling = [[1, 0], ["1/3", 1]]
base = { rpy = [0, "pi/4", 0] }
tool = { xyz = [0, 0, "sqrt(2)/10"] }
[[joint]]
a = "l1"
alpha = "pi/2"
d = 0.1
[[joint]]
type = "prismatic"
theta = "sin(x)/(1 + y**2)"
[[link]]
parameters = [1, 0, 0, "l1/2", 0.1, 0, 0, 0.1, 0, 0.1]
[[link]]
m = 2
[values]
l1 = "1/3"
x = 0.5
y = 2
"""
MJCF = """<mujoco model="m"><compiler angle="radian" autolimits="true"/><option gravity="0 0 -9.81"/>
<default><joint damping="0.1"/><default class="big"><geom size="0.1"/></default></default>
<asset><texture name="t" type="2d" builtin="flat" width="8" height="8" rgb1="1 1 1"/><material name="mat" texture="t"/>
<hfield name="h" nrow="3" ncol="3" size="1 1 1 0.1"/></asset>
<worldbody><geom type="hfield" hfield="h"/><body name="b1" pos="0 0 0.3" quat="1 0 0.1 0">
<joint name="j1" type="hinge" axis="0 0 1" range="-1 1" armature="0.01" frictionloss="0.2"/>
<inertial pos="0.1 0 0" mass="1.5" diaginertia="0.1 0.1 0.1"/><geom class="big" type="sphere" material="mat"/>
<site name="s" pos="0 0 1"/>
<replicate count="3" euler="0 0 0.5"><geom type="capsule" size="0.01 0.1" pos="0 0 0.2"/></replicate>
<body name="b2" pos="0 0.2 0" euler="0 0.5 0"><joint name="j2" type="slide" axis="0 1 0" ref="0.1"/>
<joint name="j3" axis="1 0 0"/><geom type="box" size="0.1 0.2 0.3" mass="1"/></body></body></worldbody>
<equality><joint joint1="j1" joint2="j2"/></equality><actuator><motor joint="j1" gear="10"/></actuator></mujoco>
"""
FREE_URDF = """<robot name="r"><link name="world"/>
<link name="trunk"><inertial><mass value="5"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="root" type="floating"><parent link="world"/><child link="trunk"/></joint>
<link name="leg"><inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="hip" type="continuous"><parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/></joint></robot>
"""
LOOP = """[robot]
name = "r"
[[joint]]
type = "free"
link = { name = "trunk", m = 3 }
[[joint]]
parent = "trunk"
axis = [0, 1, 0]
spring = 2.5
link = { name = "thigh", m = 1, com = [0, 0, -0.1] }
[[joint]]
type = "ball"
parent = "thigh"
link = { name = "shin", m = 1 }
[[frame]]
name = "foot"
link = "shin"
origin = { xyz = [0, 0, -0.3] }
[[loop]]
frame_a = "foot"
frame_b = "trunk"
kind = "point"
"""
FREE_MJCF = """<mujoco><worldbody><body name="trunk"><freejoint name="root"/><geom size="0.1" mass="3"/>
<body name="thigh"><joint name="hip" axis="0 1 0" stiffness="2" springref="0.1"/><geom type="capsule" size="0.05 0.1"/>
<site name="foot" pos="0 0 -0.2"/>
<body name="shin"><joint name="knee" type="ball"/><geom size="0.05"/></body></body></body></worldbody>
<tendon><fixed name="t" stiffness="1"><joint joint="hip" coef="1"/></fixed></tendon>
<equality><connect body1="shin" anchor="0 0 0"/><weld body1="thigh" body2="shin" active="false"/></equality></mujoco>
"""
MAPPING = """joints = ["shoulder", "elbow"]
labels = ["S", "E"]
rate_hz = 100
topic = "/joint_states"
known_torque = ["elbow = 12*sin(q2)"]
time = { columns = "t", unit = "ms" }
q = { columns = "q_{joint}", unit = "deg", sign = [1, -1], offset = 0.5, delay = 0.002 }
theta = { columns = "theta{i:02}", first = 1, gain = 2.0, matrix = [[1, 0], [0.5, 1]] }
[motor]
ratio = [100, -80]
coupling = [[1, 0], [0.5, 1]]
torque_per_volt = 0.1
volts_per_speed = [0.01, 0.02]
"""
FLOATING_MAPPING = """time = "time"
q = { columns = "q", unit = "deg" }
tau = ["tau"]
[base]
w = { columns = "w", unit = "deg/s" }
a = { columns = ["ax", "ay", "az"], gain = 9.81 }
imu = "base"
[wrench]
tip = { columns = "force", sign = [1, 1, -1] }
[contact]
tip = { columns = "load", threshold = 20 }
"""
STATES_MAPPING = """time = "time"
q = "q"
tau = "tau"
[base]
convention = "mujoco"
quaternion = "quaternion"
w = { columns = "w", matrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] }
v = "v"
vd = "v"
"""
ARMS = """[arms]
arm-1 = ["a/1.csv", "a/*.parquet"]
arm-2 = "b.npz"
"""
CALIBRATION = """{"shoulder": {"id": 1, "drive_mode": 0, "homing_offset": -70, "range_min": 700, "range_max": 3400},
"gripper": {"id": 2, "drive_mode": 1, "homing_offset": 12, "range_min": 2000, "range_max": 3500}}"""
SHAPES = """<visual><origin rpy="0 1 0"/><geometry>{shape}</geometry></visual>
<collision><geometry>{shape}</geometry></collision>"""
DRAWN = f"""<robot name="&lt;b&gt;r"><link name="base">{SHAPES.format(shape='<box size="0.2 0.2 0.1"/>')}</link>
<link name="a"><inertial><origin xyz="0.1 0 0"/><mass value="1.5"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
{SHAPES.format(shape='<cylinder radius="0.05" length="0.4"/>')}</link>
<link name="b"><inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
{SHAPES.format(shape='<sphere radius="0.1"/>')}</link>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="10" velocity="2"/></joint>
<joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0.4 0 0"/><axis xyz="1 0 0"/>
<limit lower="-0.1" upper="0.2" effort="10" velocity="2"/></joint></robot>
"""
PLAN = """[{"cuts": [[1, 0, 0, 0.5]], "segment": [[0, 0, 0], [0.5, 0, 0]]},
{"cuts": [[-1, 0, 0, -0.5]], "segment": [[0.5, 0, 0], [1, 0, 0]]}]"""
LIMITS = """velocity = [2, 3]
effort = [30, 40]
acceleration = 20
[shoulder]
lower = -1
upper = 1.5
[elbow]
jerk = 1e3
"""
CAPSULES = (
    '[[capsule]]\nlink = "forearm"\na = [0, 0, 0]\nb = [-0.4, 0, 0]\nr = 0.06\n[[capsule]]\nlink = "base"\nr = 0.1\n'
)
BOUNDS = """total_mass = [2, 4]
[forearm]
mass = [0.5, 2]
centre = [[-1, -0.1, -0.1], [0, 0.1, 0.1]]
box = [[-1, -0.1, -0.1], [0, 0.1, 0.1]]
[upper_arm]
hull = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
"""
KNOTS = '{"speeds": [0, 0.1, 1], "torques": [1, 2, 3], "standing": 0.05}'
THRESHOLDS = f"""{{"schema": 2, "taupi": "0.1.0", "false_alarms_per_hour": 1.0, "breakaway": 1.5, "bandwidth_hz": 20.0,
"tracked": false, "hours": 0.5, "alarms": 0,
"joints": {{"shoulder": {KNOTS}, "elbow": {KNOTS}}}}}
"""
SRDF = '<robot name="r"><group name="g"/><disable_collisions link1="a" link2="b" reason="Adjacent"/></robot>'
FORMULAS = "1.5708\n1/3\npi/2\n-l1*cos(x)/2 + sqrt(3)\n(a + b)**2/(1 - c**-3)\nelbow = 12*sin(q2) - 3*q1\nj1 = 0.5\n"
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1/1 2/2 -1/3\nf 1//1 3//2 4//3\n"
HEADER = ["time", "q_shoulder", "q_elbow", "tau_shoulder", "tau_elbow"]
ROWS = np.column_stack([TIME, Q, 3 * Q])


still = np.zeros((24, 3))
FLOATING_LOG = LOG.with_(
    base=tp.floating.BaseMotion(still, still + np.array([0, 0, 9.81])),
    wrench={"tip": still},
    contact={"tip": TIME > 0.1},
)


def swinging_base() -> tp.Log:
    """Return a log of the arm on a base that swings, long enough for a fit."""
    t = np.arange(150) / 100
    arm, q = tp.load("elbow2r"), np.sin(np.outer(t, [3.0, 7.0]))
    turn, pull = np.sin(np.outer(t, [2.0, 3, 5])), np.cos(np.outer(t, [1.0, 3, 4])) + np.array([0, 0, 9.81])
    base, rest = tp.floating.BaseMotion(turn, pull), np.zeros((len(t), 3))
    return tp.Log(t, q, tau=3 * q, base=base, wrench={"tip": rest}, contact={"tip": t > 0.5}, names=arm.joint_names)


# Text, dates, yes and no, runs called by text, and what was commanded; and a scope's file, each channel with its time.
STAMPED = (
    "Zeitstempel;mode;episode;enabled;Istposition A1 [\N{DEGREE SIGN}];Sollposition A1 [\N{DEGREE SIGN}];Istmoment A1 [Nm]\n"
    + "".join(
        f"2026-05-01T12:00:{k / 10:04.1f}Z;auto;{'ab'[k // 6]}x;{'true' if k else 'false'};{1.5 * k};{2 * k};{-k}\n"
        for k in range(12)
    )
)
SCOPE = "Name;A1.ActPos;Name;A1.ActTorque\nSampleTime[ms];20;SampleTime[ms];20\nUnit;deg;Unit;Nm\n" + "".join(
    f"{20 * k};{1.5 * k};{20 * k};{-k}\n".replace(".", ",") for k in range(12)
)


def put(name: str, index: int, data: bytes | str) -> None:
    """Write a seed."""
    (SEEDS / name).mkdir(parents=True, exist_ok=True)
    (SEEDS / name / f"{index:02}").write_bytes(data if isinstance(data, bytes) else data.encode())


def written(log: tp.Log, name: str) -> bytes:
    """Return a log as a file of ours."""
    with tempfile.TemporaryDirectory() as folder:
        tp.write_log(log, f"{folder}/{name}")
        return Path(folder, name).read_bytes()


def texts() -> None:
    """Write descriptions and other texts."""
    for k, text in enumerate((TOML, DH)):
        put("toml", k, text)
    single = {"urdf": URDF, "mjcf": MJCF, "mapping": MAPPING, "limits": LIMITS, "capsules": CAPSULES, "bounds": BOUNDS}
    for name, text in {**single, "srdf": SRDF, "formula": FORMULAS, "obj": OBJ, "thresholds": THRESHOLDS}.items():
        put(name, 0, text)
    for k, text in enumerate((FLOATING_MAPPING, STATES_MAPPING)):
        put("mapped", k, text)
        put("mapping", k + 2, text)
    put("arms", 0, ARMS)
    put("scene", 0, URDF)
    put("scene", 1, DRAWN)
    put("calibration", 0, CALIBRATION)
    put("scheduler", 0, '{"type": "Scheduler", "id": "s", "address": "tcp://127.0.0.1:8786", "workers": {}}')
    put("plan", 0, PLAN)
    put("edited", 0, MJCF)
    put("urdf", 1, FREE_URDF)
    put("toml", 2, LOOP)
    put("mjcf", 2, FREE_MJCF)
    put("edited", 1, re.sub(r'="(j[123])"', r'="arm_\1"', MJCF))
    put("mapping", 1, 'q = ["a", "b"]\ntau = "tau{i}"\ntime = "t"\n[motor]\nratio = 50\n')
    put("mjcf", 1, '<mujoco><worldbody><body><joint/><geom size="0.1"/></body></worldbody></mujoco>')
    corners = np.arange(36, dtype="<f4").reshape(3, 12)
    put("stl", 0, bytes(80) + struct.pack("<I", 3) + b"".join(row.tobytes() + b"\0\0" for row in corners))
    facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    put("stl", 1, f"solid s\n{facet}{facet}endsolid s\n")


def tables() -> None:
    """Write logs as text, archives and MATLAB files."""
    rows = "\n".join(",".join(f"{v:.4g}" for v in row) for row in ROWS[:12])
    plain = ",".join(HEADER) + "\n" + rows + "\n"
    semicolons = "% t q_1 q_2 tau_1 tau_2\n" + rows.replace(",", ";").replace(".", ",") + "\n"
    blanks = "# t q1 q2 tau1 tau2\n" + rows.replace(",", "  ") + "\n"
    for k, text in enumerate((plain, semicolons, blanks, '"t","q 1","q;2"\n0,1,2\n1,2,3\n2,3,4\n')):
        put("csv", k, text)
    put("csv", 4, plain.encode("utf-16"))
    put("csv", 5, written(LOG, "a.csv"))
    put("csv.gz", 0, gzip.compress(plain.encode(), mtime=0))
    put("csv.gz", 1, written(LOG, "a.csv.gz"))
    put("npz", 0, written(LOG, "a.npz"))
    put("npz", 2, written(FLOATING_LOG, "a.npz"))
    put("floating", 0, written(swinging_base(), "a.npz"))
    put("floating", 1, written(FLOATING_LOG, "a.npz"))
    put("csv", 6, written(FLOATING_LOG, "a.csv"))
    put("csv", 7, STAMPED)
    put("csv", 8, SCOPE)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/a.npz", t=TIME, q1=Q[:, 0].astype("f4"), q2=(9 * Q[:, 1]).astype("i2"), tau=Q)
        put("npz", 1, Path(folder, "a.npz").read_bytes())
        data = {"time": TIME[:, None], "q": Q, "tau": 3 * Q, "taupi_log": "{}"}
        nested = {
            "data": {"t": TIME, "q": Q.T, "inner": {"x": (9 * Q).astype("i4")}},
            "label": "text",
            "c": np.array([[1j]]),
        }
        cells = {
            "t": TIME,
            "q": np.array([[Q]], dtype=object),
            "flag": np.ones((24, 2), bool),
            "s": np.array(["ab", "cd"]),
        }
        own = {
            "time": TIME[:, None],
            "q": Q,
            "taupi_log": '{"taupi_log": 1, "time": "time", "joints": ["a", "b"], "q": "q"}',
        }
        for k, (content, options) in enumerate(
            (
                (nested, {}),
                (cells, {}),
                (own, {}),
                ({"t": TIME, "q": Q}, {"format": "4"}),
                (nested, {"do_compression": True}),
            )
        ):
            savemat(f"{folder}/a.mat", content if k != 3 else {"t": data["time"], "q": Q}, **options)
            put("mat", k, Path(folder, "a.mat").read_bytes())


def parquet_files() -> None:
    """Write logs and runs as Parquet, without checksums, so that changed pages are decoded."""
    lists = pa.array(Q.tolist(), pa.list_(pa.float64()))
    fixed = pa.array(Q.tolist(), pa.list_(pa.float32(), 2))
    stamps = pa.array((1_700_000_000_000_000 + 1e4 * np.arange(24)).astype("i8"), pa.timestamp("us"))
    own = LOG.decimate(2)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a.parquet"
        flat = pa.table({name: ROWS[:, k] for k, name in enumerate(HEADER)})
        save = partial(pq.write_table, where=path)
        for k, (table, options) in enumerate(
            (
                (flat, {"compression": "none", "use_dictionary": False}),
                (pa.table({"time": TIME, "q": lists, "tau": lists}), {"compression": "none"}),
                (
                    pa.table({"stamp": stamps, "q": fixed, "flag": pa.array([True, None] * 12)}),
                    {"compression": "snappy"},
                ),
                (pa.table({"t": TIME, "q1": (9 * Q[:, 0]).astype("i4"), "name": ["x"] * 24}), {"compression": "gzip"}),
                (flat, {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 7}),
            )
        ):
            save(table, **options)
            put("parquet", k, Path(path).read_bytes())
        tp.write_log(own, path, force=True)
        put("parquet", 5, Path(path).read_bytes())
        tp.write_log(FLOATING_LOG, path, force=True)
        put("parquet", 6, Path(path).read_bytes())
        arm = tp.load("elbow2r")
        run = tp.simulate(
            tp.RigidPlant(arm),
            tp.PDGravity(arm, 5.0, 1.0),
            tp.MinimumJerk([[0, 0], [1, 1]], [0, 0.2]),
            duration=0.2,
            rate=50,
        )
        run.save(path, force=True)
        put("run", 0, Path(path).read_bytes())
        table = pq.read_table(path)
        save(table, compression="none", use_dictionary=False)
        put("run", 1, Path(path).read_bytes())


def bag_files() -> None:
    """Write bags of joint states."""
    names = ["shoulder", "elbow"]
    for kind in ("bag", "mcap", "db3"):
        with tempfile.TemporaryDirectory() as folder:
            messages = [
                ("/joint_states", bags.JOINT_STATE, int(1e9 + 1e7 * k), partial(_state, names=names, k=k))
                for k in range(6)
            ]
            path = bags.write_bag(Path(folder), messages, kind)
            file = next(path.glob("*.db3")) if kind == "db3" else path
            put(kind, 0, file.read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        for packed, kind, index in (("bz2", "bag", 1), ("lz4", "bag", 2), ("mcap", "mcap", 1)):
            (at := Path(folder, packed)).mkdir()
            path = PACKED_BAGS[packed](at, 10)
            put(kind, index, (next(path.glob("*.mcap")) if path.is_dir() else path).read_bytes())


def _state(types: object, ros1: bool, names: list[str], k: int) -> object:
    return bags.joint_state(types, ros1, int(1e9 + 1e7 * k), names, Q[k], Q[k], 3 * Q[k])


def fits() -> None:
    """Write saved fits: a plain one, and one of a URDF with friction and a locked joint."""
    arm = tp.load("elbow2r")
    t = np.arange(1200)[:, None] / 100
    w = np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    with tempfile.TemporaryDirectory() as folder:
        tp.write_fit(tp.identify(arm, log, terms=("viscous",), cutoff_hz=8), f"{folder}/fit.json")
        put("fit", 0, Path(folder, "fit.json").read_bytes())
        Path(folder, "r.urdf").write_text(URDF)
        robot = tp.load(f"{folder}/r.urdf")
        one = tp.Log(t[:, 0], q[:, :1], tau=tp.inverse_dynamics(robot)(q[:, :1], qd[:, :1], qdd[:, :1]))
        tp.write_fit(tp.identify(robot, one, terms=(tp.terms.Stribeck(velocity=0.2),), cutoff_hz=8), f"{folder}/b.json")
        put("fit", 1, Path(folder, "b.json").read_text().replace(folder, "folder"))


def pieces() -> None:
    """Write a piece of a fit, two that a fit can be made from, and the log that mappings are tried on."""
    stream = io.BytesIO()
    write_piece(PIECE, stream, {"plan": "p", "log": "1"})
    put("piece", 0, stream.getvalue())
    fit = friction_fit()
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(Plan, "fingerprint", PLAN_OF_SEEDS):
        tp.write_fit(fit, f"{folder}/fit.json")
        put("fit", 2, Path(folder, "fit.json").read_bytes())
        for k in range(2):
            tp.compress_log(fit, friction_log(2 + k, duration=2.0), f"{folder}/{k}.piece")
            put("combined", k, Path(folder, f"{k}.piece").read_bytes())
    axes = dict(zip(("ax", "ay", "az"), still.T, strict=True))
    np.savez(
        SEEDS.parent / "mapped.npz",
        **{"time": TIME, "q": Q, "tau": 3 * Q, "w": still, "v": still, "force": still, "load": 40 * TIME * 5, **axes},
        quaternion=np.tile([1.0, 0, 0, 0], (24, 1)),
    )


def other_robots() -> None:
    """Write a model with frames, a nested model and all kinds of poses, and a stage."""
    from reference.test_sdf import MODELS, sdf
    from reference.test_usd import stage

    with tempfile.TemporaryDirectory() as folder:
        put("sdf", 0, sdf(Path(folder), MODELS["nested"]).read_bytes())
        put("usd", 0, stage(Path(folder, "arm.usda")).read_bytes())


def others() -> None:
    """Write the files of other tools: MCAP files of Foxglove, a ULog, HDF5, the description of a data set beside its table."""
    import h5py

    short = partial(logs_of_others.motion, 24)
    with tempfile.TemporaryDirectory() as name, mock.patch.object(logs_of_others, "motion", lambda *_: short()):
        folder = Path(name)
        for k, write in enumerate(
            (
                partial(logs_of_others.foxglove_json, compression="lz4"),
                partial(logs_of_others.foxglove_protobuf, compression=None),
                partial(logs_of_others.foxglove_json, compression=None),
            )
        ):
            put("foxglove", k, write(folder / f"{k}.mcap").read_bytes())
        put("ulog", 0, logs_of_others.ulog(folder / "a.ulg").read_bytes())
        for k, names in enumerate((None, {"motors": ["a", "b", "c"]})):
            data = logs_of_others.lerobot(folder / str(k), names=names, template="data/a/{chunk_index}.parquet")
            put("lerobot", k, (data / "meta/info.json").read_bytes())
            (SEEDS.parent / "lerobot.parquet").write_bytes(next(data.rglob("*.parquet")).read_bytes())
        demos = {f"data/demo_{k}/obs/robot0_joint_pos": Q for k in range(2)}
        for k, arrays in enumerate(({"t": TIME, "q": Q, "tau": 3 * Q}, demos, {"t": TIME[None, :], "q": Q.T})):
            with h5py.File(folder / "a.h5", "w", userblock_size=512 * (k == 2)) as file:
                for key, value in arrays.items():
                    file.create_dataset(key, data=value, compression="gzip" if k == 2 else None)
                    file[key].attrs.update({"MATLAB_class": np.bytes_(b"double")} if k == 2 else {})
            put("hdf5", k, (folder / "a.h5").read_bytes())


def main() -> None:
    """Write all seeds anew."""
    shutil.rmtree(SEEDS, ignore_errors=True)
    for write in (texts, tables, parquet_files, bag_files, fits, pieces, others, other_robots):
        write()


if __name__ == "__main__":
    main()
