"""The verb `view`: a robot in three dimensions, in a browser, with sliders for its joints and a play bar for a motion."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from taupi.checks import whole_number
from taupi.dynamics.imu_form import require_bolted
from taupi.dynamics.inverse import gravity_torque
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.errors import Argument, TaupiError, shown
from taupi.model.robot import Robot
from taupi.reporting.viewer.motion import Track, track_of
from taupi.reporting.viewer.scene import SHORT, TUBE, Scene, along, quaternion, unit_tube

LINK, JOINT, MASS, BODY = (70, 100, 135), (224, 138, 46), (194, 55, 75), (47, 143, 62)
FRAMES_PER_SECOND = 30


class View:
    """A page that shows a robot, as `taupi.view` returns it; it is there until `close`, or the end of the program.

    `url` is its address. `q` is what is shown; `show(q)` moves the robot, `seek(t)` the motion. `server` is viser's, `robot`
    what it shows, and `track` what is played, None for nothing.
    """

    def __init__(self, server: Any, robot: Robot, track: Track | None) -> None:
        self._server, self._robot, self._track = server, robot, track
        self._scene = Scene(robot)
        self._lock, self._closed = threading.RLock(), threading.Event()
        self._gravity, self._mass = (f(robot).compile("numpy") for f in (gravity_torque, mass_matrix))
        self.q = np.zeros(robot.n)
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

    def show(self, q: Any) -> None:
        """Show the robot at `q`, (n,) in rad or m."""
        try:
            array = np.asarray(q, dtype=float)
        except (TypeError, ValueError):
            array = np.zeros(0)
        if array.shape != (self._robot.n,) or not np.isfinite(array).all():
            raise TaupiError(Argument("q"), f" is {shown(q)}, expected {self._robot.n} finite numbers.")
        with self._lock:
            self.q = array
            self._place()
            for slider, value in zip(self._sliders, array, strict=True):
                slider.value = float(np.clip(value, slider.min, slider.max))

    def seek(self, t: float) -> None:
        """Show the motion at time `t`, s from its beginning."""
        if self._track is None:
            raise TaupiError("This view has no motion: give one, as in taupi.view(robot, run).")
        with self._lock:
            self.show(self._track.at(float(t)))
            self._clock.value = float(np.clip(t, 0.0, self._track.time[-1]))

    def wait(self) -> None:
        """Return when the view is closed, or when the program is interrupted."""
        try:
            while not self._closed.wait(0.2):
                pass
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Take the page down."""
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
        count = len(self._scene.pose(self.q).tubes)
        self._tubes = [add.add_mesh_simple(f"/tube{k}", vertices, faces, color=LINK) for k in range(count)]
        self._links, self._marks = [], []
        for k, body in enumerate(self._scene.bodies()):  # names of links are not paths: numbers are
            self._links.append(add.add_frame(f"/link{k}", axes_length=6 * radius, axes_radius=radius / 5))
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

    def _place(self) -> None:
        pose, radius = self._scene.pose(self.q), TUBE * self._scene.reach
        with self._server.atomic():
            for handle, (start, stop) in zip(self._tubes, pose.tubes, strict=True):
                wxyz, length = along(start, stop)
                handle.wxyz, handle.position = wxyz, start
                handle.scale = (radius, radius, max(length, SHORT * self._scene.reach))
                handle.visible = length > SHORT * self._scene.reach
            for handle, placed in zip((*self._links, self._tip), (*pose.links, pose.tip), strict=True):
                handle.wxyz, handle.position = quaternion(placed[:, :3]), placed[:, 3]
        self._numbers.content = self.numbers()

    def numbers(self) -> str:
        """Return what is told beside the robot: the torque that holds it still, and the condition of its mass matrix."""
        g, M = self._gravity(self.q), self._mass(self.q)
        torques = ", ".join(f"{v:.3g}" for v in np.round(g, 9) + 0.0)
        return f"τ to hold still: {torques}\n\ncond(M): {np.linalg.cond(M):.3g}"

    # The controls -------------------------------------------------------------------------------------------------

    def _controls(self) -> None:
        gui, self._sliders = self._server.gui, []
        self._numbers = gui.add_markdown("")
        with gui.add_folder("Show"):
            self._switch("frames", True, [*self._links, self._tip], "show_axes")
            self._switch("centres of mass", True, [ball for ball, _ in self._marks], "visible")
            self._switch("inertia ellipsoids", False, [shape for _, shape in self._marks], "visible")
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

    def _switch(self, label: str, on: bool, handles: list[Any], attribute: str) -> None:
        """Add a box that shows and hides parts of the scene."""

        def act(shown_now: bool) -> None:
            for handle in handles:
                setattr(handle, attribute, shown_now)

        act(on)
        self._server.gui.add_checkbox(label, on).on_update(lambda event: act(event.target.value))

    # Sliders also call back when this program moves them: such an event comes from no client.

    def _sought(self, event: Any) -> None:
        if event.client is not None:
            self.seek(event.target.value)

    def _slid(self, event: Any) -> None:
        if event.client is None:
            return
        with self._lock:
            self.q = np.array([s.value for s in self._sliders])
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


def view(robot: Robot, motion: Any = None, *, host: str = "127.0.0.1", port: int = 8080) -> View:
    """Show a `robot` in three dimensions in a browser, and return the `View` (needs the extra `view`).

    Links are tubes; frames, centres of mass and ellipsoids of inertia can be shown and hidden, joints are moved by sliders, and
    beside them is the torque that holds the robot still and the condition of its mass matrix. `motion` is a Log, a Run, a Trial
    or an Excitation to play. The page is served from this program at `host` and `port` (the next free one where it is taken)
    and fetches nothing from elsewhere; over SSH, forward the port. `host="0.0.0.0"` lets other machines see it.

    >>> import taupi as tp
    >>> page = tp.view(tp.load("puma560"))  # doctest: +SKIP
    >>> page.show([0.0, 0.7, -0.4, 0.0, 0.5, 0.0])  # doctest: +SKIP
    """
    if not isinstance(robot, Robot):
        raise TaupiError(Argument("robot"), f" is {shown(robot)}, expected a Robot: use taupi.load(...).")
    require_bolted(robot, "The view")
    whole_number("port", port)
    track = None if motion is None else track_of(motion, robot)
    try:
        import viser
    except ImportError:
        raise TaupiError('The view in three dimensions needs viser: pip install "taupi[view]".') from None
    server = viser.ViserServer(host=host, port=port, label=robot.name, verbose=False)
    return View(server, robot, track)
