"""The region of parameters that real bodies can have, and least squares in it, from arrays alone."""

import numpy as np
import problems
import pytest
from problems import cloud
from scipy.optimize import least_squares

import taupi as tp
from taupi.errors import TaupiError
from taupi.identification.physical.cones import deepest_point, least_squares_in_cone, packed, unpacked
from taupi.identification.physical.link_bounds import Box, Ellipsoid, Hull
from taupi.identification.physical.region import (
    EDGE,
    consistent_region,
    inconsistencies,
    is_consistent,
    pseudo_inertia_map,
)
from taupi.identification.physical.standard_parameters import (
    SHARE,
    constrained_least_squares,
    exact_solution,
    rows_from_covariance,
    standard_parameters,
)
from taupi.model.parameters import Parameters
from taupi.model.scalars import exact

# How near the other road comes to the minimum: Gauss-Newton on factors of P slows down where P is singular.
SAME = 1e-3
FRICTION = ("viscous", "coulomb")


def measured(name, noise, seed=0, samples=200, sign=1.0, truth=None, terms=FRICTION):
    """Return base parameters, the triangle of [Y_b tau], Y_b and the torque without noise."""
    rng = np.random.default_rng(seed)
    robot = tp.load(name)
    base = tp.base_parameters(robot, terms=terms)
    pi = base.standard.values.copy() if truth is None else truth
    pi[len(robot.parameters) :] = 0.5
    y = base.regressor()(*rng.normal(size=(3, samples, robot.n))).reshape(-1, base.count)
    tau = y @ (base.projection @ pi)
    seen = sign * tau + noise * np.std(tau) * rng.normal(size=tau.shape)
    return base, np.linalg.qr(np.column_stack([y, seen]), mode="r"), y, tau


def region_of(base, prior=None, **limits):
    return consistent_region(base.robot, base.standard, base.standard.values if prior is None else prior, **limits)


def solve(base, triangle, here, share=SHARE):
    a, z = triangle[:, :-1] @ (base.projection * here.scale), triangle[:, -1]
    rest = float(np.sum((triangle[:, :-1] @ np.linalg.lstsq(triangle[:, :-1], z, rcond=None)[0] - z) ** 2))
    u = np.linalg.svd(triangle[:, :-1], full_matrices=False)[0]
    return constrained_least_squares(here, a, u @ (u.T @ z), rest, share), rest


def named(base, pi):
    return Parameters(base.standard.layout, tuple(exact(float(v)) for v in pi))


def assert_real(base, pi):
    assert is_consistent(named(base, pi))
    problems.assert_real(pi, len(base.robot.links))
    assert (pi[len(base.robot.parameters) :] >= 0).all()


# One link -------------------------------------------------------------------------------------------------------------


def test_the_pseudo_inertia_is_the_second_moment_of_the_mass():
    rng = np.random.default_rng(1)
    for _ in range(5):
        m, x, ten = cloud(rng)
        ones = np.column_stack([x, np.ones(len(x))])
        assert np.allclose(unpacked(pseudo_inertia_map() @ ten), ones.T @ (m[:, None] * ones), atol=1e-12)


def test_packing_keeps_the_inner_product():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 4, 4))
    a, b = a + a.T, b + b.T
    assert np.isclose(packed(a) @ packed(b), np.trace(a @ b))
    assert np.allclose(unpacked(packed(a)), a)


def test_what_is_wrong_is_named():
    base = tp.base_parameters(tp.load("ur10"), terms=(*FRICTION, "rotor", "stribeck"))
    pi = base.standard.values.copy()
    assert not inconsistencies(named(base, pi))
    pi[10], pi[base.standard.layout.index("elbow_joint.viscous")] = -1.0, -0.5
    faults = inconsistencies(named(base, pi))
    assert len(faults) == 2 and "upper_arm" in faults[0] and faults[1].startswith("elbow_joint.viscous is -0.5")
    pi = base.standard.values.copy()
    pi[base.standard.layout.index("elbow_joint.coulomb")] = 2.0
    pi[base.standard.layout.index("elbow_joint.stribeck")] = -1.0
    assert is_consistent(named(base, pi)), "dry friction may fall, but not below zero"
    pi[base.standard.layout.index("elbow_joint.stribeck")] = -3.0
    assert "coulomb + elbow_joint.stribeck" in inconsistencies(named(base, pi))[0]


