"""One step of a robot that is driven by commands: against equations written here, fine steps, and differences."""

from __future__ import annotations

import numpy as np
import pytest
from two_legs import two_legs

import taupi as tp
from taupi.dynamics import driven_rollout
from taupi.dynamics.driven import EFFORTS, STEP_DEFAULTS, StepValues
from taupi.dynamics.driven_rollout import Commands, DrivenRobot, Steps
from taupi.errors import TaupiError

ARM = tp.load("elbow2r")
VALUES = StepValues(ARM)


def numbers(**kinds: object) -> np.ndarray:
    """Return the numbers of a step of the arm, with some kinds of values."""
    theta = np.zeros(VALUES.size)
    for name, value in {**STEP_DEFAULTS, "kp": (60.0, 40.0), "kd": (2.0, 1.0), **kinds}.items():
        theta[VALUES.delay if name == "delay" else VALUES.joints(name)] = value
    theta[VALUES.bodies] = ARM.parameters.values
    return theta


def chirp(seconds: float = 3.0, rate: float = 200.0, linear: bool = False) -> Commands:
    """Return commands that become faster."""
    t = np.arange(round(seconds * rate)) / rate
    wanted = np.stack(
        [0.4 * np.sin(2 * np.pi * (0.3 * t + 0.5 * t**2)), 0.3 * np.cos(2 * np.pi * (0.5 * t + 0.4 * t**2))], axis=1
    )
    zero = np.zeros_like(wanted)
    return Commands(t, wanted, zero, zero, zero + 1, zero, linear)


def dynamics(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return M and C v + g of the arm."""
    return tp.mass_matrix(ARM)(q), tp.inverse_dynamics(ARM)(q, v, np.zeros(2))


def fine(theta: np.ndarray, commands: Commands, q: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
    """Return the motion by semi-implicit Euler, friction solved joint after joint: written without taupi's step."""

    def value(kind: str) -> np.ndarray:
        return theta[VALUES.joints(kind)]

    result, delay = [q], theta[VALUES.delay]
    for start, stop in zip(commands.time[:-1], commands.time[1:], strict=True):
        for k in range(round((stop - start) / h)):
            row = int(
                np.clip(
                    np.searchsorted(commands.time, start + (k + 0.5) * h - delay, side="right") - 1,
                    0,
                    len(commands.time) - 1,
                )
            )
            mass, bias = dynamics(q, v)
            bend = q - value("centre")
            tau = np.clip(value("kp") * (commands.position[row] - q) - value("kd") * v, -value("limit"), value("limit"))
            push = tau - bias - value("viscous") * v - value("spring") * bend - value("offset")
            dry = value("coulomb") + value("coulomb_slope") * bend + value("load") * np.abs(tau)
            inertia = mass + np.diag(value("rotor"))
            new = v.copy()
            for _ in range(50):  # Gauss-Seidel over joints: each sticks, or slides against its friction
                before = new.copy()
                for j in range(2):
                    rest = inertia[j] @ v + h * push[j] - sum(inertia[j, i] * new[i] for i in range(2) if i != j)
                    new[j] = np.sign(rest) * max(abs(rest) - h * dry[j], 0) / inertia[j, j]
                if np.abs(new - before).max() < 1e-14:
                    break
            q, v = q + h * new, new
        result.append(q)
    return np.array(result)


STEPS = (5e-3, 1e-3)  # s
FRICTION = {"rotor": (0.3, 0.2), "viscous": (1.0, 0.6), "coulomb": (1.5, 0.8), "offset": (0.4, -0.3), "delay": 0.012}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"spring": (2.0, -1.0), "coulomb_slope": (0.8, 0.5), "centre": (0.1, 0.0), "load": (0.1, 0.2)},
        {"limit": (9.0, 4.0)},
    ],
    ids=["friction", "position", "limits"],
)
def test_the_step_agrees_with_fine_steps_of_another_rule(more: dict[str, object]) -> None:
    theta, commands = numbers(**FRICTION, **more), chirp(0.8)
    start = np.array([0.05, 0.2]), np.array([0.3, -0.1])
    reference = fine(theta, commands, *start, 1e-4)
    driven = DrivenRobot(ARM, limited="limit" in more)
    motions = {h: driven.roll(theta, commands, *start, h) for h in (5e-3, 1e-3, 1e-4)}
    assert all(motion.unsolved == 0 for motion in motions.values())
    assert np.ptp(reference, axis=0).min() > 0.1
    # Euler's own error at 0.1 ms is 1.5e-4; ours is ten times less there, and grows with the step.
    assert np.abs(motions[1e-4].q - reference).max() < 2.5e-4
    assert np.abs(motions[1e-3].q - motions[1e-4].q).max() < 6e-4
    assert np.abs(motions[5e-3].q - motions[1e-4].q).max() < 3e-3


