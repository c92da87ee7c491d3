"""The verb `view`: a robot in three dimensions, in a browser, with sliders for its joints and a play bar for a motion."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from taupi.checks import whole_number
from taupi.dynamics.inverse import gravity_torque
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.dynamics.orientation import quaternion
from taupi.errors import TaupiError
from taupi.model.requirements import require_bolted
from taupi.model.robot import Robot
from taupi.reporting.viewer.access import LAST_PORT, Access
from taupi.reporting.viewer.scene import (
    SHORT,
    TUBE,
    Overlays,
    Pose,
    Scene,
    Track,
    along,
    track_of,
    unit_tube,
)

if TYPE_CHECKING:
    import viser
    from numpy.typing import ArrayLike

LINK, JOINT, MASS, BODY = (70, 100, 135), (224, 138, 46), (194, 55, 75), (47, 143, 62)
SURFACE, TORQUE, FELT, CAPSULE = (175, 185, 196), (122, 85, 166), (224, 138, 46), (31, 111, 180)
FRAMES_PER_SECOND = 30
PATIENCE = 60.0  # s: until when a server has started, also on a busy machine


class View:
    """A page that shows a robot, as `taupi.view` returns it; it exists until `close`, or the end of the program.

    Args:
        server: Viser's server, which holds the page.
        robot: What is shown.
        track: Motion to play; None for nothing.

    Attributes:
        q: What is shown, (n,) in rad or m.
    """

    def __init__(self, server: viser.ViserServer, robot: Robot, track: Track | None) -> None:
        self._server, self._robot, self._track = server, robot, track
        self._scene = Scene(robot)
        self._around = Overlays(self._scene)
        self._lock, self._closed = threading.RLock(), threading.Event()
        self._gravity, self._mass = (f(robot).compile("numpy") for f in (gravity_torque, mass_matrix))
        self.q = np.zeros(robot.n)
        self._tau: np.ndarray | None = None  # of the motion that is played; else the torque that holds the robot still
        self._capsules: list[tuple[viser.SceneNodeHandle, ...]] = []
        self._draw()
        self._controls()
        self._player: threading.Thread | None = None
        if track is not None:
            self.seek(0.0)
            self._player = threading.Thread(target=self._play, daemon=True)
            self._player.start()
        else:
            self.show(self.q)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self._server.get_host()}:{self._server.get_port()}"

    # What can be done ---------------------------------------------------------------------------------------------

    def show(self, q: ArrayLike) -> None:
        """Show the robot at a configuration.

        Args:
            q: Positions of the joints, (n,) in rad or m.
        """
        try:
            array = np.asarray(q, dtype=float)
        except (TypeError, ValueError):
            array = np.zeros(0)
        if array.shape != (self._robot.n,) or not np.isfinite(array).all():
            raise TaupiError("{q} is {got!r}, expected {expected} finite numbers.", got=q, expected=self._robot.n)
        self._shown(array, None)

    def _shown(self, q: np.ndarray, tau: np.ndarray | None) -> None:
        """Show a configuration with the torques that act there, None for those that hold the robot still."""
        with self._lock:
            self.q, self._tau = q, tau
            self._place()
            for slider, value in zip(self._sliders, q, strict=True):
                slider.value = float(np.clip(value, slider.min, slider.max))

    def seek(self, t: float) -> None:
        """Show the motion at a time.

        Args:
            t: Time from the beginning of the motion, s.
        """
        if self._track is None:
            raise TaupiError("This view has no motion: give one, as in taupi.view(robot, run).")
        with self._lock:
            self._shown(self._track.at(float(t)), self._track.torque(float(t)))
            self._clock.value = float(np.clip(t, 0.0, self._track.time[-1]))

    def wait(self) -> None:
        """Return when the view is closed, or when the program is interrupted."""
        try:
            while not self._closed.wait(0.2):
                pass
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Close the page."""
        self._closed.set()
        if self._player is not None:
            self._player.join()  # it may be drawing
        self._server.stop()

    # The scene ----------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        add, size = self._server.scene, self._scene.reach
        add.set_up_direction("+z")
        add.add_grid("/floor", width=2 * size, height=2 * size, cell_size=size / 5, section_size=size)
        camera = self._server.initial_camera
        camera.position, camera.look_at = (0.6 * size, -0.9 * size, 0.6 * size), (0.15 * size, 0.0, 0.3 * size)
        vertices, faces = unit_tube()
        radius = TUBE * size
        meshes = self._scene.drawn.meshes
        count = 0 if meshes else len(self._scene.pose(self.q).tubes)
        self._tubes = [add.add_mesh_simple(f"/tube{k}", vertices, faces, color=LINK) for k in range(count)]
        self._surfaces = [
            add.add_mesh_simple(f"/surface{k}", m.vertices, m.faces, color=SURFACE, side="double", flat_shading=True)
            for k, m in enumerate(meshes)
        ]
        self._links, self._marks = [], []
        for k, body in enumerate(self._scene.bodies()):  # numbers instead of link names, which may not be valid paths
            self._links.append(add.add_frame(f"/link{k}", axes_length=6 * radius, axes_radius=radius / 5))
            if not meshes:
                add.add_icosphere(f"/link{k}/joint", 1.3 * radius, JOINT)
            if body is None:
                continue
            centre, wxyz = tuple(body.com), quaternion(body.axes)
            ball = add.add_icosphere(f"/link{k}/mass", 0.6 * radius, MASS, position=centre)
            lengths = tuple(np.maximum(body.lengths, 1e-4 * size))
            shape = add.add_icosphere(
                f"/link{k}/body", 1.0, BODY, scale=lengths, opacity=0.4, position=centre, wxyz=wxyz
            )
            self._marks.append((ball, shape))
        self._tip = add.add_frame("/tip", axes_length=8 * radius, axes_radius=radius / 4)
        heads = {"shaft_radius": radius / 4, "head_radius": radius / 2, "head_length": radius}
        nothing = np.zeros((1, 2, 3))
        self._torques = add.add_arrows("/torques", nothing, TORQUE, visible=False, **heads)
        self._weights = add.add_arrows("/weights", nothing, MASS, visible=False, **heads)
        self._felt = add.add_icosphere("/felt", 1.0, FELT, opacity=0.35, visible=False)

    def _place(self) -> None:
        pose, radius = self._scene.pose(self.q), TUBE * self._scene.reach
        with self._server.atomic():
            for handle, (start, stop) in zip(self._tubes, pose.tubes, strict=False):  # none beside meshes
                wxyz, length = along(start, stop)
                handle.wxyz, handle.position = wxyz, start
                handle.scale = (radius, radius, max(length, SHORT * self._scene.reach))
                handle.visible = length > SHORT * self._scene.reach
            for handle, placed in zip((*self._links, self._tip), (*pose.links, pose.tip), strict=True):
                handle.wxyz, handle.position = quaternion(placed[:, :3]), placed[:, 3]
            for handle, placed in zip(self._surfaces, pose.surfaces, strict=True):
                handle.wxyz, handle.position = quaternion(placed[:, :3]), placed[:, 3]
            self._place_overlays(pose)
        self._say(self.numbers())

    def _say(self, text: str) -> None:
        """Show paragraphs of plain text: names come from files, and viser's Markdown would run what they contain."""
        self._numbers.content = "".join(f"<p>{html.escape(part)}</p>" for part in text.split("\n\n"))

    def _place_overlays(self, pose: Pose) -> None:
        """Move the overlays that are shown around the robot."""
        around = self._around
        if self._torques.visible:
            self._torques.points = around.torque_arrows(pose, self._torque(), self._most_torque())
        if self._weights.visible and len(arrows := around.weight_arrows(pose)):
            self._weights.points = arrows
        if self._felt.visible:
            masses, directions = around.tip_masses(self.q)
            self._felt.wxyz, self._felt.position = quaternion(directions), pose.tip[:, 3]
            self._felt.scale = tuple(np.maximum(around.tip_lengths(masses), 1e-4 * self._scene.reach))
        if self._capsules and self._capsules[0][0].visible:
            for (tube, *balls), ends in zip(self._capsules, around.capsule_ends(self.q), strict=True):
                wxyz, length = along(*ends)
                tube.wxyz, tube.position = wxyz, ends[0]
                tube.scale = (tube.scale[0], tube.scale[1], max(length, SHORT * self._scene.reach))
                for ball, end in zip(balls, ends, strict=True):
                    ball.position = end

    def _torque(self) -> np.ndarray:
        """Return what acts at the joints: the torque of the motion, or what holds the robot still."""
        return np.asarray(self._gravity(self.q)) if self._tau is None else self._tau

    def _most_torque(self) -> np.ndarray:
        """Return the torque (n,) of the longest arrow: the limit of each joint, or the largest known torque of any joint."""
        limits = [j.limits.effort for j in self._robot.driving_joints]
        if all(v is not None for v in limits):
            return np.array([float(v) for v in limits if v is not None])
        known = self._torque() if self._track is None or self._track.tau is None else self._track.tau
        return np.full(self._robot.n, max(float(np.abs(known).max()), 1e-9))

    def numbers(self) -> str:
        """Return the numbers beside the robot: torques, its mass matrix and its condition, masses at the tip, clearance."""
        M = self._mass(self.q)
        torques = ", ".join(f"{v:.3g}" for v in np.round(self._torque(), 9) + 0.0)
        kinds = {joint.prismatic for joint in self._robot.driving_joints}
        unit, inertia = (
            ("N m or N", "kg m² or kg") if len(kinds) > 1 else ("N", "kg") if True in kinds else ("N m", "kg m²")
        )
        lines = [f"τ {'to hold still' if self._tau is None else 'of the motion'}, {unit}: {torques}"]
        diagonal = ", ".join(f"{v:.3g}" for v in np.diag(M))
        lines += [f"M, diagonal, {inertia}: {diagonal}", f"cond(M): {np.linalg.cond(M):.3g}"]
        if self._felt.visible:
            masses = self._around.tip_masses(self.q)[0]
            lines.append(f"mass felt at the tip: {', '.join(f'{v:.3g}' for v in masses[::-1])} kg")
        if self._capsules and self._capsules[0][0].visible:
            lines.append(self._around.nearest(self.q))
        if self._scene.drawn.why:
            lines.append(f"Links are tubes: {self._scene.drawn.why}")
        return "\n\n".join(lines)

    # The controls -------------------------------------------------------------------------------------------------

    def _controls(self) -> None:
        gui, self._sliders = self._server.gui, []
        self._numbers = gui.add_html("")
        with gui.add_folder("Show"):
            self._switch("frames", True, [*self._links, self._tip], "show_axes")
            self._switch("centres of mass", True, [ball for ball, _ in self._marks], "visible")
            self._switch("inertia ellipsoids", False, [shape for _, shape in self._marks], "visible")
            self._switch("torques", False, [self._torques], "visible")
            self._switch("weights", False, [self._weights], "visible")
            self._switch("mass felt at the tip", False, [self._felt], "visible")
            gui.add_checkbox("capsules", False).on_update(lambda event: self._show_capsules(event.target.value))
        if self._track is not None:
            with gui.add_folder("Motion"):
                self._playing = gui.add_checkbox("play", False)
                self._speed = gui.add_slider("speed", 0.1, 4.0, 0.1, 1.0)
                end = float(self._track.time[-1])
                self._clock = gui.add_slider("time, s", 0.0, end, max(end / 1000, 1e-6), 0.0)
                self._clock.on_update(self._sought)
        with gui.add_folder("Joints"):
            for joint in self._robot.driving_joints:
                low = -np.pi if joint.limits.lower is None else float(joint.limits.lower)
                high = np.pi if joint.limits.upper is None else float(joint.limits.upper)
                low, high = min(low, 0.0), max(high, 0.0, low + 1e-3)
                slider = gui.add_slider(joint.name, low, high, (high - low) / 1000, 0.0)
                slider.on_update(self._slid)
                self._sliders.append(slider)

    def _switch(self, label: str, on: bool, handles: list[viser.SceneNodeHandle], attribute: str) -> None:
        """Add a box that shows and hides parts of the scene."""

        def act(shown_now: bool) -> None:
            for handle in handles:
                setattr(handle, attribute, shown_now)

        def acted(event: viser.GuiEvent) -> None:
            with self._lock:
                act(event.target.value)
                self._place()

        act(on)
        self._server.gui.add_checkbox(label, on).on_update(acted)

    def _show_capsules(self, on: bool) -> None:
        """Show the capsules of the links, which are computed when they are first needed."""
        with self._lock:
            keep = self._around.clearance
            if keep is None:
                self._say(f"{self._robot.name} has no collision geometry.\n\n{self.numbers()}")
                return
            if on and not self._capsules:
                add, (vertices, faces) = self._server.scene, unit_tube()
                for k, body in enumerate(keep.space.bodies):
                    tube = add.add_mesh_simple(
                        f"/capsule{k}", vertices, faces, color=CAPSULE, opacity=0.3, scale=(body.r, body.r, 1.0)
                    )
                    balls = (add.add_icosphere(f"/end{k}{e}", body.r, CAPSULE, opacity=0.3) for e in "ab")
                    self._capsules.append((tube, *balls))
            for parts in self._capsules:
                for part in parts:
                    part.visible = on
            self._place()

    # Sliders also call back when this program moves them: such an event comes from no client.

    def _sought(self, event: viser.GuiEvent) -> None:
        if event.client is not None:
            self.seek(event.target.value)

    def _slid(self, event: viser.GuiEvent) -> None:
        if event.client is None:
            return
        with self._lock:
            self.q, self._tau = np.array([s.value for s in self._sliders]), None
            self._place()

    def _play(self) -> None:
        while not self._closed.wait(1 / FRAMES_PER_SECOND):
            if not self._playing.value or self._track is None:
                continue
            started, from_ = time.monotonic(), float(self._clock.value)
            end = float(self._track.time[-1])
            while self._playing.value and not self._closed.wait(1 / FRAMES_PER_SECOND):
                now = from_ + self._speed.value * (time.monotonic() - started)
                self.seek(now % end)

    def __repr__(self) -> str:
        return f"View of {self._robot.name} at {self.url}"


