"""Base parameters against the literature, Pinocchio and FIGAROH: counts, closed-form regrouping, torques that do not move."""

import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import sympy
from support import quiet_urdf

import taupi as tp

SHARED = Path(__file__).parents[3] / "shared" / "data"
DRIVES = ("rotor", "viscous", "coulomb", "offset")
# Torques of two calls of the same algorithm, with parameters that differ by rounding of some units.
SAME_TORQUE = 1e-9


# Counts -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "options", "count"),
    [
        ("so_arm_description/urdf/so101.urdf", {}, 36),
        ("so_arm_description/urdf/so101.urdf", {"snap": False}, 38),
        ("xarm_description/urdf/xarm7.urdf", {}, 43),
        ("ur_description/urdf/ur10_robot.urdf", {}, 36),
        ("kinova_description/robots/kinova.urdf", {}, 36),
        ("panda_description/urdf/panda.urdf", {"lock": ["panda_finger_joint1"]}, 43),
        # torso, arm and head; each wheel would add three
        (
            "tiago_description/robots/tiago_no_hand.urdf",
            {"lock": ["wheel_left_joint", "wheel_right_joint"]},
            52,
        ),
        ("tiago_description/robots/tiago_no_hand.urdf", {}, 58),
        # mounted so that gravity is not along its first axis: 7 n - 4, not 7 n - 6
        ("talos_data/robots/talos_left_arm.urdf", {}, 45),
        ("talos_data/robots/talos_reduced.urdf", {}, 206),
    ],
)
def test_counts_of_files(robots_dir, path, options, count):
    assert tp.base_parameters(quiet_urdf(robots_dir, path, **options)).count == count


@pytest.mark.parametrize(
    ("name", "inertial", "with_drives"), [("puma560", 36, 58), ("ur10", 36, 58), ("panda", 43, 69)]
)
def test_counts_of_the_catalogue(name, inertial, with_drives):
    robot = tp.load(name)
    assert tp.base_parameters(robot).count == inertial
    assert tp.base_parameters(robot, terms=DRIVES).count == with_drives


@pytest.mark.parametrize(
    ("file", "inertial", "with_drives"),
    [("tx40/tx40_mdh.urdf", 36, 58), ("xmate7p/XM7p.urdf", 43, 69), ("tiago/tiago_torso_arm.urdf", 44, 73)],
)
def test_counts_of_recorded_robots(file, inertial, with_drives):
    path = SHARED / file
    if not path.exists():
        pytest.skip(f"{file} is not beside the checkout")
    robot = quiet_urdf(SHARED, file)
    assert tp.base_parameters(robot).count == inertial
    assert tp.base_parameters(robot, terms=DRIVES).count == with_drives


LWR = [("0", 0.3105), ("pi/2", 0), ("-pi/2", 0.4), ("-pi/2", 0), ("pi/2", 0.39), ("pi/2", 0), ("-pi/2", 0)]


def test_count_of_the_kuka_lwr():
    """Gaz, Flacco & De Luca (2014) and Jubien et al. (2014): the LWR's table; 43 as for any such arm on a vertical axis."""
    arm = tp.Robot.from_dh([{"alpha": alpha, "d": d} for alpha, d in LWR], convention="modified")
    assert tp.base_parameters(arm).count == 43
    assert tp.base_parameters(arm, terms=DRIVES).count == 69


