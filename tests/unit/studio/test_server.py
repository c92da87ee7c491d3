"""Who may open the studio, and what it answers to those who may not; names of files and columns stay text."""

import http.client
import re
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit

import pytest
from hostile import ARM, JOINTS

import taupi as tp
from taupi.model.formats.toml_writer import writes
from taupi.studio.elements import tag, text_of
from taupi.studio.server import FILES_POLICY, POLICY, serve

EVIL = "<img src=x onerror=\"document.title='EVIL'\">"


@pytest.fixture
def studio(tmp_path):
    served = serve(tmp_path, 8900)
    yield served
    served.close()


def ask(studio, path, body=None, method=None, **headers):
    """Return the status, the headers and the text of an answer."""
    place = urlsplit(studio.url)
    line = http.client.HTTPConnection(place.hostname, place.port, timeout=600)
    sent = {"Host": place.netloc, **({"Origin": f"http://{place.netloc}"} if body is not None else {})}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    data = None if body is None else urlencode(body, doseq=True)
    line.request(method or ("GET" if body is None else "POST"), path, data, {k: v for k, v in sent.items() if v})
    answer = line.getresponse()
    text = answer.read().decode()
    line.close()
    return answer.status, dict(answer.getheaders()), text


def own(studio, name):
    return urlsplit(studio.url).path + name


def test_it_listens_on_this_machine_only(studio):
    assert studio._socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("form", ["robot", "columns", "fit", "excite", "files"])
def test_a_page_allows_its_own_script_alone(studio, form):
    status, headers, text = ask(studio, own(studio, form))
    assert status == 200 and headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY and "http" not in POLICY
    assert not re.search(r"<script(?! src=)|<style|\son\w+=|\sstyle=|javascript:", text)
    assert len(re.findall("<script", text)) == 1


def test_whoever_lacks_the_secret_is_refused(studio):
    for path in ("/", "/robot", "/x/robot", f"/{studio.studio.key[:-1]}/robot", "/favicon.ico"):
        assert ask(studio, path)[0] in (403, 404)
    for body in ({}, {"robot": "elbow2r"}):
        assert ask(studio, "/guess/robot/run", body)[0] == 403
    assert studio.studio.jobs.last is None


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:8900"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:8900.evil.example"},
    ],
)
def test_pages_of_others_are_refused_even_with_the_secret(studio, headers):
    assert ask(studio, own(studio, "robot/run"), {"robot": "elbow2r"}, **headers)[0] == 403
    assert ask(studio, own(studio, "robot"), **headers)[0] == 403
    assert studio.studio.jobs.last is None


def test_a_request_that_acts_states_its_origin(studio):
    assert ask(studio, own(studio, "robot/run"), {"robot": "elbow2r"}, Origin="")[0] == 403
    assert ask(studio, own(studio, "robot/live"), {"robot": "elbow2r"})[0] == 200


def test_the_secret_of_files_reads_files_and_nothing_else(studio, tmp_path):
    (tmp_path / "a.txt").write_text("plain")
    key = studio.studio.reading
    assert ask(studio, f"/{key}/a.txt")[2] == "plain"
    assert ask(studio, f"/{key}/robot")[0] == 404
    assert ask(studio, f"/{key}/robot/run", {"robot": "elbow2r"})[0] == 404
    assert key not in studio.url


@pytest.mark.parametrize(
    "name", ["../secret", "%2e%2e/secret", "..%2fsecret", ".hidden", "a/../../secret", "link", "folder", "", "%00"]
)
def test_files_outside_the_folder_are_not_shown(studio, tmp_path, name):
    (tmp_path.parent / "secret").write_text("SECRET")
    (tmp_path / ".hidden").write_text("SECRET")
    (tmp_path / "folder").mkdir(exist_ok=True)
    (tmp_path / "link").symlink_to(tmp_path.parent / "secret")
    status, _, text = ask(studio, f"/{studio.studio.reading}/{name}")
    assert status == 404 and "SECRET" not in text


def test_pages_in_the_folder_are_shown_in_a_sandbox(studio, tmp_path):
    (tmp_path / "report.html").write_text("<script>EVIL</script>")
    _, headers, _ = ask(studio, f"/{studio.studio.reading}/report.html")
    policy = headers["content-security-policy"]
    assert policy == FILES_POLICY and policy.startswith("sandbox allow-scripts;") and "allow-same-origin" not in policy
    assert "default-src 'none'" in policy and headers["content-type"].startswith("text/html")
    (tmp_path / "picture.svg").write_text("<svg onload='EVIL'/>")
    assert ask(studio, f"/{studio.studio.reading}/picture.svg")[1]["content-type"].startswith("text/plain")


def tags_of(text):
    """Return the kinds of elements that a browser would see."""
    seen = set()
    reader = HTMLParser()
    reader.handle_starttag = lambda kind, _: seen.add(kind)
    reader.feed(text)
    return seen