@pytest.mark.parametrize(
    "more",
    [{}, {"load": (0.1, 0.2)}, {"stribeck": (5.0, 3.0), "stribeck_velocity": 0.3}],
    ids=["dry", "load", "stribeck"],
)
def test_errors_fall_with_the_square_of_the_step(more: dict[str, object]) -> None:
    """Also where joints turn back against their friction: there, most rules for friction are of the first order."""
    theta, commands = (
        numbers(**{**FRICTION, "kp": (1200.0, 600.0), "kd": (60.0, 25.0), **more}),
        chirp(2.0, linear=True),
    )
    start = commands.position[0], np.zeros(2)
    fine = DrivenRobot(ARM).roll(theta, commands, *start, 5e-5).q
    error = [float(np.sqrt(np.mean((DrivenRobot(ARM).roll(theta, commands, *start, h).q - fine) ** 2))) for h in STEPS]
    order = np.log(error[0] / error[-1]) / np.log(STEPS[0] / STEPS[-1])
    assert 1.7 < order < 2.5


@pytest.mark.parametrize("law", EFFORTS)
@pytest.mark.parametrize("limited", [False, True])
def test_sensitivities_are_differences(law: str, limited: bool) -> None:
    more = {"torque_per_volt": (0.5, 0.4), "braking": (0.3, 0.2), "load_external": (0.05, 0.1)} if law == "duty" else {}
    theta = numbers(**FRICTION, load=(0.05, 0.1), stribeck=(0.3, 0.2), encoder=(0.02, -0.03), limit=(9.0, 5.0), **more)
    commands = chirp(1.0)
    commands = Commands(
        commands.time,
        commands.position,
        commands.velocity,
        commands.torque,
        commands.enabled,
        commands.position * 0 + 24,
    )
    driven = DrivenRobot(ARM, law, limited, 250.0 if law == "pd_host" else None)
    kinds = [
        "rotor",
        "viscous",
        "coulomb",
        "offset",
        "spring",
        "coulomb_slope",
        "load",
        "stribeck",
        "encoder",
        "kp",
        "kd",
        "limit",
    ]
    places = [VALUES.joints(kind).start + j for kind in kinds for j in range(2)] + [
        VALUES.delay,
        VALUES.bodies.start + 11,
    ]
    directions = np.zeros((len(places), VALUES.size))
    directions[np.arange(len(places)), places] = 1.0
    start = np.array([0.05, 0.2]), np.array([0.3, -0.1])
    q, slope = driven.sensitivities(theta, directions, commands, *start, 2e-3)
    assert np.abs(q - driven.roll(theta, commands, *start, 2e-3).q).max() < 1e-12
    for k, direction in enumerate(directions):
        step = 1e-6 * direction
        up, down = (driven.roll(theta + s, commands, *start, 2e-3).q for s in (step, -step))
        difference = (up - down) / 2e-6
        # A joint may begin to slide between the two: a few steps apart, not everywhere.
        wrong = np.abs(difference - slope[:, :, k]) > 1e-5 * (np.abs(slope[:, :, k]).max() + 1e-3)
        assert wrong.mean() < 0.02, (law, places[k])


def test_a_joint_below_its_friction_stays_where_it_is_and_knows_it() -> None:
    theta, commands = numbers(rotor=0.2, coulomb=(1e3, 0.5), viscous=0.5), chirp(1.0)
    directions = np.zeros((2, VALUES.size))
    directions[0, VALUES.joints("coulomb").start] = directions[1, VALUES.joints("viscous").start] = 1.0
    q, slope = DrivenRobot(ARM).sensitivities(theta, directions, commands, np.array([0.3, 0.0]), np.zeros(2))
    assert (q[:, 0] == 0.3).all()
    assert (slope == 0).all()
    assert np.ptp(q[:, 1]) > 0.05


