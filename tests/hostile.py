"""Names that would be code, markup or commands, and how to see whether they stay text."""

from __future__ import annotations

import ast
import base64
import dataclasses
import hashlib
import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser

import taupi as tp

JOINTS = (
    '*/ EVIL(); /* """\nEVIL()\n""" %}\nEVIL\n%{ \\\nEVIL ??/\nEVIL',
    "</script><script>document.title='EVIL'</script>\u2028" + "x" * 10_000,
)
LINKS = ("\\input{EVIL}$&%#^~{}$\\frac{$", "<img src=x onerror=\"document.title='EVIL'\">'); EVIL(); ('\x00")


def hostile(arm):
    joints = tuple(dataclasses.replace(j, name=name) for j, name in zip(arm.joints, JOINTS, strict=True))
    links = tuple(dataclasses.replace(k, name=name) for k, name in zip(arm.links, LINKS, strict=True))
    return dataclasses.replace(arm, name="</title><script>EVIL</script>*/ EVIL", joints=joints, links=links)


ARM = hostile(tp.load("elbow2r"))


def outside_comments(text):
    """C or CUDA without comments and strings."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', " ", text, flags=re.DOTALL)


def runs_names(name, text):
    """Whether a name has become code in the text of a file with this name."""
    ending = name.rpartition(".")[2]
    if ending in ("c", "h", "cpp", "hpp", "cu", "cuh"):
        return "EVIL" in outside_comments(text)
    if ending == "py":
        return any("EVIL" in ast.dump(node) for node in ast.parse(text).body[1:])  # the first is the docstring
    if ending == "m":
        return any("EVIL" in line and not line.lstrip().startswith("%") for line in text.splitlines())
    if ending == "md":
        return re.search(r"</?(script|img|title|description|b)\b", text) is not None
    return False


class Elements(HTMLParser):
    """The scripts of a page, the attributes that run code, and the policy."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.handlers, self.policy, self.inside = [], [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.handlers += [key for key in values if key.startswith("on") or str(values[key]).startswith("javascript:")]
        self.inside = tag == "script" and "type" not in values
        if self.inside:
            self.scripts.append("")
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data


def check_page(text):
    """See that a page has one script, which is ours, and a policy that allows no other."""
    elements = Elements(text)
    (script,) = elements.scripts
    assert not elements.handlers and "EVIL" not in script
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert elements.policy.split("; ") == [
        *("default-src 'none'", f"script-src 'sha256-{digest}'", "style-src 'unsafe-inline'", "img-src data:"),
    ]


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def opened(path):
    """The page after its scripts have run, in a real browser."""
    with tempfile.TemporaryDirectory(
        ignore_cleanup_errors=True
    ) as profile:  # of its own: another test may open one, too
        words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        words += [f"--user-data-dir={profile}", "--dump-dom", path.as_uri()]
        return subprocess.run(words, capture_output=True, text=True, timeout=300, check=True).stdout
