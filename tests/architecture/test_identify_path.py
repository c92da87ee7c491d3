"""The way from a file to fit.json stays short: fewer modules and layers than before identification had its sub-rooms."""

from identify_path import CommandPath, ImportGraph

# What `taupi identify` took before identification was divided into sub-rooms, counted in the same way.
MODULES_BEFORE, LAYERS_BEFORE = 157, 25

PACKAGE = {
    "__init__": "",
    "cli/__init__": "",
    "cli/commands/__init__": "",
    "cli/commands/cook": "from typing import TYPE_CHECKING\nfrom taupi import pan\ndef cook():\n    import taupi.stove\n"
    "if TYPE_CHECKING:\n    from taupi.guest import Guest\n",
    "pan": "from taupi.metal import iron\ndef wash():\n    from taupi import water\n",
    "stove": "from taupi.reporting import smoke\n",
    "metal/__init__": "",
    "metal/iron": "import taupi.ore\n",
    "ore": "import taupi.metal.iron\n",  # a circle
    "reporting/__init__": "smoke = 1\n",
    "water": "",
    "guest": "",
}


def test_what_counts(tmp_path):
    for name, text in PACKAGE.items():
        file = tmp_path / "taupi" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    path = CommandPath("cook", ImportGraph(tmp_path))
    names = {name.removeprefix("taupi").removeprefix(".") for name in path.modules}
    assert names == {"", "cli", "cli.commands", "cli.commands.cook", "pan", "stove", "metal", "metal.iron", "ore"}
    assert path.longest_chain[1:] == ["taupi.pan", "taupi.metal.iron", "taupi.ore"]
    assert path.layers == 3


def test_the_way_from_a_file_to_a_fit_stays_short():
    path = CommandPath("identify")
    assert len(path.modules) < MODULES_BEFORE, path.modules
    assert path.layers < LAYERS_BEFORE, path.longest_chain