def view(robot: Robot, motion: object = None, *, host: str = "127.0.0.1", port: int = 8080) -> View:
    """Show a robot in three dimensions in a browser, and return the `View` (needs the extra `view`).

    Links are the meshes of the description, or tubes where it has none. Frames, centres of mass, ellipsoids of inertia, torques,
    weights, the mass felt at the tip and capsules can be shown and hidden, joints are moved by sliders, and beside them are the
    torques, the mass matrix and its condition. The page is served from this program, fetches nothing from elsewhere, and answers
    only to itself: other pages in the same browser cannot connect to it.

    Args:
        robot: What to show.
        motion: A `Log`, `Run`, `Trial` or `Excitation` to play; by default none.
        host: Address of this machine to serve the page at; "0.0.0.0" lets other machines see it, under the address or the name of
            this one. Over SSH, forward the port.
        port: Port of the page; the next free one if it is taken.

    Raises:
        TaupiError: Viser is missing, no page can be served at `host`, or the base of the robot moves freely.

    >>> import taupi as tp
    >>> page = tp.view(tp.load("puma560"))  # doctest: +SKIP
    >>> page.show([0.0, 0.7, -0.4, 0.0, 0.5, 0.0])  # doctest: +SKIP
    """
    if not isinstance(robot, Robot):
        raise TaupiError("{robot} is {got!r}, expected a Robot: use taupi.load(...).", got=robot)
    require_bolted(robot, "The view")
    whole_number("port", port, most=LAST_PORT)
    if not isinstance(host, str) or not host.strip():  # an empty one would mean every address of this machine
        raise _not_served(host)
    track = None if motion is None else track_of(motion, robot)
    try:
        import viser
    except ImportError:
        raise TaupiError('The view in three dimensions needs viser: pip install "taupi[view]".') from None
    access = Access(host)

    def serve() -> viser.ViserServer:
        with access.checked():
            return viser.ViserServer(host=host, port=port, label=robot.name, verbose=False)

    server = _served(serve, host)
    if not access.is_checked:
        server.stop()
        raise TaupiError(
            "This version of viser ({version}) cannot be kept from other pages.", version=viser.__version__
        )
    return View(server, robot, track)


def _served(serve: Callable[[], viser.ViserServer], host: str) -> viser.ViserServer:
    """Return the server that `serve` starts; viser waits forever for one that cannot listen on `host`."""
    servers: list[viser.ViserServer] = []

    def start() -> None:
        if _can_listen(host):
            servers.append(serve())

    starting = threading.Thread(target=start, daemon=True)
    starting.start()
    starting.join(PATIENCE)
    if not servers:
        raise _not_served(host)
    return servers[0]


def _can_listen(host: str) -> bool:
    """Return whether a server can listen on some port of `host`."""
    import asyncio

    async def listen() -> None:
        (await asyncio.start_server(lambda *_: None, host, 0)).close()

    try:
        asyncio.run(listen())
    except (OSError, UnicodeError):
        return False
    return True


def _not_served(host: object) -> TaupiError:
    return TaupiError(
        "{host} is {got!r}, where no page can be served; expected an address of this machine.",
        remedy="Use 127.0.0.1, or 0.0.0.0 to let other machines see the page.",
        got=host,
    )