# Shapes ---------------------------------------------------------------------------------------------------------------

CORNERS = tuple((x, y, z) for x in (-0.1, 0.5) for y in (0.0, 0.2) for z in (-0.3, 0.3))
SHAPES = {
    "box": Box((-0.1, 0.0, -0.3), (0.5, 0.2, 0.3)),
    "hull": Hull(CORNERS),
    "ellipsoid": Ellipsoid((0.2, 0.1, 0.0), (0.6, 0.3, 0.6)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_bodies_inside_a_shape_satisfy_it_and_bodies_outside_do_not(name):
    rng = np.random.default_rng(3)
    shape = SHAPES[name]
    values = lambda ten: [packed(q) @ (pseudo_inertia_map() @ ten) for q in shape.quadrics()]  # noqa: E731
    for _ in range(20):
        m = rng.uniform(0.1, 1.0, 8)
        x = rng.uniform((-0.1, 0.0, -0.3), (0.5, 0.2, 0.3), (8, 3))
        inertia = sum(w * (p @ p * np.eye(3) - np.outer(p, p)) for w, p in zip(m, x, strict=True))
        assert min(values(np.array([m.sum(), *(m @ x), *inertia[np.triu_indices(3)]]))) >= -1e-12
    beside = cloud(rng, size=0.05, centre=(0.0, 0.8, 0.0))[2]
    assert min(values(beside)) < -1e-3, "its centre is outside"
    wide = cloud(rng, count=60, size=1.0, centre=(0.2, 0.1, 0.0))[2]
    assert min(values(wide)) < -1e-3, "its centre is inside but it reaches out"


def test_a_box_and_the_hull_of_its_corners_say_the_same():
    box, hull = (sorted(packed(q).round(9).tolist() for q in SHAPES[k].quadrics()) for k in ("box", "hull"))
    assert np.allclose(box, hull)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box((0, 0, 0), (1, 0, 1)), "expected lower < upper"),
        (lambda: Box((0, 0), (1, 1, 1)), "lower is"),
        (lambda: Ellipsoid((0, 0, 0), (1, 0, 1)), "three positive"),
        (lambda: Hull(((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0))), "span no volume"),
        (lambda: Hull(((0, 0), (1, 0))), "expected (k, 3)"),
    ],
)
def test_bad_shapes_get_one_sentence(make, message):
    with pytest.raises(TaupiError) as error:
        make()
    assert message in str(error.value)


# Least squares --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["elbow2r", "planar3r", "ur10", "puma560", "panda"])
@pytest.mark.parametrize(
    ("noise", "sign", "samples"), [(0.0, 1, 200), (0.1, 1, 200), (3.0, 1, 60), (0.1, -1, 60), (1.0, 1, 2)]
)
def test_any_data_give_links_that_exist(name, noise, sign, samples):
    base, triangle, _, _ = measured(name, noise, sign=sign, samples=samples, seed=7)
    here = region_of(base)
    solution, _ = solve(base, triangle, here)
    assert solution.ok
    assert here.slack(solution.pi) >= -1e-12
    assert_real(base, solution.pi)


def test_noise_alone_gives_links_that_exist():
    base, triangle, _, _ = measured("ur10", 0.0)
    rng = np.random.default_rng(4)
    for size in (1e-6, 1.0, 1e6):
        triangle[:, -1] = size * rng.normal(size=len(triangle))
        solution, _ = solve(base, triangle, region_of(base))
        assert_real(base, solution.pi)


