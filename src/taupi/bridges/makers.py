"""A payload in the words of a robot's maker: its units, its order, its axes. Text only: nothing is sent."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from taupi.bridges.targets.bodies import principal, roll_pitch_yaw
from taupi.dynamics.orientation import quaternion
from taupi.errors import Argument, TaupiError, unknown
from taupi.identification.payloads.payload_estimate import AXES, PayloadEstimate

# Angles of principal axes in degrees and moments in kg m^2 need so many decimals: with 2 and 4, tensors are off by up to 3.7 %.
_ANGLE, _MOMENT = 6, 8
_KGF_CM_S2 = 100 / 9.80665  # of 1 kg m^2
_MOST_UR = 133.0  # kg m^2, of each entry


@dataclass(frozen=True, eq=False)
class PayloadStatement:
    """What is said of a payload: only what its log shows.

    Attributes:
        mass: kg.
        com: The centre of mass (3,), m.
        inertia: The inertia (3, 3) about it, kg m^2; zero if the log does not show it.
        frame: The frame whose axes these are in.
        robot: The name of the robot.
        notes: What is left out, and why.
    """

    mass: float
    com: np.ndarray
    inertia: np.ndarray
    frame: str
    robot: str
    notes: tuple[str, ...]

    @classmethod
    def of(cls, load: PayloadEstimate) -> PayloadStatement:
        """Return what is said of an estimate: a centre that the log determines, an inertia whose moments are significant."""
        if not load.present:
            raise TaupiError("{summary} There is nothing to state.", summary=load.summary)
        half, com = load.intervals(), load.com.copy()
        open_axes = [AXES[k] for k in range(3) if not np.isfinite(half.com[k])]
        com[~np.isfinite(half.com)] = 0.0
        notes = [f"the log does not show the centre along {', '.join(open_axes)}: 0 is stated"] if open_axes else []
        moments = np.diag(load.inertia)
        shown = bool(np.all(np.isfinite(half.inertia)) and np.all(moments > np.diag(half.inertia)))
        if not shown:
            notes.append("the inertia is not significant in this log: zero is stated, that of a point mass")
        inertia = _possible(load.inertia) if shown else np.zeros((3, 3))
        return cls(load.mass, com, inertia, load.frame, load.fit.robot.name, tuple(notes))

    @property
    def principal(self) -> tuple[np.ndarray, np.ndarray]:
        """The principal moments (3,) and the rotation (3, 3) whose columns are their axes."""
        return principal(self.inertia)


def _possible(inertia: np.ndarray) -> np.ndarray:
    """Return an inertia that a body can have even when its entries are rounded: no moment larger than the sum of the others."""
    moments, axes = np.linalg.eigh(inertia)
    moments = np.maximum(moments, 0.0)
    moments[:2] += max(moments[2] - moments[0] - moments[1], 0.0) / 2
    moments += 5 * 10.0**-_MOMENT  # what rounding of all entries can take away
    return axes @ np.diag(moments) @ axes.T


@dataclass(frozen=True)
class Maker:
    """How one maker's robots are told about a payload.

    Attributes:
        title: The maker, and the interface.
        call: The call, as a table shows it.
        units: Its units, order and axes, in a few words.
        write: Makes the text of a load.
        notes: What a user of it should know.
        inertia: What it has of the inertia: "tensor", "principal", "moments" or "".
        checked: "run", if the call was checked in the maker's package; "read" in the manual only; "names", if not even the units.
    """

    title: str
    call: str
    units: str
    write: Callable[[PayloadStatement], str]
    notes: tuple[str, ...] = ()
    inertia: str = "tensor"
    checked: str = "read"


@dataclass(frozen=True)
class PayloadText:
    """A payload in the words of one maker.

    Attributes:
        maker: The name of the maker's interface.
        text: What to paste or to save.
        notes: What it leaves out, and what to know.
    """

    maker: str
    text: str
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return self.text


def payload_text(load: PayloadEstimate, maker: str) -> PayloadText:
    """Return a payload as the text that a robot's maker asks for, in its units, order and axes.

    Only what the log shows is stated: an inertia that is not significant is zero, that of a point mass. Numbers are rounded so
    that a real body still has them. Nothing is sent to a robot.

    Args:
        load: What `taupi.identify_payload` returned, at the flange: `at` its frame.
        maker: "ur" (the same as "urscript"), "ur-rtde", "ur-ros2", "franka", "franka-ros2", "franka-desk", "kuka", "abb",
            "fanuc", "xarm", "mecademic", "doosan" or "kinova".

    Returns:
        The text, with `notes` on what is left out.

    Raises:
        TaupiError: If no payload is seen, or the maker's robots cannot have it.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> def log(robot):
    ...     return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(robot)(q, qd, qdd))
    >>> fit = tp.identify(arm, log(arm), terms=(), cutoff_hz=10)
    >>> load = tp.identify_payload(fit, log(arm.with_payload(0.5)), gain_uncertainty=0)
    >>> tp.bridges.payload_text(load, "mecademic").text.startswith("SetPayload(0.5")
    True
    """
    if maker not in MAKERS:
        raise unknown(Argument("maker"), maker, MAKERS)
    kind, stated = MAKERS[maker], PayloadStatement.of(load)
    notes = [*stated.notes, f"numbers are in the axes of {stated.frame}, which has to be the robot's flange: see at="]
    if stated.inertia.any() and kind.inertia in ("", "moments"):
        left = "no inertia" if not kind.inertia else "no products of inertia"
        largest = np.abs(stated.inertia - (np.diag(np.diag(stated.inertia)) if kind.inertia else 0)).max()
        notes.append(f"it takes {left}: up to {largest:.2g} kg m^2 is left out")
    return PayloadText(maker, kind.write(stated), (*notes, *kind.notes))


# The makers -----------------------------------------------------------------------------------------------------------


def _list(values: Sequence[float] | np.ndarray, decimals: int = _MOMENT, between: str = ", ") -> str:
    return between.join(_number(v, decimals) for v in values)


def _number(value: float, decimals: int = _MOMENT) -> str:
    """Return a number with at most so many decimals, and no zeros after the last one that counts.

    >>> _number(0.125), _number(-1e-12), _number(2.0)
    ('0.125', '0.0', '2.0')
    """
    text = f"{value:.{decimals}f}".rstrip("0")
    text = text + "0" if text.endswith(".") else text
    return "0.0" if float(text) == 0 else text


def _six(load: PayloadStatement) -> list[float]:
    i = load.inertia
    return [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]


def _urscript(load: PayloadStatement) -> str:
    six = _six(load)
    if max(map(abs, six)) > _MOST_UR:
        raise TaupiError(
            "UR takes entries of the inertia of up to {most:g} kg m^2, got {got:g}.",
            most=_MOST_UR,
            got=max(map(abs, six)),
        )
    return f"set_target_payload({_number(load.mass)}, [{_list(load.com)}], [{_list(six)}], 0.5)\n"


def _ur_rtde(load: PayloadStatement) -> str:
    return f"rtde_c.setTargetPayload({_number(load.mass)}, [{_list(load.com)}], [{_list(_six(load))}])\n"


def _ur_ros2(load: PayloadStatement) -> str:
    com = ", ".join(f"{a}: {_number(v)}" for a, v in zip(AXES, load.com, strict=True))
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    six = ", ".join(f"{name}: {_number(v)}" for name, v in zip(names, _six(load), strict=True))
    fields = f"{{mass: {_number(load.mass)}, center_of_gravity: {{{com}}}, {six}, transition_time: 0.5}}"
    return f"ros2 service call /io_and_status_controller/set_payload ur_msgs/srv/SetPayload '{fields}'\n"


def _franka(load: PayloadStatement) -> str:
    nine = load.inertia.T.ravel()
    return f"robot.setLoad({_number(load.mass)}, {{{{{_list(load.com)}}}}}, {{{{{_list(nine)}}}}});\n"


def _franka_ros2(load: PayloadStatement) -> str:
    nine = _list(load.inertia.T.ravel())
    fields = f"{{mass: {_number(load.mass)}, center_of_mass: [{_list(load.com)}], load_inertia: [{nine}]}}"
    return f"ros2 service call /service_server/set_load franka_msgs/srv/SetLoad '{fields}'\n"


def _franka_desk(load: PayloadStatement) -> str:
    numbers = {
        "id": "taupi_tool",
        "name": "tool",
        "color": "#808080",
        "mass": float(_number(load.mass)),
        "centerOfMass": [float(_number(v)) for v in load.com],
        "transformation": np.eye(4).T.ravel().tolist(),
        "inertia": [float(_number(v)) for v in load.inertia.T.ravel()],
    }
    return json.dumps(numbers, indent=2) + "\n"


def _kuka(load: PayloadStatement) -> str:
    moments, axes = load.principal
    c, b, a = (math.degrees(v) for v in roll_pitch_yaw(axes))
    at = [f"{name} {_number(v, _ANGLE)}" for name, v in zip("XYZABC", [*(1000 * load.com), a, b, c], strict=True)]
    about = [f"{name} {_number(v)}" for name, v in zip("XYZ", moments, strict=True)]
    return f"LOAD_DATA[1]={{M {_number(load.mass)},CM {{{','.join(at)}}},J {{{','.join(about)}}}}}\n"


def _abb(load: PayloadStatement) -> str:
    moments, axes = load.principal
    numbers = f"{_number(load.mass)},[{_list(1000 * load.com, _ANGLE, ',')}],[{_list(quaternion(axes), _MOMENT, ',')}]"
    return f"PERS loaddata taupi_load:=[{numbers},{_list(moments, _MOMENT, ',')}];\n"


def _fanuc(load: PayloadStatement) -> str:
    lines = [f"PAYLOAD [kg] = {_number(load.mass)}"]
    lines += [f"PAYLOAD CENTER {a} [cm] = {_number(100 * v)}" for a, v in zip("XYZ", load.com, strict=True)]
    moments = _KGF_CM_S2 * np.diag(load.inertia)
    lines += [f"PAYLOAD INERTIA {a} [kgfcms^2] = {_number(v)}" for a, v in zip("XYZ", moments, strict=True)]
    return "\n".join(lines) + "\n"


def _xarm(load: PayloadStatement) -> str:
    return f"arm.set_tcp_load({_number(load.mass)}, [{_list(1000 * load.com, _ANGLE)}])\narm.save_conf()\n"


def _mecademic(load: PayloadStatement) -> str:
    return f"SetPayload({_number(load.mass)},{_list(1000 * load.com, _ANGLE, ',')})\n"


def _doosan(load: PayloadStatement) -> str:
    return f'add_tool("taupi", {_number(load.mass)}, [{_list(load.com)}], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0])\n'


def _kinova(load: PayloadStatement) -> str:
    centre = ", ".join(f"{axis}={_number(v)}" for axis, v in zip("xyz", load.com, strict=True))
    return (
        "control_config.SetPayloadInformation(ControlConfig_pb2.PayloadInformation("
        f"payload_mass={_number(load.mass)}, payload_mass_center=ControlConfig_pb2.Position({centre})))\n"
    )


_UR = (
    "the force-torque sensor is zeroed by it; a transition time above 0 avoids a jerk",
    "the centre is from the tool mount, the inertia about the centre along the axes of the flange",
)
_UR_UNITS = "kg; m from the tool mount; kg m^2 about the centre, flange axes: Ixx, Iyy, Izz, Ixy, Ixz, Iyz"
_SCRIPT = Maker(
    "Universal Robots, URScript", "set_target_payload(m, cog, inertia, transition_time)", _UR_UNITS, _urscript, _UR
)
_FRANKA = ("this is the load only: state the hand in Desk, and weigh the load with the hand in the model",)
_FRANKA_UNITS = "kg; m from the flange; kg m^2 about the centre, 9 numbers by column"

MAKERS = {
    "ur": _SCRIPT,
    "urscript": _SCRIPT,
    "ur-rtde": Maker(
        "Universal Robots, ur_rtde", "setTargetPayload(mass, cog, inertia)", _UR_UNITS, _ur_rtde, _UR[1:], checked="run"
    ),
    "ur-ros2": Maker("Universal Robots, ROS 2 driver", "ur_msgs/srv/SetPayload", _UR_UNITS, _ur_ros2, _UR),
    "franka": Maker("Franka, libfranka", "setLoad(mass, F_x_Cload, I)", _FRANKA_UNITS, _franka, _FRANKA),
    "franka-ros2": Maker("Franka, franka_ros2", "franka_msgs/srv/SetLoad", _FRANKA_UNITS, _franka_ros2, _FRANKA),
    "franka-desk": Maker(
        "Franka Desk",
        "endeffector-config.json",
        _FRANKA_UNITS,
        _franka_desk,
        ("the transformation to the tool's tip is left at the flange",),
    ),
    "kuka": Maker(
        "KUKA KRC",
        "LOAD_DATA[n]={M, CM {X, Y, Z, A, B, C}, J {X, Y, Z}}",
        "kg; mm from the flange; degrees Z-Y'-X'' of the principal axes; kg m^2 about them",
        _kuka,
        inertia="principal",
    ),
    "abb": Maker(
        "ABB, RAPID",
        "loaddata [m, cog, aom, ix, iy, iz]",
        "kg; mm; quaternion of the principal axes, w first; kg m^2",
        _abb,
        ("a payload is in the frame of the tool, a tool's own load in that of the wrist",),
        inertia="principal",
    ),
    "fanuc": Maker(
        "Fanuc, payload schedule",
        "PAYLOAD, CENTER X Y Z, INERTIA X Y Z",
        "kg; cm from the faceplate; kgf cm s^2 (1 kg m^2 is 10.197)",
        _fanuc,
        inertia="moments",
    ),
    "xarm": Maker(
        "UFACTORY xArm",
        "set_tcp_load(weight, center_of_gravity)",
        "kg; mm",
        _xarm,
        ("without save_conf it is lost when the robot restarts",),
        inertia="",
        checked="run",
    ),
    "mecademic": Maker("Mecademic", "SetPayload(m,cx,cy,cz)", "kg; mm from the flange", _mecademic, inertia=""),
    "doosan": Maker(
        "Doosan, DRL",
        "add_tool(name, mass, cog, inertia)",
        "kg; m; the order of its inertia is not documented, so zeros are stated",
        _doosan,
        inertia="",
    ),
    "kinova": Maker(
        "Kinova Gen3, Kortex",
        "ControlConfig SetPayloadInformation(payload_mass, payload_mass_center)",
        "kg; m",
        _kinova,
        ("names are those of Kortex's messages; that they are in kg and m was not checked in its manual",),
        inertia="",
        checked="names",
    ),
}
