"""The view in three dimensions: what it draws, what it plays, what it refuses, and the page in a real browser."""

import contextlib
import socket
import sys
import threading
from types import SimpleNamespace
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

import numpy as np
import pytest
from browser import chromium, opened, until
from refusals import refused
from scipy.spatial.transform import Rotation
from support import error

import taupi as tp
from taupi.dynamics.orientation import quaternion
from taupi.errors import TaupiError
from taupi.reporting.viewer.scene import Overlays, Scene, along, track_of, unit_tube

ARM = tp.load("puma560")
Q = np.array([0.3, -0.7, 0.5, 0.2, 0.9, -0.4])
LOG = tp.Log(np.array([5.0, 6.0, 7.0]), np.array([[0.0] * 6, [0.1] * 6, [0.4] * 6]), names=ARM.joint_names)


def test_tubes_lead_from_the_base_to_the_tip():
    pose = Scene(ARM).pose(Q)
    tip = tp.forward_kinematics(ARM, "tip")(Q)
    placed = np.asarray(tip[0] if isinstance(tip, tuple) else tip)
    assert error(pose.tip[:, :3], placed[..., :3, :3]) < 1e-12
    steps = np.linalg.norm(pose.tubes[1:, 0] - pose.tubes[:-1, 1], axis=1)
    assert steps.max() < 1e-12 and error(pose.tubes[-1, 1], pose.tip[:, 3]) < 1e-12


def test_ellipsoids_have_the_inertia_of_their_links():
    for k, body in enumerate(Scene(ARM).bodies()):
        pi = ARM.parameters.values[10 * k : 10 * k + 10]
        if body is None:
            assert pi[0] == 0
            continue
        a, b, c = body.lengths**2 * body.mass / 5
        about_com = body.axes @ np.diag([b + c, a + c, a + b]) @ body.axes.T
        shift = body.mass * (body.com @ body.com * np.eye(3) - np.outer(body.com, body.com))
        xx, xy, xz, yy, yz, zz = pi[4:]
        described = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        physical = np.linalg.eigvalsh(np.trace(described - shift) / 2 * np.eye(3) - described + shift).min() >= 0
        assert not physical or error(about_com + shift, described) < 1e-9


def test_turns_by_scipy():
    rotations = Rotation.random(50, random_state=1)
    for R, xyzw in zip(rotations.as_matrix(), rotations.as_quat(canonical=True), strict=True):
        assert error(quaternion(R), xyzw[[3, 0, 1, 2]]) < 1e-12
        wxyz, length = along(np.ones(3), np.ones(3) + 2 * R[:, 0])
        assert length == pytest.approx(2.0)
        assert error(Rotation.from_quat(wxyz[[1, 2, 3, 0]]).apply([0, 0, 1]), R[:, 0]) < 1e-9
    down, _ = along(np.zeros(3), np.array([0.0, 0.0, -1.0]))
    assert error(Rotation.from_quat(down[[1, 2, 3, 0]]).apply([0, 0, 1]), [0, 0, -1]) < 1e-12
    vertices, faces = unit_tube()
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert ((normals * corners.mean(axis=1) * [1, 1, 0]).sum(axis=1) > 0).all()  # outwards


def test_a_track_starts_at_zero_and_is_straight_between_samples():
    track = track_of(LOG, ARM)
    assert track.time.tolist() == [0.0, 1.0, 2.0]
    assert error(track.at(1.5), np.full(6, 0.25)) < 1e-12 and error(track.at(99.0), np.full(6, 0.4)) < 1e-12
    run = tp.simulate(tp.RigidPlant(ARM), duration=0.01, initial=Q)
    assert error(track_of(tp.laws.Trial(run), ARM).q, run.q) == 0


def test_a_track_has_the_torque_of_what_is_played():
    run = tp.simulate(tp.RigidPlant(ARM), duration=0.01, initial=Q)
    assert error(track_of(run, ARM).torque(run.time[3] - run.time[0]), run.tau[3]) < 1e-12
    assert track_of(LOG, ARM).torque(0.0) is None


def test_arrows_of_torques_and_weights():
    around, tau = Overlays(Scene(ARM)), np.array([1.0, -2.0, 0.5, 0.0, 0.1, -0.1])
    pose = around.scene.pose(Q)
    arrows = around.torque_arrows(pose, tau, np.full(6, 2.0))
    J = tp.jacobian(ARM, frame="tip")(Q)
    for k in range(6):  # along the joint's axis, which is the angular part of its column
        along_axis = (arrows[k, 1] - arrows[k, 0]) / (0.25 * around.scene.reach)
        assert error(along_axis, tau[k] / 2 * J[:3, k]) < 1e-9
    weights = around.weight_arrows(pose)
    masses = [b.mass for b in around.scene.bodies() if b is not None]
    fall = weights[:, 1] - weights[:, 0]
    assert error(fall[:, :2], np.zeros((len(masses), 2))) < 1e-12 and (fall[:, 2] < 0).all()
    assert error(fall[:, 2] / fall[:, 2].min(), np.array(masses) / max(masses)) < 1e-12