@pytest.mark.parametrize("name", ["ur10", "panda"])
def test_exact_data_of_another_real_robot_are_reproduced(name):
    rng = np.random.default_rng(5)
    robot = tp.load(name)
    truth = np.concatenate([cloud(rng)[2] for _ in robot.links] + [np.zeros(2 * robot.n)])
    base, triangle, y, tau = measured(name, 0.0, truth=truth)
    solution, _ = solve(base, triangle, region_of(base))
    assert np.linalg.norm(y @ (base.projection @ solution.pi) - tau) < 1e-6 * np.linalg.norm(tau)
    assert_real(base, solution.pi)
    here = region_of(base)
    same = exact_solution(here, base.projection * here.scale, base.projection @ truth)
    assert same is not None and np.allclose(base.projection @ same.pi, base.projection @ truth, atol=1e-9)
    # Nearest to the prior: the truth is another point with the same base parameters.
    assert np.linalg.norm(same.pi / here.scale - here.prior) < np.linalg.norm(truth / here.scale - here.prior)


def test_constraints_hold_only_what_they_must():
    base, triangle, _, _ = measured("ur10", 0.1)
    estimate = np.linalg.lstsq(triangle[:, :-1], triangle[:, -1], rcond=None)[0]
    here = region_of(base)
    assert exact_solution(here, base.projection * here.scale, estimate) is None, "thin links, and noise"
    solution, rest = solve(base, triangle, here, share=1e-8)
    assert solution.misfit > 1e-6 * rest and solution.active
    truth = base.standard.values.copy()
    for i in range(6):  # fat links: far from the edge
        truth[10 * i + 4 : 10 * i + 10] += truth[10 * i] * 0.05 * np.array([1, 0, 0, 1, 0, 1])
    base, triangle, _, _ = measured("ur10", 1e-4, truth=truth)
    estimate = np.linalg.lstsq(triangle[:, :-1], triangle[:, -1], rcond=None)[0]
    solution, rest = solve(base, triangle, here, share=1e-8)
    assert solution.active == () and solution.misfit < 1e-6 * rest
    assert np.allclose(base.projection @ solution.pi, estimate, atol=1e-4)


def test_wrong_signs_end_at_the_edge_and_say_so():
    base, triangle, _, _ = measured("elbow2r", 0.01, sign=-1)
    solution, _ = solve(base, triangle, region_of(base))
    assert {"elbow.viscous at zero", "shoulder.coulomb at zero"} <= set(solution.active)
    assert any("edge of what a body can be" in label for label in solution.active)


@pytest.mark.parametrize("share", [1e-4, 1e-2])
def test_the_prior_costs_no_more_than_its_share(share):
    base, triangle, _, _ = measured("panda", 0.2)
    here = region_of(base)
    free, rest = solve(base, triangle, here, share=1e-9)
    held, _ = solve(base, triangle, here, share=share)
    assert held.misfit + rest <= (1 + 1.05 * share) * (free.misfit + rest)
    near, far = (np.linalg.norm(f.pi / here.scale - here.prior) for f in (held, free))
    assert near < 0.7 * far


def factored(v, base):
    """Return pi from free numbers: P = L L^T + EDGE 1 for each link, squares for friction. Another road to the same region."""
    back = np.linalg.inv(pseudo_inertia_map())
    parts = []
    for i in range(len(base.robot.links)):
        lower = np.zeros((4, 4))
        lower[np.tril_indices(4)] = v[10 * i : 10 * i + 10]
        parts.append(back @ packed(lower @ lower.T + EDGE * np.eye(4)))
    return np.concatenate([*parts, v[len(base.robot.parameters) :] ** 2])