def test_power_that_goes_in_is_stored_or_lost() -> None:
    """Without drive and friction, energy is kept: an oracle that shares no equation with the step."""
    theta, commands = numbers(kp=(0.0, 0.0), kd=(0.0, 0.0)), chirp(1.0, 1000.0)
    motion = DrivenRobot(ARM).roll(theta, commands, np.array([0.5, -0.4]), np.zeros(2), 1e-4)
    mass = tp.mass_matrix(ARM)(motion.q)
    kinetic = 0.5 * np.einsum("ti,tij,tj->t", motion.qd, mass, motion.qd)
    gravity = tp.gravity_torque(ARM)(motion.q)
    work = np.concatenate(
        [[0], np.cumsum(0.5 * (gravity[1:] + gravity[:-1]) * np.diff(motion.q, axis=0)).reshape(-1, 2)[:, 1]]
    )
    assert kinetic.max() > 1
    assert np.abs(kinetic + work).max() < 2e-3 * kinetic.max()


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("delay", [-0.0137, 0.0, 0.0042, 0.31])
def test_commands_are_averaged_over_a_step_and_continuous_in_the_delay(linear: bool, delay: float) -> None:
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.003, 0.008, 60))  # jittered
    wanted = rng.normal(size=(60, 2))
    zero = np.zeros_like(wanted)
    commands = Commands(t, wanted, zero, zero, zero + 1, zero, linear)
    edges = np.linspace(t[3] + 1e-4, t[50] - 1e-4, 40)  # where no edge is at a kink
    mean, slope = commands.means(edges, delay)
    dense = np.linspace(0, 1, 4001)
    dense = (dense[1:] + dense[:-1]) / 2
    for k in (0, 7, 39 - 1):
        late = edges[k] + dense * (edges[k + 1] - edges[k]) - delay
        if linear:
            held = np.stack([np.interp(late, t, w) for w in wanted.T], axis=1)
        else:
            held = wanted[np.clip(np.searchsorted(t, late, side="right") - 1, 0, 59)]
        assert np.abs(held.mean(axis=0) - mean[k, :2]).max() < 2e-3
    up, down = (commands.means(edges, delay + d)[0] for d in (1e-7, -1e-7))
    assert np.abs((up - down) / 2e-7 - slope).max() < 1e-3 * (np.abs(slope).max() + 1)


def test_a_host_sees_positions_at_its_own_rate() -> None:
    theta, commands = numbers(rotor=0.3, viscous=1.0), chirp(1.0)
    steps = Steps.of(commands.time, 1e-3, 100.0)
    assert steps.tick.mean() == pytest.approx(0.1, abs=0.01)
    start = np.zeros(2), np.zeros(2)
    slow, fast = (DrivenRobot(ARM, "pd_host", rate_hz=rate).roll(theta, commands, *start).q for rate in (50.0, 1000.0))
    inside = DrivenRobot(ARM).roll(theta, commands, *start).q
    assert np.abs(fast - inside).max() < 0.1 * np.abs(slow - inside).max()


def test_what_cannot_be_driven_is_refused() -> None:
    with pytest.raises(TaupiError, match="duty"):
        DrivenRobot(ARM, "dutiful").program()
    with pytest.raises(TaupiError, match="springs"):
        DrivenRobot(ARM.with_transmissions(stiffness=[300.0, None], rotor_inertia=0.01)).program()


def test_legs_on_a_stand_are_simulated_as_the_whole_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branch by branch or at once: the same motion, and the same sensitivities."""
    robot = two_legs()
    values, rng = StepValues(robot), np.random.default_rng(0)
    theta = np.zeros(values.size)
    kinds = {**STEP_DEFAULTS, "kp": (60, 70, 40, 50), "kd": 2.0, "coulomb": (1.5, 1.0, 0.8, 0.5), "rotor": 0.2}
    for name, value in {**kinds, "offset": (0.4, -0.3, 0.2, 0.1), "limit": 9.0}.items():
        theta[values.joints(name)] = value
    theta[values.bodies], theta[values.delay] = robot.parameters.values, 0.012
    one = chirp(1.0)
    sent = np.hstack([one.position, -one.position])
    zero = np.zeros_like(sent)
    commands = Commands(one.time, sent, zero, zero, zero + 1, zero)
    directions = rng.normal(size=(7, values.size))
    directions[:2] = 0.0  # one that nothing moves by, and one that only one leg feels
    directions[1, values.joints("offset").start] = 1.0
    driven = DrivenRobot(robot, "pd", True)
    start = sent[0], np.zeros(4)
    apart, slopes = driven.roll(theta, commands, *start), driven.sensitivities(theta, directions, commands, *start)
    monkeypatch.setattr(driven_rollout, "_parts", lambda driven: ())
    whole, all_slopes = driven.roll(theta, commands, *start), driven.sensitivities(theta, directions, commands, *start)
    for name in ("q", "qd", "tau"):
        np.testing.assert_allclose(getattr(apart, name), getattr(whole, name), atol=1e-10)
    np.testing.assert_allclose(slopes[0], all_slopes[0], atol=1e-10)
    np.testing.assert_allclose(slopes[1], all_slopes[1], atol=1e-8 * np.abs(all_slopes[1]).max())
    assert np.abs(slopes[1][:, [1, 3], 1]).max() == 0