def test_the_mass_felt_at_the_tip_is_that_of_the_task():
    around = Overlays(Scene(ARM))
    masses, directions = around.tip_masses(Q)
    ellipses = tp.operational.mass_ellipses(ARM, Q, task="position")
    assert error(directions @ np.diag(masses) @ directions.T, ellipses.matrices[0]) < 1e-9 * masses.max()
    straight, _ = Overlays(Scene(tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1))).tip_masses(np.zeros(2))
    assert np.isinf(straight[:2]).all()  # neither along the arm nor out of its plane
    assert around.tip_lengths(straight).max() <= 0.25 * around.scene.reach


def test_a_tip_without_mass_yields_to_a_force():
    """A joint that moves nothing with mass, and a description without masses: M is singular there."""
    slide = tp.Robot.from_dh(
        [{"a": 1.0}, {"joint": "prismatic", "alpha": "pi/2"}],
        links=[
            {"m": 2.0, "com": (0, 0, 0), "inertia": np.eye(3)},
            {"m": 0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))},
        ],
    )
    around = Overlays(Scene(slide))
    masses, _ = around.tip_masses(np.array([0.3, 0.2]))
    assert 0 <= masses.min() < 1e-9 and np.isfinite(around.tip_lengths(masses)).all()
    none = Overlays(Scene(tp.Robot.from_dh([{"a": 1.0}])))
    assert not none.tip_masses(np.zeros(1))[0].any() and not none.tip_lengths(none.tip_masses(np.zeros(1))[0]).any()


def test_capsules_are_where_clearance_has_them():
    panda = tp.load("panda")
    around, q = Overlays(Scene(panda)), np.array([0.1, -0.5, 0.2, -2.0, 0.0, 1.6, 0.8])
    keep = around.clearance
    assert around.capsule_ends(q).shape == (len(panda.capsules), 2, 3)
    distances = keep.distances(q)
    assert around.nearest(q) == f"nearest: {keep.pairs[distances.argmin()]}, {1000 * distances.min():.0f} mm"
    assert Overlays(Scene(ARM)).clearance is None


def test_what_it_refuses(monkeypatch):
    with pytest.raises(TaupiError, match="expected a Robot"):
        tp.view("puma560")
    with pytest.raises(TaupiError, match="expected a Log, a Run, a Trial or an Excitation"):
        tp.view(ARM, 3)
    with refused("motion", shape=6, robot="elbow2r", n=2):
        tp.view(tp.load("elbow2r"), LOG)
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(TaupiError, match=r"needs viser: pip install \"taupi\[view\]\""):
        tp.view(ARM)


def test_where_it_is_served(monkeypatch):
    for port in (0, 65536, "8080"):
        with refused("port", expected="from 1 to 65535"):
            tp.view(ARM, port=port)
    never = threading.Event()  # what viser waits for if it cannot listen on the host
    monkeypatch.setitem(sys.modules, "viser", SimpleNamespace(ViserServer=lambda **where: never.wait()))
    monkeypatch.setattr("taupi.reporting.viewer.view.PATIENCE", 0.1)
    for host in ("", " ", None, "8.8.8.8"):
        with pytest.raises(TaupiError, match=r"^host is .*, where no page can be served; expected an address of this"):
            tp.view(ARM, host=host)
    never.set()


def switch_on(page, box, is_on):
    """Click a checkbox until the view knows it: a page that is still being set up takes back what was clicked."""
    from playwright.sync_api import TimeoutError, expect

    def switched():
        if not is_on() and not box.is_checked():
            box.click(force=True)
            with contextlib.suppress(AssertionError, TimeoutError):
                expect(box).to_be_checked(timeout=10_000)
        return is_on()

    assert until(page, switched), "the checkbox stays off"


def test_the_page_in_a_browser():
    pytest.importorskip("viser", reason="the extra view is not installed")
    with chromium() as browser:
        view = tp.view(ARM, LOG, port=8391)
        try:
            page, mistakes, fetched = opened(browser, view.url)
            page.get_by_text("cond(M)").wait_for()
            view.seek(1.5)
            want = f"cond(M): {np.linalg.cond(tp.mass_matrix(ARM)(np.full(6, 0.25))):.3g}"
            page.get_by_text(want).wait_for()
            parts = {"torques": view._torques, "weights": view._weights, "mass felt at the tip": view._felt}
            for name, part in parts.items():
                switch_on(page, page.get_by_role("checkbox", name=name), lambda part=part: part.visible)
            masses = Overlays(Scene(ARM)).tip_masses(np.full(6, 0.25))[0][::-1]
            page.get_by_text(f"mass felt at the tip: {', '.join(f'{v:.3g}' for v in masses)} kg").wait_for()
            switch_on(page, page.get_by_label("play"), lambda: view._playing.value)
            assert until(page, lambda: not np.allclose(view.q, 0.25))
            assert not mistakes and all(url.startswith((view.url, "data:", "blob:")) for url in fetched)
            with refused("q", expected=6):
                view.show([1.0, 2.0])
        finally:
            view.close()


