"""Write a control law, or an online component, as a ROS 2 package."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from taupi.checks import positive
from taupi.control.emitted_controller import LONGEST_GAP, controller_files, guard_of
from taupi.control.gains import RATE, check_gains
from taupi.control.law import Law
from taupi.dynamics.types import ArrayLike
from taupi.errors import TaupiError
from taupi.files import path_of, write_folder
from taupi.identification.online.component import Component, component_files
from taupi.identification.row_layout import RowLayout
from taupi.model.robot import Robot
from taupi.program.emitters.dialect import page_text, safe
from taupi.program.guard import Guard
from taupi.program.ports import Port
from taupi.version import __version__

# What REP 144 allows for the name of a package; C allows all of it.
_PACKAGE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
# The names of interfaces are "<joint>/position", and YAML and C++ hold them between quotes.
_JOINT = re.compile(r'[^\s/"\\\x00-\x1f\x7f]+')
# If a description states no limit: an effort that no joint reaches.
_NO_LIMIT = 1e6
_LONGEST_WORD = 30  # of a robot's name in that of a package, which names files
_CONTROLLER_DEPENDS = (
    *("controller_interface", "hardware_interface", "pluginlib", "rclcpp", "rclcpp_lifecycle", "realtime_tools"),
    "trajectory_msgs",
)
_NODE_DEPENDS = ("rclcpp", "sensor_msgs", "std_msgs")


def emit_ros2(
    source: Law | Component,
    directory: str | os.PathLike[str],
    name: str | None = None,
    force: bool = False,
    rate: float = RATE,
    effort_limits: ArrayLike | None = None,
    longest_gap: float = LONGEST_GAP,
) -> list[Path]:
    """Write a control law or an online component as a ROS 2 package, and return the paths of its files.

    A control law becomes a ros2_control controller: effort commands from position and velocity states, desired motions from a
    topic. An observer, tracker or estimator (`taupi.momentum_observer`, `fit.tracker()`) becomes a node that reads joint
    states and publishes its results. Either has CMake files, parameters, a README.md, and the harness that compares its C with
    Python. It is written against the public interfaces of Humble to Jazzy, and was compiled against a stand-in of their headers.

    Args:
        source: A control law, an observer, a tracker or an estimator.
        directory: The directory of the package.
        name: The name of the package, by default from the robot's name and its kind.
        force: Whether an existing package is overwritten, False by default.
        rate: The rate of the controller manager, Hz, 1000 by default.
        effort_limits: For a law, as in `taupi.emit_controller`: by default as the description states them.
        longest_gap: For a law, the longest time between two samples, s; 0.1 by default.

    Raises:
        TaupiError: If a joint has a name that ros2_control cannot hold, a law is of elastic joints or a task, or its gains are
            too high for `rate`, by its own model of the robot.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = tp.bridges.emit_ros2(tp.PDGravity(tp.load("ur10")), folder + "/arm")
    ...     [p.name for p in paths if p.suffix in (".cpp", ".xml", ".yaml")]
    ['ur10_pd_gravity.yaml', 'package.xml', 'ur10_pd_gravity_ros2_controller.cpp', 'ur10_pd_gravity_plugin.xml']
    """
    if not isinstance(source, Law | Component):
        raise TaupiError(
            "{source} is {got!r}, expected a control law, taupi.momentum_observer(...) or fit.tracker().", got=source
        )
    robot = source.robot
    chosen = f"{_package_word(robot.name)}_{source.name}" if name is None else name
    if not isinstance(chosen, str) or not _PACKAGE.fullmatch(chosen):
        raise TaupiError(
            "{name} is {got!r}, expected that of a ROS package: small letters, digits and single "
            "underscores, a letter first.",
            got=chosen,
        )
    for joint in robot.joint_names:
        if not _JOINT.fullmatch(joint):
            raise TaupiError(
                "{robot} has a joint {joint!r}, which cannot be the name of an interface in ros2_control.",
                remedy="Rename it: without blanks, slashes, quotes and backslashes.",
                robot=robot.name,
                joint=joint,
            )
    if isinstance(source, Law):
        check_gains(source, positive("rate", rate))
        texts = _controller_texts(source, chosen, guard_of(source, effort_limits, longest_gap, rate=rate), rate)
    else:
        texts = _node_texts(source, chosen)

    def fill(folder: Path) -> None:
        for file, text in texts.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")

    target = path_of(directory, "the path of a directory", "directory")
    write_folder(target, fill, force)
    return [target / file for file in sorted(texts)]


def _controller_texts(law: Law, name: str, guard: Guard, rate: float) -> dict[str, str]:
    robot, n = law.robot, law.robot.n
    ports = law.ports()[:5]
    if [p.name for p in ports] != ["q", "qd", "q_des", "qd_des", "qdd_des"] or any(p.shape != (n,) for p in ports):
        raise TaupiError(
            "{law} takes {ports:,}: ros2_control has positions and velocities of joints alone.",
            remedy=("Take a law of rigid joints in joint coordinates, such as taupi.SlotineLi or taupi.PDGravity."),
            law=law.name,
            ports=[p.name for p in ports],
        )
    limits = np.minimum(guard.effort, _NO_LIMIT).tolist()
    rows = [
        f"| {page_text(joint)} | {f'{v:g}' if v < _NO_LIMIT else 'not stated'} |"
        for joint, v in zip(robot.joint_names, limits, strict=True)
    ]
    words = {
        **_words(robot, name, f"{law.name.replace('_', ' ')} of {robot.name}", "Controller"),
        "effort_limits": ", ".join(repr(float(v)) for v in limits),
        "joint_rows": "\n".join(rows),
        "depends": _depends(_CONTROLLER_DEPENDS),
    }
    sources = controller_files(law, name, guard, rate)
    words["sources"] = _sources(sources)
    return {
        **_placed(sources, name),
        "package.xml": _filled("package.xml", words, xml=True),
        "CMakeLists.txt": _filled("controller.cmake", words),
        f"{name}_plugin.xml": _filled("plugin.xml", words, xml=True),
        f"config/{name}.yaml": _filled("controller.yaml", words),
        f"include/{name}_ros2_controller.hpp": _filled("controller.hpp", words),
        f"src/{name}_ros2_controller.cpp": _filled("controller.cpp", words),
        "README.md": _filled("controller.md", words),
    }


def _node_texts(component: Component, name: str) -> dict[str, str]:
    robot = component.robot
    unknown = [signal for signal in component.signals if signal not in ("q", "qd", "qdd", "tau")]
    beyond = RowLayout(robot, elastic=bool(robot.elastic_joints)).beyond_rigid
    if unknown or beyond:
        raise TaupiError(
            "The {component} of {robot} needs more than joint states have: {more}.",
            component=component.name,
            robot=robot.name,
            more=beyond or ", ".join(unknown),
        )
    outputs = component.emitted_outputs()
    accelerates = "qdd" in component.signals
    words = {
        **_words(component.robot, name, f"{component.title} of {component.robot.name}", "Node"),
        "kind": component.name,
        "meaning": component.meaning,
        "inputs": ", ".join(component.signals),
        "outputs": ", ".join(f"{p.name}.data()" for p in outputs),
        "published": ", ".join(f"~/{p.name}" for p in outputs),
        "topic_rows": "\n".join(f"| `~/{p.name}` | {_port_words(p)} |" for p in outputs),
        "depends": _depends(_NODE_DEPENDS),
        **_node_parts(outputs, accelerates),
    }
    sources = component_files(component, name)
    words["sources"] = _sources(sources)
    return {
        **_placed(sources, name),
        "package.xml": _filled("package.xml", words, xml=True),
        "CMakeLists.txt": _filled("node.cmake", words),
        f"config/{name}.yaml": _filled("node.yaml", words).rstrip() + "\n",
        f"src/{name}_node.cpp": _filled("node.cpp", words),
        "README.md": _filled("node.md", words),
    }


def _node_parts(outputs: Sequence[Port], accelerates: bool) -> dict[str, str]:
    """Return the lines of a node that depend on its results, and on whether it needs accelerations, which messages lack."""
    array = "std_msgs::msg::Float64MultiArray"
    publishers = "".join(f'    {p.name}_ = create_publisher<{array}>("~/{p.name}", 10);\n' for p in outputs)
    declared = "".join(f"    std::vector<double> {p.name}({p.size});\n" for p in outputs)
    publish = "".join(
        f"    {array} {p.name}_message;\n    {p.name}_message.data = {p.name};\n    {p.name}_->publish({p.name}_message);\n"
        for p in outputs
    )
    members = "".join(f"  rclcpp::Publisher<{array}>::SharedPtr {p.name}_;\n" for p in outputs)
    if not accelerates:
        parts = dict.fromkeys(("declare_cutoff", "begin_anew", "accelerations", "cutoff_line", "acceleration_note"), "")
    else:
        parts = {
            "declare_cutoff": '    cutoff_hz_ = declare_parameter<double>("acceleration_cutoff_hz", 20.0);\n',
            "begin_anew": (
                "      std::copy(qd, qd + kJoints, last_qd_);\n      std::fill(acceleration_, acceleration_ + kJoints, 0.0);\n"
            ),
            "accelerations": (
                "    // Messages have no accelerations: differences of the velocity, through a filter of first order.\n"
                "    const double share = 1.0 - std::exp(-2.0 * 3.14159265358979323846 * cutoff_hz_ * dt);\n"
                "    for (std::size_t i = 0; i < kJoints; ++i) {\n"
                "      acceleration_[i] += share * ((qd[i] - last_qd_[i]) / dt - acceleration_[i]);\n"
                "      last_qd_[i] = qd[i];\n    }\n    const double * qdd = acceleration_;\n"
            ),
            "cutoff_line": "    acceleration_cutoff_hz: 20.0  # of accelerations, which are differences of velocities",
            "acceleration_note": (
                "\nAccelerations are differences of the velocity through a filter of first order, `acceleration_cutoff_hz`.\n"
            ),
        }
        members += (
            "  double cutoff_hz_ = 20.0;\n  double last_qd_[kJoints] = {};\n  double acceleration_[kJoints] = {};\n"
        )
    return {
        **parts,
        "create_publishers": publishers,
        "declare_results": declared,
        "publish": publish,
        "members": members,
    }


def _words(robot: Robot, name: str, title: str, ending: str) -> dict[str, str]:
    return {
        "name": name,
        "guard": name.upper(),
        "class": "".join(word.capitalize() for word in name.split("_")) + ending,
        "title": page_text(title),
        "n": str(robot.n),
        "joint_names": ", ".join(json.dumps(joint, ensure_ascii=False) for joint in robot.joint_names),
        "version": __version__,
    }


def _port_words(port: Port) -> str:
    names = ", ".join(map(safe, port.labels[:8])) + (", ..." if len(port.labels) > 8 else "") if port.labels else ""
    return f"{port.size}" + (f": {names}" if names else "")


def _placed(sources: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the files of a package in C at their places in a ROS package; its page is replaced by another one."""
    folders = {".h": "include", ".c": "src"}
    return {
        f"{'test' if file == f'test_{name}.c' else folders[Path(file).suffix]}/{file}": text
        for file, text in sources.items()
        if file != "README.md"
    }


def _sources(sources: Mapping[str, str]) -> str:
    return " ".join(f"src/{file}" for file in sources if file.endswith(".c") and not file.startswith("test_"))


def _depends(names: Sequence[str]) -> str:
    return "\n".join(f"  <depend>{name}</depend>" for name in names)


def _filled(template: str, words: Mapping[str, str], xml: bool = False) -> str:
    """Return a template with its @words@ filled in; @@ stands for one @."""
    from xml.sax.saxutils import escape

    text = files("taupi.bridges.ros2").joinpath("templates").joinpath(template).read_text(encoding="utf-8")

    def word(match: re.Match[str]) -> str:
        if not match[1]:
            return "@"
        value = words[match[1]]
        return escape(value) if xml and match[1] != "depends" else value

    return re.sub(r"@(\w*)@", word, text)


def _package_word(name: str) -> str:
    """Return a robot's name as part of that of a package."""
    word = re.sub(r"_+", "_", re.sub(r"[^a-z0-9]+", "_", name.lower())).strip("_")
    word = word[:_LONGEST_WORD].rstrip("_")
    return word if word[:1].isalpha() else f"robot_{word}".rstrip("_")
