"""Commands that begin with a fit: `taupi validate`, `compare` and `report`."""

import json

import pytest
from cli_runs import COUNT

import taupi as tp


def test_validate_compare_and_report(command, done, logs, tmp_path):
    fit = done[1]
    code, out, _ = command("validate", fit, "run3.csv")
    assert code == 0 and out.startswith("run3.csv: relative error")
    (data,) = json.loads(command("validate", fit / "fit.json", "run3.csv", "--json")[1])
    assert data == json.loads(json.dumps(tp.load_fit(fit).validate(logs / "run3.csv").to_dict()))
    assert command("identify", "arm.toml", "run1.csv", "--estimator", "ols", "-o", tmp_path / "ols")[0] == 0
    code, out, _ = command("compare", tmp_path / "ols", fit, "run3.csv")
    assert code == 0 and "first (ols)" in out and "second (consistent)" in out
    (data,) = json.loads(command("compare", tmp_path / "ols", fit, "run3.csv", "--json")[1])
    assert set(data) == {"first", "second", "parameters"} and len(data["parameters"]) == COUNT
    page = tmp_path / "page.html"
    assert command("report", fit, "-o", page, "--validate", "run3.csv", "--fitted", "run1.csv")[0] == 0
    assert page.read_text().count('<figure class="chart"') == 2 * 2 * 2
    code, _, err = command("report", fit, "-o", page)
    assert code == 3 and "exists already" in err and "--force" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["validate", "nothing.json", "run1.csv"], "No file 'nothing.json'"),
        (["validate", "run1.csv", "run2.csv"], "is not JSON"),
        (["report", "FIT", "-o", "page.pdf"], "ending in .html"),
        (["validate", "FIT", "silent.csv"], "tau is missing"),
        (["compare", "FIT", "nothing", "run1.csv"], "No file 'nothing'"),
        (["report", "FIT", "-o", "page.html", "--validate", "missing.csv"], "No file 'missing.csv'"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_bad_input_of_the_others(command, done, logs, arguments, sentence):
    code, out, err = command(*(str(done[1]) if a == "FIT" else a for a in arguments))
    assert (code, out) == (3, "") and sentence in err and len(err.strip().splitlines()) == 1
    assert not list(logs.glob("page.*"))