@pytest.mark.parametrize(("name", "noise", "sign"), [("elbow2r", 0.5, 1), ("elbow2r", 0.2, -1), ("planar3r", 0.3, 1)])
def test_another_algorithm_finds_the_same_minimum(name, noise, sign):
    base, triangle, _, _ = measured(name, noise, sign=sign, samples=60, terms=("viscous",))
    here = region_of(base)
    a, z = triangle[:, :-1] @ (base.projection * here.scale), triangle[:, -1]
    unit, mu = np.linalg.norm(z), 1e-2
    solution = least_squares_in_cone(here.cone, a / unit, z / unit, np.full(len(here.prior), mu), here.prior)
    assert solution.ok

    def residual(v):
        x = factored(v, base)
        return np.concatenate([(a @ x - z) / unit, np.sqrt(mu) * (x - here.prior)])

    start = np.random.default_rng(0).normal(size=len(here.prior))
    other = least_squares(residual, start, max_nfev=150).cost
    ours = 0.5 * np.sum(((a @ solution.x - z) / unit) ** 2) + 0.5 * mu * np.sum((solution.x - here.prior) ** 2)
    assert ours <= other * (1 + 1e-6), "nothing in the region is better than the minimum"
    assert other <= ours * (1 + SAME), "and the other road comes as near as it goes"


@pytest.mark.parametrize("sign", [1, -1])
def test_the_optimality_conditions_hold(sign):
    base, triangle, _, _ = measured("ur10", 0.5, sign=sign, samples=60)
    here = region_of(base, mass_bounds={"*": (0.1, 20.0)})
    a, z = triangle[:, :-1] @ (base.projection * here.scale), triangle[:, -1]
    unit, mu, cone = np.linalg.norm(z), 1e-4, here.cone
    solution = least_squares_in_cone(cone, a / unit, z / unit, np.full(len(here.prior), mu), here.prior)
    m = len(cone.rows)
    blocks = solution.dual[m:].reshape(-1, 10)
    gradient = a.T @ (a @ solution.x - z) / unit**2 + mu * (solution.x - here.prior)
    pull = cone.rows.T @ solution.dual[:m] + sum(b.T @ d for b, d in zip(cone.blocks, blocks, strict=True))
    assert np.abs(gradient - pull).max() < 1e-6, "stationary"
    assert cone.slack(solution.x).min() > -1e-7, "feasible"
    assert solution.dual[:m].min() > -1e-9 and min(np.linalg.eigvalsh(unpacked(d))[0] for d in blocks) > -1e-9, (
        "pushes inwards"
    )
    work = [d @ (b @ solution.x + s) for b, s, d in zip(cone.blocks, cone.start, blocks, strict=True)]
    assert np.abs([*work, *(solution.dual[:m] * (cone.rows @ solution.x + cone.offset))]).max() < 1e-6, "complementary"


# Limits ---------------------------------------------------------------------------------------------------------------


def test_limits_are_kept():
    base, triangle, _, _ = measured("ur10", 0.5)
    links = base.robot.link_names
    box = ((-0.2, -0.2, -0.2), (0.2, 0.2, 0.2))
    here = region_of(
        base,
        mass_bounds={"*": (0.5, 15.0), links[2]: (3.0, 4.0)},
        total_mass=(20.0, 30.0),
        boxes={links[1]: ((-0.7, -0.1, -0.1), (0.0, 0.1, 0.2))},
        shapes={links[5]: Box(*box), links[4]: Ellipsoid((0, 0, 0), (0.2, 0.2, 0.2))},
    )
    pi = solve(base, triangle, here)[0].pi
    masses = pi[: len(base.robot.parameters) : 10]
    assert (masses >= 0.5 - 1e-9).all() and (masses <= 15 + 1e-9).all() and 3 - 1e-9 <= masses[2] <= 4 + 1e-9
    assert 20 - 1e-9 <= masses.sum() <= 30 + 1e-9
    com = pi[11:14] / pi[10]
    assert (com >= np.array([-0.7, -0.1, -0.1]) - 1e-9).all() and (com <= np.array([0.0, 0.1, 0.2]) + 1e-9).all()
    ten = pi[50:60]
    assert 0.5 * (ten[4] + ten[7] + ten[9]) <= 3 * 0.2**2 * ten[0] + 1e-9, "second moments fit the box"
    ten = pi[40:50]
    assert 0.5 * (ten[4] + ten[7] + ten[9]) <= 0.2**2 * ten[0] + 1e-9, "and the ball"
    assert_real(base, pi)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"mass_bounds": {"upper_arm": (1, 2)}}, "No link 'upper_arm'"),
        ({"mass_bounds": {"upper_arm_link": (2, 1)}}, "expected 0 <= lower < upper"),
        ({"mass_bounds": {"upper_arm_link": 3}}, "expected (lower, upper)"),
        ({"mass_bounds": {"upper_arm_link": ("a", "b")}}, "expected 0 <= lower < upper"),
        (
            {"mass_bounds": {"*": (1, 2), "upper_arm_link": (3, 4)}},
            "No body fits the limits of link 'upper_arm_link' (mass of",
        ),
        ({"mass_bounds": {"*": (1, 2)}, "total_mass": (20, 30)}, "No links fit total_mass"),
        (
            {
                "boxes": {"upper_arm_link": ((1, 1, 1), (2, 2, 2))},
                "shapes": {"upper_arm_link": Ellipsoid((0, 0, 0), (1, 1, 1))},
            },
            "No body fits the limits of link 'upper_arm_link'",
        ),
        ({"boxes": {"upper_arm_link": ((0, 0, 0), (0, 1, 1))}}, "expected lower < upper"),
        ({"shapes": {"upper_arm_link": "ball"}}, "expected a Box, an Ellipsoid or a Hull"),
    ],
)
def test_impossible_limits_get_one_sentence(limits, message):
    base = tp.base_parameters(tp.load("ur10"))
    with pytest.raises(TaupiError) as error:
        region_of(base, **limits)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_the_deepest_point_is_inside():
    base = tp.base_parameters(tp.load("puma560"), terms=FRICTION)
    here = region_of(base)
    x, depth = deepest_point(here.cone, here.prior)
    assert depth > 0.9 and np.isclose(here.cone.slack(x).min(), depth)


