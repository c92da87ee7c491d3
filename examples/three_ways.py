"""Three ways to one torque: the PUMA 560's card, its torque along a motion by three algorithms, and one picture of it all."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np

import taupi as tp
from taupi.cli.commands.info import robot_text

matplotlib.use("Agg")
import matplotlib.pyplot as plt

THREE_WAYS = {
    "recursive Newton-Euler": {"algorithm": "recursive"},
    "stacked closed form": {"algorithm": "closed_form"},
}


def motion(n: int, duration: float = 6.0, rate: float = 200.0) -> tuple[np.ndarray, ...]:
    """Return time, q, qd, qdd of a smooth sinusoidal motion of every joint, (samples, n)."""
    t = np.arange(0.0, duration, 1 / rate)[:, None]
    w = 2 * np.pi / duration * np.arange(1, n + 1)
    amplitude = 1.2 / np.sqrt(np.arange(1, n + 1))
    return t[:, 0], amplitude * np.sin(w * t), amplitude * w * np.cos(w * t), -amplitude * w**2 * np.sin(w * t)


def skeleton(robot: tp.Robot, q: np.ndarray) -> np.ndarray:
    """Return the corners of the arm, base first, (links + 1, 3)."""
    frames = [tp.forward_kinematics(robot, frame=name)(q)[:3, 3] for name in robot.link_names]
    return np.vstack([np.zeros(3), *frames])


def picture(robot: tp.Robot, t: np.ndarray, q: np.ndarray, torques: dict[str, np.ndarray], path: Path) -> None:
    """Draw the arm at five instants and the torque of each joint, all three ways."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure = plt.figure(figsize=(11, 6), constrained_layout=True)
    parts = figure.subfigures(1, 2, width_ratios=(1, 2))
    arm = parts[0].add_subplot(projection="3d")
    for k, colour in zip(range(0, len(t), len(t) // 5), plt.cm.viridis(np.linspace(0, 0.9, 5)), strict=True):
        x, y, z = skeleton(robot, q[k]).T
        arm.plot(x, y, z, "-o", color=colour, ms=3, lw=2, label=f"{t[k]:.1f} s")
    arm.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title=f"{robot.name} at five instants")
    arm.set(xlim=(-0.6, 0.6), ylim=(-0.6, 0.6), zlim=(-0.5, 0.7), box_aspect=(1, 1, 1))
    arm.legend(fontsize=7, loc="upper left")
    axes = parts[1].subplots(3, 2, sharex=True)
    styles = dict(zip(torques, [("-", 3.5, "#c9d6e3"), ("--", 1.6, "#1f6fb4"), (":", 1.6, "#d1495b")], strict=True))
    for joint, ax in enumerate(axes.T.flat):
        for name, tau in torques.items():
            style, width, colour = styles[name]
            ax.plot(t, tau[:, joint], style, lw=width, color=colour, label=name)
        ax.set_title(robot.joint_names[joint], fontsize=9)
        ax.set_ylabel("torque [N m]")
        ax.margins(x=0)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    parts[1].legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Show the card, the three torques and the picture."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("-o", "--output", type=Path, default=Path("out/three-ways.png"), help="the picture")
    path = options.parse_args().output
    robot = tp.load("puma560")
    print(robot_text(robot), end="\n\n")
    t, q, qd, qdd = motion(robot.n)
    torques = {name: tp.inverse_dynamics(robot, **how)(q, qd, qdd) for name, how in THREE_WAYS.items()}
    regressor = tp.regressor(robot)
    torques["regressor times parameters"] = regressor(q, qd, qdd) @ robot.parameters.values
    first = next(iter(torques.values()))
    print(f"torque along {len(t)} samples of a motion, three ways:")
    for name, tau in torques.items():
        apart = np.abs(tau - first).max()
        print(f"  {name:<28} peak {np.abs(tau).max():8.3f} N m, apart from the first by at most {apart:.1e} N m")
    print(f"the regressor: {regressor.operations}, {int(regressor.sparsity().sum())} structural nonzeros of {6 * 60}")
    print(
        f"its base parameters, found exactly: {len(regressor.independent().parameters)} of {len(regressor.parameters)}"
    )
    picture(robot, t, q, torques, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