def test_hostile_names_stay_text(studio, tmp_path):
    names = (EVIL, "</script><script>EVIL</script>", '" autofocus onfocus="EVIL')
    head = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    file = "<b onclick=EVIL>run'\".csv"
    (tmp_path / file).write_text(f"t,{head}\n" + "".join(f"{k / 100},{k},1,2\n" for k in range(50)))
    (tmp_path / "bad\n<i>.csv").write_text("x")
    fields = {"log": file, "robot": "", "save": "columns.toml"}
    for form in ("columns", "fit", "files"):
        ask(studio, own(studio, "columns/live"), fields)
        text = ask(studio, own(studio, form))[2]
        assert not {"img", "i", "b"} & tags_of(text) and len(re.findall("<script", re.sub('"[^"]*"', "", text))) == 1
        assert "EVIL" in text
        assert "bad" not in text
    taken = {**fields, "signal-0": "time", "signal-1": "q", "joint-1": "0", "signal-2": "q", "joint-2": "0"}
    sheet = re.search(r'name="sheet" value="(\w+)"', ask(studio, own(studio, "columns"))[2])[1]
    said = ask(studio, own(studio, "columns/live"), {**taken, "sheet": sheet})[2]
    assert "both q" in said and "<img" not in said


def test_words_of_commands_stay_text(studio, tmp_path):
    answer = ask(studio, own(studio, "robot/run"), {"robot": EVIL})
    assert answer[0] == 200
    studio.studio.jobs.last.wait()
    text = ask(studio, own(studio, "job"))[2]
    assert "failed" in text and "<img" not in text and "&lt;img" in text


def test_names_of_joints_stay_text(studio, tmp_path):
    (tmp_path / "evil.toml").write_text(writes(ARM))
    (tmp_path / "run.csv").write_text("t,q1,q2\n" + "".join(f"{k / 100},{k},1\n" for k in range(50)))
    text = ask(studio, own(studio, "columns/table"), {"log": "run.csv", "robot": "evil.toml"})[2]
    assert "<script" not in text and "EVIL" in text and JOINTS[1][:9] not in text


def test_a_mapping_is_saved_once_and_replaced_only_if_asked(studio, tmp_path):
    (tmp_path / "run.csv").write_text("t,q1,q2\n" + "".join(f"{k / 100},{k / 50},1\n" for k in range(50)))
    fields = {"log": "run.csv", "robot": "elbow2r", "save": "columns.toml"}
    assert "saved as columns.toml" in ask(studio, own(studio, "columns/save"), fields)[2]
    assert tp.read_log(tmp_path / "run.csv", tp.load("elbow2r"), tmp_path / "columns.toml").n == 2
    assert "exists" in ask(studio, own(studio, "columns/save"), fields)[2]
    assert "saved" in ask(studio, own(studio, "columns/save"), {**fields, "replace": "yes"})[2]
    assert ".toml" in ask(studio, own(studio, "columns/save"), {**fields, "save": "columns.txt"})[2]


def test_what_was_typed_is_there_after_a_reload(studio, tmp_path):
    (tmp_path / "run.csv").write_text("t,q1,q2\n" + "".join(f"{k / 100},{k / 50},1\n" for k in range(50)))
    fields = {"log": "run.csv", "robot": "elbow2r", "save": "columns.toml"}
    table = ask(studio, own(studio, "columns/table"), fields)[2]
    sheet = re.search(r'name="sheet" value="(\w+)"', table)[1]
    typed = {
        "sheet": sheet,
        "signal-0": "time",
        "signal-1": "q",
        "signal-2": "q",
        "joint-2": "1",
        "unit-2": "deg",
        "sign-2": "-1",
    }
    ask(studio, own(studio, "columns/live"), {**fields, **typed})
    text = ask(studio, own(studio, "columns"))[2]
    row = next(part for part in text.split("<tr") if "q2" in part and "data-row" in part)
    assert re.search(r'<option value="deg" selected', row) and re.search(r'<option value="-1" selected', row)


def test_a_log_that_cannot_be_read_is_a_sentence(studio, tmp_path):
    (tmp_path / "run.csv").write_bytes(b"\0\1\2")
    assert "binary" in ask(studio, own(studio, "columns/table"), {"log": "run.csv", "robot": ""})[2]
    assert "No file" in ask(studio, own(studio, "columns/table"), {"log": "missing.csv", "robot": ""})[2]


def test_a_form_that_is_too_large_is_refused(studio):
    assert ask(studio, own(studio, "robot/live"), {"robot": "x" * 2_100_000})[0] == 413


def test_an_unknown_action_is_missing(studio):
    for path in ("robot/fly", "nothing/run", "columns", "cancel/x"):
        assert ask(studio, own(studio, path), {"robot": "elbow2r"})[0] in (200, 404)
    assert ask(studio, own(studio, "robot/fly"), {"robot": "elbow2r"})[0] == 404
    assert ask(studio, own(studio, "x"))[0] == 404


def test_another_port_is_taken_if_the_first_is_not_free(studio, tmp_path):
    other = serve(tmp_path, urlsplit(studio.url).port)
    assert urlsplit(other.url).port > urlsplit(studio.url).port
    other.close()


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(tp.TaupiError) as refused:
        serve(tmp_path / "nothing")
    assert refused.value.argument == "folder"


def test_elements_escape_texts_and_attributes():
    text = text_of(tag("p", "a\x00b<", tag("b", "&"), ">\u202e", title='"><script>'))
    assert text == '<p title="&quot;&gt;<script&gt;">a\\x00b&lt;<b>&amp;</b>&gt;\\u202e</p>'