@pytest.mark.parametrize("seed", range(30))
def test_count_is_mayedas(seed):
    """Mayeda, Yoshida & Osuka (1990): 7 n - 4 b, less 2 if the first axis is along gravity.

    For turning joints whose neighbours are parallel or perpendicular, b the number of first joints that are parallel.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    twists = [0, *(int(k) for k in rng.integers(-1, 2, n - 1))]
    rows = [
        {"alpha": f"{k}*pi/2", "a": round(float(rng.uniform(0.1, 0.6)), 3), "d": round(float(rng.uniform(-1, 1)), 3)}
        for k in twists
    ]
    cluster = 1
    while cluster < n and twists[cluster] == 0:
        cluster += 1
    upright = bool(rng.integers(2))
    gravity = (0, 0, -9.81) if upright else (0, -9.81, 0) if rng.integers(2) else (1.5, -2, 9.25)
    arm = tp.Robot.from_dh(rows, convention="modified", gravity=gravity)
    assert tp.base_parameters(arm).count == 7 * n - 4 * cluster - 2 * upright


# Closed-form regrouping ---------------------------------------------------------------------------------------------------


def khalil_moves(j, alpha, d, r):
    """What may be moved from link j to link j - 1 without a change of torque, each as {parameter: change}.

    Gautier & Khalil (1990), Khalil & Dombre (2002) eq. 9.37-9.39 for a turning joint of the modified table (alpha, d along x,
    r along z); their XX, ... are our Ixx, ... at the link frame's origin.
    """
    c, s = sympy.cos(alpha), sympy.sin(alpha)
    a, b = f"link{j - 1}", f"link{j}"
    mass = {"Ixx": r**2, "Ixy": d * r * s, "Ixz": -d * r * c, "Iyy": d**2 + r**2 * c**2, "Iyz": r**2 * c * s}
    mass |= {"Izz": d**2 + r**2 * s**2, "mx": d, "my": -r * s, "mz": r * c, "m": 1}
    moment = {"Ixx": 2 * r, "Ixy": d * s, "Ixz": -d * c, "Iyy": 2 * r * c**2, "Iyz": 2 * r * c * s}
    moment |= {"Izz": 2 * r * s**2, "my": -s, "mz": c}
    inertia = {"Ixx": 1, "Iyy": c**2, "Iyz": c * s, "Izz": s**2}
    return [
        {f"{b}.m": 1} | {f"{a}.{k}": -v for k, v in mass.items()},
        {f"{b}.mz": 1} | {f"{a}.{k}": -v for k, v in moment.items()},
        {f"{b}.Iyy": 1, f"{b}.Ixx": 1} | {f"{a}.{k}": -v for k, v in inertia.items()},
    ]


def test_regrouping_is_khalils_closed_form_in_symbols():
    rows = [{"d": "r1"}, {"alpha": "al2", "a": "d2", "d": "r2"}, {"alpha": "al3", "a": "d3", "d": "r3"}]
    arm = tp.Robot.from_dh(rows, convention="modified")
    base = tp.base_parameters(arm)
    assert base.count == 7 * 3 - 4 - 2
    place = base.standard.layout.index
    for j in (2, 3):
        geometry = sympy.symbols(f"al{j} d{j} r{j}")
        for move in khalil_moves(j, *geometry):
            for row in base.B:
                change = sum(row[place(name)] * v for name, v in move.items())
                assert sympy.simplify(sympy.sympify(change)) == 0


@pytest.mark.parametrize("twist", ["0", "pi/2", "-pi/2"])
def test_regrouping_is_khalils_closed_form_in_numbers(twist):
    rows = [{}, {"alpha": "pi/2", "a": 0.2, "d": 0.1}, {"alpha": twist, "a": 0.43, "d": -0.15}]
    base = tp.base_parameters(tp.Robot.from_dh(rows, convention="modified"), terms=("rotor",))
    place = base.standard.layout.index
    angle = {"0": 0, "pi/2": sympy.pi / 2, "-pi/2": -sympy.pi / 2}[twist]
    number = sympy.Rational
    for move in khalil_moves(3, angle, number(43, 100), number(-15, 100)):
        for row in base.B:
            assert sum(sympy.sympify(row[place(name)]) * v for name, v in move.items()) == 0


# Torques of another library -----------------------------------------------------------------------------------------------


def torque(model, pi, q, v, a):
    """Pinocchio's inverse dynamics with other inertial parameters, ours in its order."""
    changed = model.copy()
    for i, ten in enumerate(np.reshape(pi, (-1, 10))):
        changed.inertias[i + 1] = pin.Inertia.FromDynamicParameters(ten)
    return pin.rnea(changed, changed.createData(), q, v, a)


@pytest.mark.parametrize(
    "path", ["ur_description/urdf/ur5_robot.urdf", "xarm_description/urdf/xarm7.urdf", "z1_description/urdf/z1.urdf"]
)
def test_pinocchios_torque_moves_with_base_parameters_alone(robots_dir, path):
    robot = quiet_urdf(robots_dir, path, snap=False)  # so that both mean the same geometry
    model = pin.buildModelFromUrdf(str(robots_dir / path))
    model.armature[:] = 0
    base = tp.base_parameters(robot)
    order = robot.parameters.layout.order("pinocchio")
    # Heavy enough that no change below empties a link: their inertia is about the centre of mass and divides by the mass.
    pi = robot.parameters.values + np.tile([50.0] + [0.0] * 9, robot.n)
    rng = np.random.default_rng(3)
    states = [rng.uniform(-1, 1, (3, robot.n)) for _ in range(4)]
    before = [torque(model, pi[order], *s) for s in states]
    moves = 0
    for k, name in enumerate(base.standard.names):
        step = np.zeros(len(pi))
        step[k] = 1.0
        if k not in base.columns:
            step[list(base.columns)] -= base.projection[:, k]  # what the base parameters hold of it, taken away again
        change = max(
            np.abs(torque(model, (pi + step)[order], *s) - b).max() for s, b in zip(states, before, strict=True)
        )
        if k in base.columns:
            assert change > 1e-4, name
        else:
            moves += 1
            assert change < SAME_TORQUE, name
        if base.classes[name] == "unidentifiable":
            assert np.abs(base.projection[:, k]).max() == 0
    assert moves == len(pi) - base.count


def test_figaroh_finds_the_same_relations(robots_dir):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        qr = pytest.importorskip("figaroh.tools.qrdecomposition")
    robot = quiet_urdf(robots_dir, "xarm_description/urdf/xarm7.urdf")
    base = tp.base_parameters(robot)
    y = tp.regressor(robot).reduced()
    states = np.random.default_rng(0).uniform(-2, 2, (3, 200, robot.n))
    stacked = y(*states).reshape(-1, len(y.parameters))
    decomposition = qr.QRDecomposer().decompose(stacked, list(y.parameters.names), np.zeros(len(stacked)))
    theirs = np.zeros((decomposition.M.shape[0], len(base.standard)))
    theirs[:, list(base.standard.layout.select(y.parameters.names))] = decomposition.M
    assert decomposition.M.shape[0] == base.count
    # Both maps have the same rows up to a change of basis.
    both = np.linalg.svd(np.vstack([theirs, base.projection]), compute_uv=False)
    assert both[base.count - 1] > 1e-3
    assert both[base.count :].max() < 1e-8
