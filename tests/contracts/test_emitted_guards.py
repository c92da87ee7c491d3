"""Over all laws and components: whatever emitted code gets, its results are finite and within limits, and it recovers."""

import numpy as np
import pytest
from emitted import STRICT, by_c, by_octave, by_python, need, run
from refusals import refused
from test_emitted_components import COMPONENTS
from test_emitted_controllers import ARM, LAWS

import taupi as tp
from taupi.control.emitted_controller import controller_files, guard_of, guarded_step
from taupi.identification.online.component import component_files
from taupi.program.guard import StepStatus

STEPS = 20_000  # of each law and component; more by hand
DRIVER = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "%(header)s"

static unsigned long long seed = 1;
static double unit(void)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(seed >> 11) / 9007199254740992.0;
}
static double any(double usual)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 5e-324, -0.0, 1e6, -1e6, 1e15, 1000.0, -1000.0};
    double u = unit();
    if (u < 0.15) return odd[(int)(unit() * 12)];
    if (u < 0.3) return (2 * unit() - 1) * pow(10.0, 8 * unit() - 4);
    return usual;
}
static const double most[%(outputs)d] = {%(most)s}, low[%(size)d] = {%(low)s}, high[%(size)d] = {%(high)s};

int main(int count, char **words)
{
    arm_%(kind)s c;
    long steps = atol(words[1]), seen[5] = {0};
    double in[%(inputs)d], out[%(outputs)d], held[%(size)d];
    seed += count > 2 ? (unsigned long long)atol(words[2]) : 0;
    arm_init(&c);
    for (long k = 0; k < steps; ++k) {
        int good = k %% 2;
        double dt = 1e-3;
        for (int i = 0; i < %(inputs)d; ++i) in[i] = good ? 0.5 + 0.5 * unit() : any(2 * unit() - 1);
        if (!good && unit() < 0.2) dt = any(0.0);
        memcpy(held, c.state, sizeof held);
        int status = arm_update(&c, %(called)s);
        ++seen[status];
        for (int i = 0; i < %(outputs)d; ++i) {
            if (!(fabs(out[i]) <= most[i])) return printf("step %%ld: result %%d is %%g\n", k, i, out[i]), 1;
            if (status > 1 && out[i] != 0%(or_held)s) return printf("step %%ld: a refused one gives %%g\n", k, out[i]), 1;
        }
        for (int i = 0; i < %(size)d; ++i)
            if (!(c.state[i] >= low[i] && c.state[i] <= high[i])) return printf("step %%ld: state %%d\n", k, i), 1;
        if (status > 0 && memcmp(held, c.state, sizeof held)) return printf("step %%ld: state is not held\n", k), 1;
        if (good && status > 1) return printf("step %%ld: a good sample is refused, %%d\n", k, status), 1;
    }
    printf("%%ld %%ld %%ld %%ld %%ld\n", seen[0], seen[1], seen[2], seen[3], seen[4]);
    return 0;
}
"""


def numbers(values):
    return ", ".join(repr(float(v)) for v in np.clip(values, -1e300, 1e300)) or "0"


def fuzzed(texts, folder, package, most, guard, steps, seed=0):
    """Return how often each status was returned in so many steps, half of them impossible."""
    places = np.cumsum([0, *(port.size for port in package["inputs"])]).tolist()
    results = np.cumsum([0, *(port.size for port in package["outputs"])]).tolist()
    called = [*(f"in + {k}" for k in places[:-1]), "dt", *(f"out + {k}" for k in results[:-1])]
    words = {
        "kind": package["kind"],
        "header": f"arm_{package['kind']}.h",
        "inputs": places[-1],
        "outputs": results[-1],
        "size": max(1, len(guard.low)),
        "most": numbers(most),
        "low": numbers(guard.low),
        "high": numbers(guard.high),
        "called": ", ".join(called),
        "or_held": package.get("or_held", ""),
    }
    for name, text in {**texts, "driver.c": DRIVER % words}.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [name for name in texts if name.endswith(".c") and not name.startswith("test_")]
    flags = [*STRICT, "-O1", "-fsanitize=undefined", "-fno-sanitize-recover=undefined"]
    run(need("cc"), *flags, "driver.c", *sources, "-o", "driver", "-lm", cwd=folder)
    return [int(word) for word in run("./driver", steps, seed, cwd=folder).split()]


@pytest.mark.parametrize("name", LAWS)
def test_a_law_gives_finite_torques_within_limits_and_recovers(name, tmp_path):
    law = LAWS[name]()
    guard = guard_of(law, effort_limits=30.0)
    package = {"kind": "controller", "inputs": law.ports()[:5], "outputs": law.step_program().outputs[:1]}
    seen = fuzzed(controller_files(law, "arm", guard), tmp_path, package, guard.effort, guard, STEPS)
    assert (
        sum(seen) == STEPS
        and seen[StepStatus.REFUSED_INPUT] > STEPS / 10
        and seen[StepStatus.REFUSED_TIME] > STEPS / 50
    )
    assert seen[StepStatus.GOOD] + seen[StepStatus.SATURATED] >= STEPS / 2


def test_gains_that_are_arguments_are_guarded_too(tmp_path):
    law = tp.SlotineLi(ARM)
    gains = ("K", "Lambda")
    guard = guard_of(law, effort_limits=30.0, arguments=gains)
    package = {"kind": "controller", "inputs": law.signal_ports(gains), "outputs": law.step_program().outputs[:1]}
    texts = controller_files(law, "arm", guard, arguments=gains)
    seen = fuzzed(texts, tmp_path, package, guard.effort, guard, STEPS)
    assert sum(seen) == STEPS and seen[StepStatus.REFUSED_INPUT] > STEPS / 4  # one in two gains is below zero
    step, x = guarded_step(law, guard, gains), np.full((5, 2), 0.1)
    for K, status in ((law.K, 0), (-law.K, 2), (10.1 * law.K, 2), (np.nan * law.K, 2)):
        assert step(*x, K, law.Lambda, law.first_state().vector, 1e-3)[-1] == status


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_gives_finite_results_and_recovers(name, tmp_path):
    component = COMPONENTS[name]()
    guard, outputs = component.guard(), component.emitted_outputs()
    package = {
        "kind": component.name,
        "inputs": component.program().inputs[: len(component.signals)],
        "outputs": outputs,
    }
    if name == "estimator":  # its estimate is a result, held as the state is
        package["or_held"] = " && out[i] != held[i]"
    most = np.full(sum(port.size for port in outputs), 1e15)
    seen = fuzzed(component_files(component, "arm"), tmp_path, package, most, guard, STEPS)
    assert sum(seen) == STEPS and seen[StepStatus.GOOD] >= STEPS / 2 and seen[StepStatus.REFUSED_INPUT] > STEPS / 10


NO_NUMBER = (np.nan, np.inf, -np.inf, 1e308, 1e6)


@pytest.mark.parametrize("build", [by_c, by_python, by_octave])
def test_the_policy_is_the_same_in_every_language(tmp_path, build):
    law = tp.SlotineLi(ARM, K=5.0)
    step = guarded_step(law, guard_of(law, effort_limits=[25.0, 9.0]))
    rng, start = np.random.default_rng(3), law.first_state().vector
    rows = [[*rng.uniform(-1, 1, (5, 2)), start + 0.01 * k, 1e-3] for k in range(20)]
    for k, value in enumerate(NO_NUMBER):
        rows[k][k] = np.array([0.1, value])
    for k, dt in enumerate((0.0, -1e-3, np.nan, 0.2), start=5):
        rows[k][-1] = dt
    inputs = [np.array([row[k] for row in rows]) for k in range(7)]
    inputs[-1] = inputs[-1][:, None]
    with np.errstate(all="ignore"):
        wanted = step.compile("numpy")(*inputs[:-1], inputs[-1][:, 0])
        got = build(step, tmp_path)(*inputs[:-1], inputs[-1] if build is not by_python else inputs[-1][:, 0])
    status = np.ravel(wanted[2])
    assert status[:9].tolist() == [StepStatus.REFUSED_INPUT] * 5 + [StepStatus.REFUSED_TIME] * 4
    assert set(status[9:].tolist()) == {StepStatus.GOOD, StepStatus.SATURATED}
    for a, b in zip(got, wanted, strict=True):
        assert np.isfinite(a).all() and np.abs(np.ravel(a) - np.ravel(b)).max() < 1e-12 * max(1.0, np.abs(b).max())
    tau, after = np.asarray(wanted[0]), np.asarray(wanted[1])
    assert not tau[:9].any() and (np.abs(tau) <= [25.0, 9.0]).all()
    held = status != StepStatus.GOOD
    assert np.array_equal(after[held], inputs[5][held]) and not np.array_equal(after[~held], inputs[5][~held])


def test_good_samples_are_those_of_the_law():
    """A guard changes nothing but what it refuses, cuts off or bounds."""
    law = tp.SlotineLi(ARM)
    step, x = guarded_step(law, guard_of(law)), np.random.default_rng(1).uniform(-0.5, 0.5, (5, 2))
    tau, after, status = step(*x, law.first_state().vector, 1e-3)
    expected, state = law.step(law.init(), *x, 1e-3)
    assert status == StepStatus.GOOD and np.array_equal(tau, expected) and np.array_equal(after, state.vector)


def test_estimates_stay_within_their_bounds():
    law = tp.SlotineLi(ARM, K=1.0)
    guard = guard_of(law)
    step, vector = guarded_step(law, guard), law.first_state().vector
    for _ in range(200):  # an error that never falls drives the estimate away
        _, vector, status = step([0.5, 0.5], [9.0, -9.0], [0.0, 0.0], [0.0, 0.0], [99.0, 99.0], vector, 0.1)
        assert status == StepStatus.GOOD
    assert (vector >= guard.low).all() and (vector <= guard.high).all() and (vector == guard.high).any()


def test_what_is_written_states_limits_gains_gravity_and_rate():
    law = tp.PDGravity(tp.load("ur10"), Kp=30.0)
    texts = controller_files(law, "arm")
    for file in ("arm_controller.h", "README.md"):
        text = " ".join(texts[file].replace(" * ", " ").split())
        for words in (
            "cut off at (330, 330, 150, 56, 56, 56)",
            "against gravity, (0, 0, -9.81)",
            "Kp = 30",
            "1000 Hz",
            "refused",
        ):
            assert words in text, (file, words)


def test_limits_that_are_none_are_refused():
    law = tp.PDGravity(ARM)
    for limits in (0.0, [1.0, -1.0], [1.0, 2.0, 3.0], np.nan, "x"):
        with refused("effort_limits"):
            guard_of(law, effort_limits=limits)
    with refused("longest_gap"):
        guard_of(law, longest_gap=0.0)


@pytest.mark.parametrize("settings", [{"rate": 5.0}, {"longest_gap": 1e-4}, {"rate": 20.0, "longest_gap": 0.05}])
def test_a_loop_whose_every_sample_would_be_refused_is_refused(tmp_path, settings):
    law = tp.PDGravity(ARM, Kp=0.01, Kd=0.01)
    for write in (tp.emit_controller, tp.bridges.emit_ros2):
        with pytest.raises(tp.TaupiError) as error:
            write(law, tmp_path / "out", **settings)
        assert error.value.argument == "longest_gap" and not (tmp_path / "out").exists()
    with pytest.raises(tp.TaupiError) as error:
        tp.bridges.emit_fmu(law, tmp_path / "law.fmu", binary=False, **settings)
    assert error.value.argument == "longest_gap"