# Names that would be code, and other pages -------------------------------------------------------------------------------

SCRIPT = "<iframe srcdoc=\"<script>parent.document.title='EVIL'</script>\"></iframe><img src=x onerror=\"document.title='EVIL'\">"
HOSTILE = (SCRIPT, "{document.title='EVIL'}", "![](http://127.0.0.1:9/EVIL) [x](javascript:document.title='EVIL')")


def hostile_urdf(tmp_path, missing_mesh):
    """An arm whose robot, links, joints and mesh have names that browsers and Markdown would run."""
    name = [escape(text, {'"': "&quot;"}) for text in HOSTILE]
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    ball = "<collision><origin xyz='{} 0 0'/><geometry><sphere radius='0.1'/></geometry></collision>"
    mesh = f'<visual><geometry><mesh filename="{name[0]}.stl"/></geometry></visual>' if missing_mesh else ""
    links = [f'<link name="b{name[k]}{k}">{body}{ball.format(k)}{mesh}</link>' for k in range(3)]
    joints = [
        f'<joint name="{name[k + 1]}{k}" type="continuous"><parent link="b{name[k]}{k}"/><child link="b{name[k + 1]}{k + 1}"/>'
        '<origin xyz="2 0 0"/><axis xyz="0 0 1"/></joint>'
        for k in range(2)
    ]
    path = tmp_path / "arm.urdf"
    path.write_text(f'<robot name="{name[0]}">{"".join(links + joints)}</robot>', encoding="utf-8")
    return path


@pytest.mark.parametrize("missing_mesh", [True, False])
def test_a_browser_shows_hostile_names_as_text(tmp_path, missing_mesh):
    pytest.importorskip("viser", reason="the extra view is not installed")
    arm = tp.load(hostile_urdf(tmp_path, missing_mesh))
    with chromium() as browser:
        view = tp.view(arm, port=8395)
        try:
            page, mistakes, fetched = opened(browser, view.url)
            page.get_by_text("cond(M)").wait_for()
            switch_on(page, page.get_by_role("checkbox", name="capsules"), lambda: view._capsules)
            shown = "Links are tubes" if missing_mesh else "nearest: "
            page.get_by_text(shown).wait_for()
            page.wait_for_timeout(500)
            assert until(page, lambda: "<iframe srcdoc=" in page.get_by_text(shown).inner_text())
            assert (
                page.title() != "EVIL" and not page.locator("iframe").count() and not page.locator("img[src=x]").count()
            )
            assert not mistakes and all(url.startswith((view.url, "data:", "blob:")) for url in fetched)
        finally:
            view.close()


def answer_to(view, path="/", **headers):
    """The status line and the headers of what a view answers to a request."""
    where = urlsplit(view.url)
    with socket.create_connection((where.hostname, where.port), timeout=300) as line:
        lines = "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in headers.items())
        line.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        head = iter(line.makefile("rb").readline, b"\r\n")  # up to the empty line
        return "".join(part.decode() for part in head if part)


UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Protocol": "viser-v0",
}


def test_only_its_own_page_can_talk_to_it():
    pytest.importorskip("viser", reason="the extra view is not installed")
    view = tp.view(tp.load("elbow2r"), port=8399)
    try:
        own = urlsplit(view.url).netloc
        page = answer_to(view, Host=own)
        assert page.startswith("HTTP/1.1 200") and "Content-Security-Policy: default-src 'self'" in page
        for host in ("localhost:9000", "[::1]:8080", "127.0.0.1"):
            assert answer_to(view, Host=host).startswith("HTTP/1.1 200"), host
        for host in ("evil.example", "localhost.evil.example:8399", "127.0.0.1.evil.example", "", "a:b:c", "[::1"):
            assert answer_to(view, Host=host).split()[1] in ("400", "403"), host
        assert answer_to(view, Host=own, Origin=f"http://{own}", **UPGRADE).startswith("HTTP/1.1 101")
        assert answer_to(view, Host=own, **UPGRADE).startswith("HTTP/1.1 101")  # no browser
        for origin in (
            "http://evil.example",
            "null",
            f"http://{own}.evil.example",
            "http://localhost:1",
            f"file://{own}",
        ):
            assert answer_to(view, Host=own, Origin=origin, **UPGRADE).startswith("HTTP/1.1 403"), origin
        assert answer_to(view, Host="evil.example", Origin="http://evil.example", **UPGRADE).startswith("HTTP/1.1 403")
    finally:
        view.close()


def test_a_viser_that_cannot_be_checked_is_refused(monkeypatch):
    stopped = []
    server = SimpleNamespace(stop=lambda: stopped.append(True))
    fake = SimpleNamespace(ViserServer=lambda **where: server, __version__="9")
    monkeypatch.setitem(sys.modules, "viser", fake)
    with pytest.raises(TaupiError, match="cannot be kept from other pages"):
        tp.view(ARM)
    assert stopped
