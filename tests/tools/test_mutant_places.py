"""The mutator: what it changes, what it leaves alone, and that each change is one place of a file that can still be read."""

from pathlib import Path

import pytest
from mutants import sample
from mutants.places import is_change, mutants_of

ROOT = Path(__file__).parents[2]
FILE = "src/taupi/signals/small.py"


def changes(text: str, kind: str | None = None) -> list[str]:
    """The lines that mutants make of a text of one line."""
    mutants = [m for m in mutants_of(FILE, text) if kind in (None, m.kind)]
    return [m.apply(text) for m in mutants if is_change(m, text)]


@pytest.mark.parametrize(
    ("kind", "line", "expected"),
    [
        ("comparison", "x = a < b", ["x = a >= b"]),
        ("comparison", "x = a is not b", ["x = a is b"]),
        ("comparison", "x = a not in b", ["x = a in b"]),
        ("comparison", "x = 0 < a <= b", ["x = 0 >= a <= b", "x = 0 < a > b"]),
        ("boundary", "x = len(a) <= 2 * m", ["x = len(a) < 2 * m"]),
        ("boundary", "x = a < b", []),  # numbers that are measured are never exactly at the boundary
        ("and, or", "x = a and b and c", ["x = a or b and c", "x = a and b or c"]),
        ("not", "x = not (a or b)", ["x =  (a or b)"]),
        ("not", "x = mask & ~late", ["x = mask & late"]),
        ("sign", "x = -a * b", ["x = a * b"]),
        ("arithmetic", "x = (a) + (b)", ["x = (a) - (b)"]),
        ("arithmetic", "x = a @ b", ["x = a * b"]),
        ("arithmetic", "x = a**2", ["x = a*2"]),
        ("arithmetic", "x += a", ["x -= a"]),
        ("dropped term", "x = a + b * c", ["x =  b * c", "x = a "]),
        ("dropped term", "x = a - b", ["x = - b", "x = a "]),
        ("dropped factor", "x = 2 * (a + b)", ["x = 2 "]),
        ("constant", "x = 3", ["x = 4"]),
        ("constant", "x = 0.5", ["x = 1.5"]),
        ("constant", "x = 250.0", ["x = 500.0"]),
        ("constant", "x = f(flag=True)", ["x = f(flag=False)"]),
        ("constant", "x = a[1:]", ["x = a[2:]"]),
        ("function", "x = np.sin(a)", ["x = np.cos(a)"]),
        ("function", "x = a.max()", ["x = a.min()"]),
        ("dropped call", "x = np.sqrt(w) * a", ["x = (w) * a"]),
        ("dropped call", "x = abs(a, b)", []),
        ("swapped arguments", "x = cs.cross(w, p + q)", ["x = cs.cross(p + q, w)"]),
        ("swapped arguments", "x = np.where(c, a, b)", ["x = np.where(c, b, a)"]),
        ("range", "x = range(n)", ["x = range((n) - 1)"]),
        ("transposition", "x = a.T @ b", ["x = a @ b"]),
        ("condition", "x = a if ready else b", ["x = a if not ready else b"]),
        ("condition", "x = [a for a in b if a.ok]", ["x = [a for a in b if not a.ok]"]),
        ("dropped statement", "x.append(a)", ["pass"]),
        ("dropped statement", "x[0] = a", ["pass"]),
        ("dropped statement", "x = x.T", ["pass"]),
        ("dropped statement", "x = a", []),  # without it the name is missing, and anything fails
    ],
)
def test_each_kind_of_change(kind, line, expected):
    assert changes(line, kind) == expected


