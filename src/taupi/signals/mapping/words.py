"""The words of headers: which signal a noun names, in several languages, and what says that a column was not measured."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from taupi.signals.mapping.units import UNITS

# English first, then German, French, Italian, Spanish, Portuguese; Japanese and Chinese are in `_CHARACTERS`.
_WORDS: dict[str, tuple[str, ...]] = {
    "time": (
        *("t", "time", "timestamp", "timestamps", "stamp", "secs", "seconds", "clock"),
        *("ts", "zeit", "zeitstempel", "uhrzeit", "temps", "horodatage", "tempo", "tiempo"),
    ),
    "q": (
        *("q", "qpos", "pos", "position", "positions", "angle", "angles", "jpos"),
        *("lage", "winkel", "stellung", "posizione", "posizioni", "angolo", "posicion", "angulo", "posicao"),
    ),
    "qd": (
        *("qd", "dq", "qvel", "vel", "velocity", "velocities", "qdot", "speed", "jvel", "velo"),
        *("geschwindigkeit", "drehzahl", "vitesse", "velocita", "velocidad", "velocidade"),
    ),
    "qdd": (
        *("qdd", "ddq", "qacc", "acc", "accel", "acceleration", "accelerations", "qddot", "jacc"),
        *("beschleunigung", "accelerazione", "aceleracion", "aceleracao"),
    ),
    "tau": (
        *("tau", "torque", "torques", "trq", "effort", "efforts", "force", "forces"),
        *("moment", "momente", "momenten", "drehmoment", "drehmomente", "kraft", "couple", "coppia", "momento"),
    ),
    "current": (
        *("current", "currents", "cur", "amps", "iq"),
        *("strom", "courant", "corrente", "corriente"),
    ),
    "voltage": ("voltage", "voltages", "spannung", "tensione"),
    "theta": ("theta", "thetas"),
    "thetad": ("thetad", "dtheta", "thetadot"),
    "thetadd": ("thetadd", "ddtheta", "thetaddot"),
    "tau_m": ("taum",),
    "tau_known": ("tauknown",),
    "qdes": ("qdes",),
    "qd_des": ("qddes",),
    "tau_ff": ("tauff",),
    "volts": ("volts",),
    "temperature": ("temperature", "temperatures", "temperatur"),
    "enabled": ("enabled",),
}
# Signals whose names are two words, the first of which is another signal's.
PAIRS = {
    ("tau", "m"): "tau_m",
    ("tau", "known"): "tau_known",
    ("tau", "ff"): "tau_ff",
    ("torque", "ff"): "tau_ff",
    ("effort", "ff"): "tau_ff",
    ("qd", "des"): "qd_des",
    ("torque", "enable"): "enabled",
}
SIGNAL = {word: signal for signal, words in _WORDS.items() for word in words}
MOTOR_WORDS = ("motor", "mot", "moteur", "motore")
ON_MOTOR_SIDE = {"q": "theta", "qd": "thetad", "qdd": "thetadd", "tau": "tau_m"} | {
    s: s for s in ("theta", "current", "voltage")
}
# The signal that holds the commands for a measured one. A commanded torque is none: it may be the sum of what the drive adds.
COMMAND_OF = {"q": "qdes", "qd": "qd_des"}

COMMANDED = frozenset(
    (
        *("des", "desired", "target", "ref", "reference", "cmd", "command", "commanded", "setpoint", "set", "goal"),
        *("nominal", "demand", "demanded", "request", "requested", "action", "actions", "planned"),
        *("soll", "sollwert", "sollwerte", "vorgabe", "vorgabewert", "ziel", "zielwert", "wunsch"),
        *("consigne", "cible", "commande", "commandee", "desiree"),
        *("riferimento", "comandata", "comandato", "desiderata", "desiderato", "obiettivo"),
        *("comando", "objetivo", "consigna", "referencia", "deseada", "deseado", "desejada", "desejado", "alvo"),
    )
)
# Of these, nouns that mean a position where nothing else is said.
GOALS = ("goal", "setpoint")
# Words for what a policy put out, which may nevertheless hold what was measured, if a name inside says so.
OUTPUTS = frozenset(("action", "actions"))
# What a controller computes, and what was made from other columns.
_MODEL = frozenset(("model", "modelled", "modeled", "gravity", "grav", "coriolis", "ext", "external", "hat"))
_DERIVED = frozenset(("err", "error", "std", "sigma", "var", "filtered", "filt", "regelabweichung", "schleppfehler"))
# Sensors and frames that are not joints.
_ELSEWHERE = frozenset(
    (
        *("imu", "gyro", "gyroscope", "accelerometer", "ee", "eef", "tcp", "cartesian", "flange"),
        *("bus", "supply", "battery", "dc"),
    )
)
ROLES = {
    **dict.fromkeys(COMMANDED, "commanded"),
    **dict.fromkeys(_MODEL, "model"),
    **dict.fromkeys(_DERIVED, "derived"),
    **dict.fromkeys(_ELSEWHERE, "elsewhere"),
}
# The axes of an accelerometer, which no joint accelerates along.
AXES = ("x", "y", "z")

FILLERS = frozenset(
    (
        *("joint", "joints", "j", "axis", "link", "achse", "gelenk", "axe", "asse", "eje", "articulation", "giunto"),
        *("state", "states"),
    )
)
# Words that say that a value was measured.
MEASURED = frozenset(
    (
        *("actual", "act", "measured", "meas", "present", "feedback", "fb", "fbk"),
        *("ist", "istwert", "istwerte", "gemessen"),
        *("mesure", "mesuree", "mesurees", "misurata", "misurato", "medida", "medido", "real"),
    )
)
# Words that say where a value comes from, and nothing of the joint.
CONTEXT = MEASURED | {"observation", "observations", "obs", "dict", "value", "values", "wert"}
# What is at the end of an arm and none of its joints, where its joints have columns of their own.
GRIPPERS = frozenset(("gripper", "greifer", "pince", "pinza", "garra"))

_TIME_WORDS = {
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "msecs", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("usec", "usecs", "micros", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("nsec", "nsecs", "nanos", "nanosec", "nanosecs", "nanosecond", "nanoseconds"), "ns"),
}
SPELLED_OUT = {
    **_TIME_WORDS,
    **dict.fromkeys(("degree", "degrees", "grad", "gradi", "grados", "graus"), "deg"),
    **dict.fromkeys(("radian", "radians"), "rad"),
    **dict.fromkeys(("revs", "revolutions"), "rev"),
    "turns": "turn",
    **dict.fromkeys(("meter", "meters", "metre", "metres"), "m"),
    **dict.fromkeys(("millimeter", "millimeters", "millimetre", "millimetres"), "mm"),
    **dict.fromkeys(("centimeter", "centimeters", "centimetre", "centimetres"), "cm"),
    **dict.fromkeys(("milliamp", "milliamps", "milliampere", "milliamperes"), "ma"),
}
# Torques as the weight of a mass at a distance, which is often left without its f: kgf cm, and kg cm of servos, oz in.
_WEIGHTS = (("kg", "m"), ("kg", "cm"), ("kg", "mm"), ("g", "cm"), ("lb", "ft"), ("lb", "in"), ("oz", "in"))
# Units as headers spell them, longest first: "rad_s2" is two words, and so is "N m".
_SPELLINGS: dict[tuple[str, ...], str] = {
    **{tuple(re.split(r"[^a-z0-9]+", u.lower())): u for units in UNITS.values() for u in units},
    **{("n", "m"): "Nm", ("mn", "m"): "mNm", ("kn", "m"): "kNm", ("n", "cm"): "Ncm", ("n", "mm"): "Nmm"},
    **{(f"{weight}{f}", length): f"{weight}f{length}" for weight, length in _WEIGHTS for f in ("f", "")},
    **{(f"{weight}{length}",): f"{weight}f{length}" for weight, length in _WEIGHTS},
    **{("dps",): "deg/s", ("degps",): "deg/s", ("radps",): "rad/s", ("rps",): "rev/s", ("revmin",): "rpm"},
}
UNIT_WORDS = sorted(_SPELLINGS.items(), key=lambda item: -len(item[0]))
# Words for a joint, and for what it is called by.
_JOINTS = (*MOTOR_WORDS, "joint", "axis", "achse", "gelenk", "axe", "asse", "eje", "servo", "actuator")
_NAMED = ("id", "name", "index", "idx", "nr", "no", "number", "nummer")
_PARTS_OF_UNITS = {*SPELLED_OUT, *UNITS["time"], *(word for words, _ in UNIT_WORDS for word in words)}
_UNITS_OF_ONE_WORD = frozenset(words[0] for words, _ in UNIT_WORDS if len(words) == 1)  # mNm, for example, is no m_Nm
# Units, some of several words, that no joint is called: where one of them is no unit of the signal, the header is refused.
NEVER_A_JOINT = frozenset(
    (
        *("deg", "mrad", "rpm", "dps", "mm", "cm", "mnm", "knm", "ncm", "nmm", "ma", "mv", "percent", "permille"),
        *("counts", "tick", "ticks", "inc", "incr", "increments", "pulse", "pulses", "lsb", "pu", "hz", "khz"),
        *("mdeg", "cdeg", "urad", "gon", "umdr"),
    )
)
# Words of columns that count rows, which rise as steadily as time does.
COUNTERS = frozenset(
    (
        *("index", "idx", "row", "rows", "sample", "samples", "count", "counter"),
        *("seq", "sequence", "frame", "id", "line"),
    )
)
# What a unit in brackets says of a column whose name says nothing.
_SIGNAL_OF_UNIT = {
    **dict.fromkeys(("rad", "deg"), "q"),
    **dict.fromkeys(("rad/s", "deg/s", "rpm"), "qd"),
    **dict.fromkeys(("rad/s2", "deg/s2"), "qdd"),
    **dict.fromkeys(("Nm", "mNm", "kNm", "Ncm", "Nmm", *(f"{weight}f{length}" for weight, length in _WEIGHTS)), "tau"),
    **dict.fromkeys(("A", "mA"), "current"),
    "V": "voltage",
}

# Signs of units, which are not letters, as letters.
_SIGNS = (
    ("[\N{DEGREE SIGN}\N{MASCULINE ORDINAL INDICATOR}]", " deg "),
    ("[\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}]", "u"),
    (r"\^-?2|\*\*-?2|\N{SUPERSCRIPT MINUS}?\N{SUPERSCRIPT TWO}", "2"),
    (r"(?i)\b(?:1|u|tr|rev|giri)\s*/\s*min\b|\bmin(?:\^-1|-1|\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT ONE})", " revmin "),
    (r"\^-1|\*\*-1|\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT ONE}", ""),
    (r"0[.,]1\s*%|\N{PER MILLE SIGN}", " permille "),
    ("%", " percent "),
)
# Japanese and Chinese, which write words without blanks: longer words first.
_CHARACTERS = {
    "角加速度": "acceleration", "加速度": "acceleration", "角速度": "velocity", "速度": "velocity", "回転数": "velocity",
    "转速": "velocity", "角度": "position", "位置": "position", "トルク": "torque", "力矩": "torque", "扭矩": "torque",
    "転矩": "torque", "电流": "current", "電流": "current", "电压": "voltage", "電圧": "voltage", "时间戳": "time",
    "时间": "time", "時間": "time", "時刻": "time", "时刻": "time", "关节": "joint", "関節": "joint", "軸": "axis",
    "轴": "axis", "电机": "motor", "モータ": "motor", "モーター": "motor", "目标": "target", "目標": "target",
    "指令": "command", "期望": "desired", "设定": "setpoint", "設定": "setpoint", "实际": "actual", "実": "actual",
    "現在": "actual", "当前": "actual", "反馈": "feedback", "毫秒": "ms", "ミリ秒": "ms", "秒": "s", "度": "deg", "毫安": "ma",
    "安": "A", "牛米": "Nm", "弧度": "rad", "第": "", "值": "", "値": "",
    "温度": "temperature", "τ": "tau",
}  # fmt: skip
_CHARACTER_WORDS = re.compile("|".join(sorted(_CHARACTERS, key=len, reverse=True)))
# First parts of German compounds: Istposition, Sollmoment, Motorstrom, Gelenkwinkel.
_FIRST_PARTS = ("ist", "soll", "motor", "gelenk", "achs", "achsen", "dreh", "winkel")
# JointVelocity is two words, and so is Achse1Soll; what else follows a number, as in q2Velocity, is left.
_AT_CAPITALS = re.compile(
    rf"(?<=[a-z])(?=[A-Z][a-z])|(?<=[a-z]\d)(?=(?:{'|'.join(word.capitalize() for word in COMMANDED | MEASURED)})(?![a-z]))"
)
# What is written together with a noun: whether it was commanded or measured. A time is neither: realtime is no measured one.
_ROLE_WORDS = COMMANDED | MEASURED
_NOUNS = frozenset(word for word, signal in SIGNAL.items() if signal != "time")
_LONGEST = 1 + max(map(len, _NOUNS)) + max(map(len, _ROLE_WORDS))  # of a compound, with an s between its parts
_AROUND_UNITS = "[]()- "
_VOCABULARY = {*SIGNAL, *FILLERS, *MOTOR_WORDS, *ROLES, "m", "known"}


def tokens_of(name: str) -> list[str]:
    """Return the words of a header, signs of units and words of other languages included.

    >>> tokens_of("Istposition A1 [\\u00b0]"), tokens_of("\\u5173\\u82821\\u4f4d\\u7f6e"), tokens_of("JointVelocity3")
    (['Ist', 'position', 'A1', 'deg'], ['joint', '1', 'position'], ['Joint', 'Velocity', '3'])
    """
    for signs, letters in _SIGNS:
        name = re.sub(signs, letters, name)
    if not name.isascii():
        name = _CHARACTER_WORDS.sub(lambda word: f" {_CHARACTERS[word[0]]} ", name)
        plain = unicodedata.normalize("NFKD", name)
        name = "".join(c for c in plain if not unicodedata.combining(c))
    whole = re.split(r"[^A-Za-z0-9]+", name)
    words = [[t] if split_number(t.lower())[0] in _UNITS_OF_ONE_WORD else _AT_CAPITALS.split(t) for t in whole]
    result: list[str] = []
    for token in (part for parts in words for word in parts for part in _compound(word)):
        word, number = split_number(token)
        if number and word.lower() in _VOCABULARY:
            result += [word, number]
        elif token and token.lower() != "per":
            result.append(token)
    return result


def split_number(token: str) -> tuple[str, str]:
    """Return the letters of a token, and the number that follows them; a token of another kind is returned whole."""
    parts = re.fullmatch(r"([A-Za-z]+)(\d+)", token)
    return (parts[1], parts[2]) if parts else (token, "")


def as_number(digits: str) -> tuple[int, str]:
    """Return a key that orders texts of digits as numbers, however long they are.

    >>> sorted(["10", "09", "2"], key=as_number)
    ['2', '09', '10']
    """
    significant = digits.lstrip("0")
    return len(significant), significant


def _compound(word: str) -> list[str]:
    """Return the parts of a compound, or the word alone: Sollmoment is Soll and moment, setpos3 is set, pos and 3."""
    low, number = split_number(word.lower())
    if low in SIGNAL or low in ROLES:
        return [word]
    for k in range(1, len(low)) if len(low) <= _LONGEST else ():
        first, last = low[:k], low[k:]
        noun = first if first in _NOUNS else first.removesuffix("s")  # Positionssollwert
        if (first in _ROLE_WORDS and last in _NOUNS) or (noun in _NOUNS and last in _ROLE_WORDS):
            return [word[: len(noun)], word[k : len(low)], *([number] if number else [])]
    for first in _FIRST_PARTS:
        rest = low.removeprefix(first)
        if rest != low and (rest in SIGNAL or rest == "wert"):
            parts = [word[: len(first)], word[len(first) :]]
            return parts if first in ("ist", "soll", "motor") else parts[1:]
    return [word]


def in_brackets(name: str) -> str:
    """Return what brackets at the end of a header hold, unless it is a number.

    >>> in_brackets("time [10 ms]"), in_brackets("q[1]"), in_brackets("q")
    ('10 ms', '', '')
    """
    inside = re.search(r"[\[(]([^\[\]()]+)[\])]\s*$", name)
    return "" if inside is None or inside[1].strip().isdigit() else inside[1].strip()


def unit_in_brackets(name: str) -> tuple[str, str]:
    """Return the signal and the unit that brackets at the end of a header state; empty texts if they do not.

    >>> unit_in_brackets("A1 [Nm]"), unit_in_brackets("oil [\\u00b0C]")
    (('tau', 'Nm'), ('', ''))
    """
    words = tuple(SPELLED_OUT.get(token.lower(), token.lower()) for token in tokens_of(in_brackets(name)))
    unit = next((unit for spelled, unit in UNIT_WORDS if spelled == words), "")
    return _SIGNAL_OF_UNIT.get(unit, ""), unit


def are_units(cells: Sequence[str]) -> bool:
    """Return whether a line of a table states the units of its columns, in brackets or without: at least half are known.

    >>> are_units(["s", "deg", "-"]), are_units(["[ms]", "(1/min)"]), are_units(["t", "q1", "A"])
    (True, True, False)
    """
    stated = [bare for cell in cells if (bare := cell.strip(_AROUND_UNITS))]
    if any(token.lower() in SIGNAL for bare in stated for token in tokens_of(bare)):
        return False
    known = sum(bool(unit_in_brackets(f"[{bare}]")[1]) for bare in stated)
    return 0 < len(stated) <= 2 * known


def with_unit(name: str, unit: str) -> str:
    """Return a header with the unit that another line states, in brackets, if it states none itself.

    >>> with_unit("q1", "(deg)"), with_unit("tau1 [Nm]", "Nm"), with_unit("mode", "-")
    ('q1 [deg]', 'tau1 [Nm]', 'mode')
    """
    bare = unit.strip(_AROUND_UNITS)
    return f"{name} [{bare}]" if bare and not unit_in_brackets(name)[1] else name


def unit_unknown(name: str) -> str:
    """Return a unit in brackets at the end of a header that no signal has: a multiple or a quotient of others; or nothing.

    >>> unit_unknown("q1 [0.1 deg]"), unit_unknown("qd1 [rad/min]"), unit_unknown("q1 [deg]"), unit_unknown("q [left/arm]")
    ('0.1 deg', 'rad/min', '', '')
    """
    stated = in_brackets(name)
    if not ("/" in stated or stated[:1].isdigit()) or unit_in_brackets(name)[1]:
        return ""
    return stated if any(split_number(t.lower())[0] in _PARTS_OF_UNITS for t in tokens_of(stated)) else ""


def role_of(name: str) -> str:
    """Return what a word of a header says that it is instead of a measurement: a value of `ROLES`, or an empty text.

    >>> role_of("Achse1_Soll"), role_of("gyro_z"), role_of("Achse1_Ist")
    ('commanded', 'elsewhere', '')
    """
    return next((ROLES[token.lower()] for token in tokens_of(name) if token.lower() in ROLES), "")


def time_unit(name: str) -> str | None:
    """Return the unit of time that is a word of a header, such as "ms"; None if there is none.

    >>> time_unit("Zeit_ms"), time_unit("nanoseconds"), time_unit("params")
    ('ms', 'ns', None)
    """
    words = [_TIME_WORDS.get(token.lower(), token.lower()) for token in tokens_of(name)]
    return next((w for w in words if w in UNITS["time"]), None)


def counts_rows(name: str) -> bool:
    """Return whether a header says that its column counts rows.

    >>> counts_rows("sample_index"), counts_rows("Zeit")
    (True, False)
    """
    return any(token.lower() in COUNTERS for token in tokens_of(name))


def names_joints(name: str) -> bool:
    """Return whether a header says that its column names the joint of each row, as it does in tables with a row per joint.

    >>> names_joints("joint"), names_joints("Motor ID"), names_joints("joint_3"), names_joints("motor_position")
    (True, True, False, False)
    """
    low = [token.lower() for token in tokens_of(name)]
    return (bool(low) and low[0] in _JOINTS and all(word in _NAMED for word in low[1:])) or low == ["name"]


_EPISODES = re.compile(
    r"(episode|segment|trajectory|traj|demo|run|trial|experiment|repetition|versuch)[ _]?(index|id|nr|no|number)?",
    re.IGNORECASE,
)


def numbers_segments(name: str) -> bool:
    """Return whether a header says that its column numbers the runs that a file holds.

    >>> numbers_segments("episode_index"), numbers_segments("Run No"), numbers_segments("demo_torque")
    (True, True, False)
    """
    return _EPISODES.fullmatch(name) is not None