# Standard parameters --------------------------------------------------------------------------------------------------


def test_consistent_parameters_of_a_real_estimate_are_exact():
    rng = np.random.default_rng(6)
    base = tp.base_parameters(tp.load("panda"))
    truth = np.concatenate([cloud(rng)[2] for _ in base.robot.links])
    pi_b = base.project(truth)
    solution = standard_parameters(base, pi_b, rows_from_covariance(pi_b, np.eye(base.count)))
    assert solution.exact and solution.before == solution.after and "Real bodies have" in solution.sentence
    assert np.allclose(base.project(solution.values), pi_b, atol=1e-9)
    assert_real(base, solution.values)


def test_an_unreal_estimate_moves_where_it_is_known_least():
    base = tp.base_parameters(tp.load("ur10"))
    pi_b = base.project(base.standard.values)
    spread = np.full(base.count, 1e-6)
    k = base.names.index(next(n for n in base.names if n.startswith("wrist_3") and "Izz" in n))
    pi_b = pi_b.copy()
    pi_b[k], spread[k] = -0.5, 1.0
    solution = standard_parameters(base, pi_b, rows_from_covariance(pi_b, np.diag(spread**2)))
    moved = base.project(solution.values) - pi_b
    assert not solution.exact and "No real bodies have" in solution.sentence
    assert np.argmax(np.abs(moved)) == k and moved[k] > 0.49 and np.abs(np.delete(moved, k)).max() < 1e-3
    assert_real(base, solution.values)


def test_far_from_anything_real_without_a_guide_is_refused():
    robot = tp.load("ur10").with_parameters(np.zeros(60))
    base = tp.base_parameters(robot)
    pi_b = -base.project(tp.load("ur10").parameters)
    with pytest.raises(TaupiError, match="states no inertias"):
        standard_parameters(base, pi_b, rows_from_covariance(pi_b, np.eye(base.count)))
    with_guide = tp.base_parameters(tp.load("ur10"))
    assert_real(
        with_guide, standard_parameters(with_guide, pi_b, rows_from_covariance(pi_b, np.eye(base.count))).values
    )


def test_bad_shapes_of_estimates_are_refused():
    base = tp.base_parameters(tp.load("elbow2r"))
    with pytest.raises(TaupiError, match=r"expected \(6,\) and \(k, 7\)"):
        standard_parameters(base, np.zeros(5), np.zeros((6, 7)))