def test_returns_and_jumps():
    text = "def f(a):\n    for x in a:\n        if x:\n            continue\n        break\n    return x\n"
    assert "    return None\n" in changes(text, "return")[0]
    assert [t.count("pass") for t in changes(text, "dropped statement")] == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring with 2 + 2 < 5."""',
        'def f():\n    """Returns 1 + 1."""',
        "x: Annotated[int, 3]",
        "def f(a: Literal[1, 2]) -> Literal[3]: ...",
        "@lru_cache(maxsize=256)\n@dataclass(frozen=True)\nclass A:\n    pass",
        "raise TaupiError(f'{a + 1} is too small', -1)",
        "assert a < 1, a + 1",
        "x = f'{a + 1:.3g} of {len(b) - 2}'",
        "x = 'one ' + two",
        "x = [a] + b",
        "warnings.warn('less than', stacklevel=2)",
        "x = ', '.join(a[1:])",
        "x = zip(a, b, strict=True)",
        "if TYPE_CHECKING:\n    x = 1",
        "class A:\n    def __repr__(self):\n        return self.n + 1",
        "Vector = list[float] | tuple[float, ...]",
        "x = isinstance(a, A | B)",
        "from . import a",
    ],
)
def test_text_types_and_messages_are_left_alone(text):
    assert mutants_of(FILE, text) == []


def test_columns_behind_letters_of_several_bytes():
    assert changes('x = f("τ = Yπ") - a  # é', "arithmetic") == ['x = f("τ = Yπ") + a  # é']


def test_a_change_is_one_place_of_one_line_and_knows_it():
    text = "def f(a):\n    b = (\n        a\n        + 1\n    )\n    return b\n"
    (plus,) = [m for m in mutants_of(FILE, text) if m.kind == "arithmetic"]
    assert (plus.line, plus.rows, plus.code, plus.change, plus.imported) == (4, (2, 5), "+ 1", "+ -> -", False)
    assert all(m.imported for m in mutants_of(FILE, "A = 1 + 2\n\n\nclass B:\n    c: int = 3\n"))
    assert [m.imported for m in mutants_of(FILE, "def f(a=1):\n    return 2\n") if m.kind == "constant"] == [
        True,
        False,
    ]


def test_equal_lines_are_told_apart_and_keys_stay_when_lines_move():
    text = "a = x + 1\nb = 0\na = x + 1\n"
    keys = [m.key for m in mutants_of(FILE, text)]
    assert len(set(keys)) == len(keys)
    assert [m.key for m in mutants_of(FILE, f"# moved\n\n{text}")] == keys


def test_places_in_the_real_source_can_be_changed():
    for file in sample.files_of(ROOT)[::10]:
        text = (ROOT / file).read_text(encoding="utf-8")
        mutants = mutants_of(file, text)
        assert len({m.key for m in mutants}) == len(mutants)
        for mutant in mutants[::7]:
            assert is_change(mutant, text), f"{file}:{mutant.line} {mutant.change}"


# --- the sample ---


def texts() -> dict[str, str]:
    body = "\n".join(f"    x = a[{k}] + b * {k}.5 < c" for k in range(40))
    return {f"src/taupi/{room}/one.py": f"def f(a, b, c):\n{body}\n" for room in ("signals", "control", "dynamics")}


def test_a_sample_is_of_its_size_seeded_and_one_of_a_line():
    drawn = sample.draw(texts(), 30, seed=1)
    assert len(drawn) == 30
    assert drawn == sample.draw(texts(), 30, seed=1)
    assert drawn != sample.draw(texts(), 30, seed=2)
    assert len({(m.file, m.line) for m in drawn}) == 30
    assert {sample.room_of(m.file) for m in drawn} == {"signals", "control", "dynamics"}


def test_a_change_elsewhere_moves_nobody_in_or_out():
    before = sample.draw(texts(), 30, seed=1)
    moved = {file: f'"""Words."""\n\nA = []\n{text}' for file, text in texts().items()}
    after = sample.draw(moved, 30, seed=1)
    assert [m.key for m in after] == [m.key for m in before]


def test_unwanted_lines_are_replaced_by_the_next():
    drawn = sample.draw(texts(), 30, seed=1, wanted=lambda m: m.line % 2 == 0)
    assert len(drawn) == 30
    assert all(m.line % 2 == 0 for m in drawn)


def test_shares_add_up_and_small_rooms_are_seen():
    assert sample.shares({"a": 1000, "b": 20, "c": 5}, 200) == {"a": 181, "b": 14, "c": 5}
    assert sum(sample.shares({"a": 3, "b": 4}, 200).values()) == 7
    assert sample.shares({"a": 50, "b": 50, "c": 50}, 4) == {"a": 2, "b": 1, "c": 1}


def test_equivalent_changes_are_left_out(tmp_path):
    first = sample.draw(texts(), 30, seed=1)[0]
    listed = sample.Equivalent(first.file, first.code, first.change, "a test")
    assert first.key not in {m.key for m in sample.draw(texts(), 30, seed=1, equivalents=[listed])}
    path = tmp_path / "equivalent.toml"
    path.write_text('[[equivalent]]\nfile = "a.py"\ncode = "x"\nchange = "y"\n')
    with pytest.raises(TypeError, match="reason"):
        sample.read_equivalents(path)


def test_the_list_of_equivalent_changes_is_of_this_source():
    listed = sample.read_equivalents()
    assert sample.stale(listed, ROOT) == []
    assert all(len(entry.reason) > 10 for entry in listed)
    assert sample.stale([sample.Equivalent("src/taupi/gone.py", "x", "y", "z")], ROOT)
