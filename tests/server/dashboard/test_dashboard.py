"""The dashboard in a real browser: it shows the state of the server, and explains errors."""

from __future__ import annotations

import json
import os
import random
import re
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from novikoff import Perceptron, save
from novikoff.reports import formatting
from novikoff.server import dashboard
from novikoff.server.http import auth
from novikoff.theory.online_to_batch import progressive
from tests.helpers.browser import CHROMIUM
from tests.helpers.server.process import ForkServer, run_server

NASTY = "<img src=x onerror=alert(1)>"
PATIENCE = 60_000  # ms: a server may have to compile before its first answer
EARS = """
window.heard = [];
for (const f of ['alert', 'confirm', 'prompt']) window[f] = (x) => heard.push(x);
document.addEventListener('securitypolicyviolation', (e) => heard.push(`${e.violatedDirective}: ${e.blockedURI}`));
"""
LETTERS = [("free", "spam"), ("meeting", "ham"), ("lottery", "spam"), ("agenda", "ham"), ("free", "spam")]


# --- Servers and windows ---


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Path) -> Iterator[str]:
    """Provide the address of a server without models that needs no token."""
    with run_server(fork_server, tmp_path / "data") as one:
        yield one.url


@pytest.fixture
def token_server(fork_server: ForkServer, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Provide the address of a server that requires a token, and a valid token."""
    (tmp_path / "data").mkdir()
    token = auth.create_token(tmp_path / "data", ["admin"], None, "me")
    with run_server(fork_server, tmp_path / "data") as one:
        yield one.url, token


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"there is no {CHROMIUM}: install Debian's package chromium")
    with playwright.sync_playwright() as driver:
        playwright.expect.set_options(timeout=PATIENCE)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def window(browser: Any) -> Iterator[Any]:
    """Provide a browser window; at the end, check that it had no errors, messages or foreign requests."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)
    window = context.new_page()
    window.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    asked: set[str] = set()
    window.add_init_script(EARS)
    window.on("console", lambda message: complaints.append(message.text))
    window.on("pageerror", lambda error: complaints.append(str(error)))
    window.on("dialog", lambda dialog: complaints.append(dialog.message))
    window.on("request", lambda request: asked.add(request.url.split("/")[2]))
    yield window
    assert window.evaluate("heard") == []
    assert window.locator("img").count() == 0
    # The browser itself notes each refusal; that these were meant, the tests say.
    assert [
        text for text in complaints if not re.match(r"Failed to load resource: .*(status of 4\d\d|ERR_FAILED)", text)
    ] == []
    assert len(asked) == 1
    context.close()


def read_text(window: Any, selector: str, pattern: str, *, broken: bool | None = None) -> str:
    """Wait until an element shows this text."""
    from playwright.sync_api import expect

    element = window.locator(selector + {None: "", True: ".broken", False: ":not(.broken)"}[broken])
    expect(element).to_have_text(re.compile(pattern))
    text: str = element.text_content()
    return text


def call(url: str, method: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/v1/{path}", data, {"Content-Type": "application/json"}, method=method)  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def create(url: str, name: str = "spam", challenges: str | None = None) -> None:
    call(url, "POST", "models", {"name": name, "learner": "perceptron", "settings": {}, "challenges": challenges})


def learn(url: str, examples: list[tuple[str, Any]], name: str = "spam") -> None:
    for feature, label in examples:
        call(url, "POST", f"models/{name}/learn", {"features": {feature: 1.0, "all": 0.5}, "label": label})


# --- The scenario ---


def test_a_model_is_created_trained_and_labelled_late(server: str, window: Any) -> None:  # noqa: PLR0915 - one visit
    window.goto(server)
    read_text(window, "#line", "^Live")
    read_text(window, "#no-models", "no models yet")
    window.evaluate("window.same = true")
    # An unknown learner is refused in words, then a model is made.
    window.fill("#new-name", "spam")
    window.fill("#new-learner", "nonsense")
    window.click("#create-form button")
    read_text(window, "#create-said", "nonsense", broken=True)
    window.fill("#new-learner", "perceptron")
    window.fill("#new-settings", '{"margin": ')
    window.click("#create-form button")
    read_text(window, "#create-said", "settings must be JSON", broken=True)
    window.fill("#new-settings", "")
    window.click("#create-form button")
    read_text(window, "#create-said", "spam was created", broken=False)
    read_text(window, "#chosen-name", "^spam$")
    assert window.locator("#models-body tr").count() == 1
    # It predicts nothing yet.
    window.fill("#features", "free 1\nall 0.5")
    window.click("#predict")
    read_text(window, "#tried", "No label yet")
    # Others teach it, and the curve moves.
    curve = window.locator("#mistakes-chart .line.made")
    for rounds in (1, 3):
        before = curve.get_attribute("d")
        learn(server, LETTERS * rounds)
        ledger = call(server, "GET", "models/spam/ledger")
        read_text(window, "#made", f"^{ledger['mistakes']}$")
        read_text(window, "#made-of", f"of {ledger['examples']} examples")
        window.wait_for_function(
            f"document.querySelector('#mistakes-chart .line.made').getAttribute('d') !== {before!r}"
        )
        assert window.locator("#errors-chart .line.made").get_attribute("d")
        assert window.locator("#errors-chart .line.most").get_attribute("d")
        assert f"{ledger['mistakes']} after {ledger['examples']} examples" in (
            window.locator("#mistakes-chart").get_attribute("aria-label") or ""
        )
    mistakes, count = ledger["mistakes"], ledger["examples"]
    read_text(window, "#error-of", f"^of the run: {mistakes} of {count} predictions made while learning were wrong$")
    read_text(window, "#learned-rate", r"\d")
    read_text(window, "#learn-p99", r"within [\d.]+\sms")
    # Predict, then label the prediction late, once.
    window.fill("#features", '{"lottery": 1, "all": 0.5}')
    window.click("#predict")
    read_text(window, "#tried", "Predicted “spam”, score .* Its id is")
    number = window.locator("#late-id").input_value()
    assert number
    read_text(window, "#pending", "^2$")
    window.fill("#late-label", "spam")
    window.click("#send-label")
    read_text(window, "#late-said", "Learned: the prediction was right", broken=False)
    read_text(window, "#late", "1 labelled late")
    read_text(window, "#pending", "^1$")
    window.click("#send-label")
    read_text(window, "#late-said", "already learned", broken=False)
    window.fill("#late-label", "ham")
    window.click("#send-label")
    read_text(window, "#late-said", ".", broken=True)
    window.fill("#late-id", "no-such-id")
    window.click("#send-label")
    read_text(window, "#late-said", r"\bid\b.*\bprediction|\bprediction.*\bid\b", broken=True)
    # It learns at once.
    window.fill("#features", "invoice")
    window.fill("#label", "ham")
    window.press("#label", "Enter")
    read_text(window, "#tried", "^Learned: the prediction was")
    assert call(server, "GET", "models/spam/ledger")["examples"] == ledger["examples"] + 2
    window.fill("#features", "invoice much")
    window.click("#predict")
    read_text(window, "#tried", "Line 1: the value after the name must be a number", broken=True)
    assert window.evaluate("window.same") is True  # all of it without loading the page again


def test_a_certificate_is_shown_as_text_and_as_a_line(server: str, window: Any) -> None:
    create(server)
    learn(server, LETTERS * 4)
    window.goto(server)
    read_text(window, "#allowed-on", "not certified yet")
    assert not window.locator("#mistakes-chart .line.allowed").get_attribute("d")
    window.click("#certify")
    text = read_text(
        window, "#certified", r"made \d+ mistakes? on 20 examples.*allow at most [\d,]+ mistakes?", broken=False
    )
    most = re.search(r"at most ([\d,]+) mistake", text)
    assert most is not None
    read_text(window, "#allowed", r"^[\d,]+$")
    read_text(window, "#allowed-on", "^mistakes at most, in the run of the first 20 examples$")
    window.check("#log")
    window.wait_for_function("document.querySelector('#mistakes-chart .line.allowed').getTotalLength() > 100")
    assert window.locator("#bounds-body tr").count() >= 1
    window.locator("#mistakes-chart").scroll_into_view_if_needed()
    box = window.locator("#mistakes-chart").bounding_box()
    window.mouse.move(box["x"] + box["width"] - 5, box["y"] + 100)
    read_text(window, "#mistakes-chart .note", r"^\d+ mistakes? after 20 examples$")
    with window.expect_download() as download:
        window.click("#save")
    saved = json.loads(download.value.path().read_text())
    assert saved["observed"]["examples"] == 20
    shown = [b for b in saved["bounds"] if "bound" in b and b["any_order"]]
    assert min(int(b["bound"]) for b in shown) == int(most[1].replace(",", ""))
    create(server, "other")
    read_text(window, "#models-body", "other")
    window.click("#models-body a:has-text('other')")
    read_text(window, "#certified", "^$")  # it was not of this one
    window.click("#certify")
    read_text(window, "#certified", ".", broken=True)


def test_the_tile_of_the_bound_is_updated_after_certifying(server: str, window: Any, tmp_path: Path) -> None:
    """Models: a learner without a theorem, one whose bound is for this order only, and an uploaded one."""
    for name in ("arow", "auto"):
        call(server, "POST", "models", {"name": name, "learner": name, "settings": {}})
        learn(server, LETTERS * 2, name)
    X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]
    save(Perceptron(passes=3).fit(X, ["up", "right", "right", "up"]), tmp_path / "m.model")
    request = urllib.request.Request(  # noqa: S310
        f"{server}/v1/models?name=uploaded",
        (tmp_path / "m.model").read_bytes(),
        {"Content-Type": "application/octet-stream"},
    )
    urllib.request.urlopen(request, timeout=60).close()  # noqa: S310
    uploaded = "it was uploaded as a file.*novikoff certify and the original data"
    tiles = {
        "arow": ("not certified yet", "certified; there is no theorem for this learner", "–"),
        "auto": ("not certified yet", "mistakes at most, in the run of the first 10 examples", r"[\d,]+"),
        "uploaded": (uploaded, uploaded, "–"),
    }
    for name, (before, after, number) in tiles.items():
        window.goto(f"{server}/#model/{name}")
        read_text(window, "#chosen-name", f"^{name}$")
        read_text(window, "#allowed-on", f"^{before}$")
        window.click("#certify")
        read_text(window, "#certified", ".", broken=name == "uploaded")
        read_text(window, "#allowed-on", f"^{after}$")
        read_text(window, "#allowed", f"^{number}$")
    read_text(window, "#error-of", "of the run: .*; includes the run before the upload$")
    text = window.locator("#chosen .tiles").inner_text()
    assert re.findall(r".*[Ee]rror.*", text)[:2] == ["Progressive error", "Recent progressive error"]


def test_champion_and_challenger_are_shown_side_by_side(server: str, window: Any) -> None:
    create(server)
    window.goto(server)
    read_text(window, "#chosen-name", "^spam$")
    window.click("#create summary")
    window.fill("#new-name", "rival")
    window.select_option("#new-challenges", "spam")
    window.click("#create-form button")
    read_text(window, "#chosen-name", "^rival$")
    learn(server, LETTERS * 2)
    rows = window.locator("#models-body tr")
    read_text(window, "#models-body tr:nth-child(2)", "rival.*challenges spam")
    read_text(window, "#models-body tr:nth-child(2) td:nth-child(4)", "^10$")
    assert rows.first.inner_text().startswith("spam")
    assert window.locator("[aria-current]").inner_text() == "rival"
    window.click("#refresh")
    read_text(window, "#stream-body", r"rival.*mistakes? on 10 examples; the champion \d+")
    window.fill("#features", "free")
    window.fill("#label", "spam")
    window.click("#learn")
    read_text(window, "#tried", "challenger|champion", broken=True)
    window.go_back()
    read_text(window, "#chosen-name", "^spam$")


def test_names_are_escaped(server: str, window: Any) -> None:
    create(server)
    for k in range(3):
        call(server, "POST", "models/spam/learn", {"features": {NASTY: 1.0, "__proto__": 1.0}, "label": NASTY})
        call(server, "POST", "models/spam/learn", {"features": {"\u202edear": 1.0, "k": k}, "label": "</script><b>"})
    window.goto(f"{server}/#model/spam")
    window.click("#refresh")
    read_text(window, "#weights-body", re.escape(NASTY))
    read_text(window, "#weights-body", "\ufffddear")
    read_text(window, "#chosen-what", re.escape("</script><b>"))
    window.fill("#features", f"{NASTY} 1\n__proto__ 1")
    window.click("#predict")
    read_text(window, "#tried", re.escape(f"Predicted “{NASTY}”"))
    window.fill("#late-label", NASTY)
    window.click("#send-label")
    read_text(window, "#late-said", "Learned")
    window.fill("#late-id", NASTY)
    window.click("#send-label")
    read_text(window, "#late-said", ".", broken=True)
    window.click("#create summary")
    window.fill("#new-name", NASTY)
    window.click("#create-form button")
    read_text(window, "#create-said", ".", broken=True)
    window.goto(f"{server}/#model/{NASTY}")
    read_text(window, "#said", re.escape(f"There is no model named “{NASTY}”."), broken=True)
    assert window.locator("b:not(.tiles b)").count() == 0


def test_a_prediction_is_explained_by_a_table(server: str, window: Any) -> None:
    create(server)
    learn(server, [*LETTERS, (NASTY, "spam")])
    call(server, "POST", "models", {"name": "trees", "learner": "online-bagging"})
    learn(server, LETTERS, "trees")
    window.goto(f"{server}/#model/spam")
    read_text(window, "#chosen-name", "^spam$")
    assert window.locator("#explanation").is_hidden()
    text = f"free 2\n{NASTY} 1\nall 0.5\nnever-seen 3"
    window.fill("#features", text)
    window.click("#explain")
    features = {"free": 2.0, NASTY: 1.0, "all": 0.5, "never-seen": 3.0}
    answer = call(server, "POST", "models/spam/predict", {"features": features, "keep": False, "explain": True})
    found = answer["explanation"]
    read_text(window, "#explained", f"^Predicted “{found['predicted']}”, score ")
    read_text(window, "#explained", f"for “{found['label']}” against “{found['against']}”")
    read_text(window, "#explained", rf"The probability of “{found['label']}” is [\d.]+\s%\.$")
    table = window.get_by_role("region", name="Contributions of the features to the score")
    assert table.get_by_role("columnheader").all_text_contents() == ["Feature", "Value", "Weight", "Contribution"]
    rows = [str(part["feature"]) for part in found["contributions"]] + ["(bias)"]
    assert table.get_by_role("rowheader").all_text_contents() == rows
    shown = window.locator("#explanation-body tr td:last-child").all_text_contents()
    numbers = [float(number.replace("\u2212", "-").replace(",", "")) for number in shown]
    parts = [part["contribution"] for part in found["contributions"]] + [found["bias"]]
    assert numbers == pytest.approx(parts, rel=1e-3)
    assert sum(numbers) == pytest.approx(found["score"], rel=1e-2)
    assert call(server, "GET", "models/spam/ledger")["pending"]["waiting"] == 0  # nothing was kept
    # Another prediction, a model without a linear score and features that are not valid leave no table.
    window.click("#predict")
    read_text(window, "#tried", "Its id is")
    assert window.locator("#explanation").is_hidden()
    window.click("#explain")
    read_text(window, "#explained", "Predicted")
    window.fill("#features", "free much")
    window.click("#explain")
    read_text(window, "#tried", "must be a number", broken=True)
    assert window.locator("#explanation").is_hidden()
    window.goto(f"{server}/#model/trees")
    read_text(window, "#chosen-name", "^trees$")
    window.fill("#features", "free 1")
    window.click("#explain")
    read_text(window, "#tried", "not a sum of value × weight", broken=True)
    assert window.locator("#explanation").is_hidden()


def test_a_lost_connection_is_reported_and_restored(server: str, window: Any) -> None:
    create(server)
    window.route("**/v1/events", lambda route: route.abort())
    window.goto(server)
    read_text(window, "#line", r"can’t be reached\. Trying again in (a second|\d+ seconds)\.")
    learn(server, LETTERS)
    window.unroute("**/v1/events")
    read_text(window, "#line", "^Live")
    read_text(window, "#made-of", "of 5 examples")


def test_a_token_is_requested_and_stored_in_the_tab(token_server: tuple[str, str], window: Any) -> None:
    url, token = token_server
    window.goto(url)
    read_text(window, "#token-said", "[Tt]oken", broken=True)
    read_text(window, "#line", "^Not live")
    window.fill("#token", "wrong")
    window.keyboard.press("Enter")
    window.wait_for_selector("#token-section:visible")
    read_text(window, "#token-said", "[Tt]oken", broken=True)
    window.fill("#token", "ünfit")
    window.keyboard.press("Enter")
    read_text(window, "#token-said", "Copy it again", broken=True)
    window.fill("#token", token)
    window.keyboard.press("Enter")
    read_text(window, "#line", "^Live")
    window.wait_for_selector("#token-section", state="hidden")
    assert window.locator("#token").input_value() == ""
    window.fill("#new-name", "spam")
    window.click("#create-form button")
    read_text(window, "#chosen-name", "^spam$")
    assert token in window.evaluate("JSON.stringify(sessionStorage)")
    assert window.evaluate("localStorage.length") == 0
    assert window.context.cookies() == []
    assert token not in window.content()
    window.reload()
    read_text(window, "#line", "^Live")
    window.click("#forget")
    read_text(window, "#token-said", "[Tt]oken", broken=True)
    assert window.evaluate("sessionStorage.length") == 0


# --- For everybody ---


def test_nothing_is_wider_than_the_window(server: str, window: Any) -> None:
    create(server, "a" * 64)
    create(server, "rival", "a" * 64)
    learn(server, [("x" * 150, "y" * 150), ("z", "ham")], "a" * 64)
    window.set_viewport_size({"width": 360, "height": 800})
    window.goto(server)
    window.click("#create summary")
    window.click("#points summary")
    window.click("#certify")
    read_text(window, "#certified", "allow|theorem")
    window.fill("#features", "x" * 150)
    window.click("#predict")
    read_text(window, "#tried", "Its id is")
    window.click("#explain")
    read_text(window, "#explained", "Predicted")
    read_text(window, "#weights-body", ".")
    for width in (360, 1400, 800, 360):
        window.set_viewport_size({"width": width, "height": 800})
        window.wait_for_function("document.querySelector('#mistakes-chart').clientWidth <= innerWidth")
        assert window.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_works_by_keyboard(server: str, window: Any) -> None:
    create(server)
    learn(server, LETTERS)
    window.goto(server)
    read_text(window, "#made-of", "of 5 examples")
    window.click("#create summary")
    read_text(window, "#weights-body", ".")
    window.evaluate("document.activeElement.blur()")
    wanted = window.evaluate(
        """[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
           .filter((e) => e.checkVisibility()).length"""
    )
    reached = set()
    for _ in range(wanted + 5):
        window.keyboard.press("Tab")
        place, seen = window.evaluate(
            """(() => { const e = document.activeElement; const all = [...document.querySelectorAll('*')];
               const { outlineStyle, outlineWidth } = getComputedStyle(e);
               const seen = outlineStyle !== 'none' && outlineWidth !== '0px';
               return [all.indexOf(e), seen || e === document.body]; })()"""
        )
        assert seen, window.evaluate("document.activeElement.outerHTML")
        reached.add(place)
    assert len(reached - {window.evaluate("[...document.querySelectorAll('*')].indexOf(document.body)")}) == wanted
    window.focus("#features")
    window.keyboard.type("free 1")
    window.keyboard.press("Tab")
    window.keyboard.press("Enter")
    read_text(window, "#tried", "Its id is")
    assert window.evaluate("document.activeElement.id") == "predict"  # the place is not lost
    window.focus("#late-label")
    window.keyboard.type("spam")
    window.keyboard.press("Enter")
    read_text(window, "#late-said", "Learned")


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_contrast_is_sufficient(scheme: str) -> None:
    """WCAG 2, AA: 4.5 for text, 3 for drawings and for the edges of fields."""
    style = dashboard.read_dashboard_file("style.css")[0].decode()
    roots = re.findall(r":root \{(.*?)\}", style, re.S)
    colours = {}
    for root in roots if scheme == "dark" else roots[:1]:
        for name, value in re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6});", root):
            colours[name] = value if len(value) == 7 else "#" + "".join(2 * letter for letter in value[1:])

    def contrast(one: str, other: str) -> float:
        low, high = sorted(luminance(colours[name]) for name in (one, other))
        return (high + 0.05) / (low + 0.05)

    papers = ("paper", "good-paper", "bad-paper", "chosen")
    for text in ("ink", "soft", "link"):
        assert min(contrast(text, paper) for paper in papers) >= 4.5, text
    assert contrast("on-link", "link") >= 4.5
    assert contrast("allowed", "paper") >= 4.5  # notes in charts
    for mark in ("made", "lately", "field", "focus", "good", "bad"):
        assert contrast(mark, "paper") >= 3.0, mark


class Outline(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_files_are_static_and_labelled() -> None:
    folder = Path(dashboard.__file__).parent
    assert sorted(dashboard.DASHBOARD_FILES) == sorted(
        p.name for p in folder.iterdir() if p.suffix in (".html", ".css", ".js")
    )
    tags = Outline(dashboard.read_dashboard_file("index.html")[0].decode()).tags
    ids = [a["id"] for _, a in tags if a.get("id")]
    assert len(ids) == len(set(ids))
    assert not any(tag == "style" or "style" in a or any(key.startswith("on") for key in a) for tag, a in tags)
    assert [a for tag, a in tags if tag == "script"] == [{"type": "module", "src": "page.js"}]
    for _, attributes in tags:
        for key in ("for", "aria-labelledby", "list"):
            assert attributes.get(key) in (None, *ids)
    labelled = {a["for"] for tag, a in tags if tag == "label" and a.get("for")}
    fields = {a["id"] for tag, a in tags if tag in ("input", "select", "textarea") and a.get("type") != "checkbox"}
    assert fields == labelled
    code = {
        name: dashboard.read_dashboard_file(name)[0].decode()
        for name in dashboard.DASHBOARD_FILES
        if name.endswith(".js")
    }
    for name, text in code.items():
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|https?://(?!www\.w3\.org)", text
        )
        assert set(re.findall(r'from "\./([a-z]+\.js)"', text)) <= set(dashboard.DASHBOARD_FILES), name
        for used in re.findall(r'\bat\("([a-z0-9-]+)"\)', text):
            assert used in ids, (name, used)
    with pytest.raises(KeyError):
        dashboard.read_dashboard_file("../routes.py")


# --- The parts that reckon, against slow or other ones ---


@pytest.mark.slow
def test_events_are_parsed_whatever_the_chunks(server: str, window: Any) -> None:
    window.goto(server)
    sent = ['{"a": 1}', '{"ü": "€ 😀"}', "two\nlines", ""]
    text = ": comment\n\nevent: models\r\ndata: " + sent[0] + "\r\n\r\nretry: 3\ndata:" + sent[1] + "\n\n"
    text += "event: x\rdata: two\rdata: lines\r\rid: 7\n\ndata\n\n"
    expected = [["models", sent[0]], ["message", sent[1]], ["x", sent[2]], ["message", sent[3]]]
    dice = random.Random(0)
    for most in (1, 2, 5, 1000):
        data, pieces = text.encode(), []
        while data:
            size = dice.randint(1, most)
            pieces.append(list(data[:size]))
            data = data[size:]
        found = window.evaluate(
            """async (pieces) => {
              const { events } = await import("/events.js");
              const start = (all) => { for (const p of pieces) all.enqueue(new Uint8Array(p)); all.close(); };
              const bytes = new ReadableStream({ start });
              const found = [];
              for await (const one of events(bytes)) if (one !== null) found.push([one.event, one.data]);
              return found; }""",
            pieces,
        )
        assert found == expected


@pytest.mark.slow
def test_wording_equals_that_of_the_reports(server: str, window: Any) -> None:
    window.goto(server)
    dice = random.Random(1)
    values = [0.2552, 0.25, 0.0, 0.9999, 0.001234, *(dice.random() ** k for k in range(1, 6) for _ in range(40))]
    found = window.evaluate("async (v) => { const w = await import('/text.js'); return v.map(w.atMost); }", values)
    for text, value in zip(found, values, strict=True):
        number, unit = text.split("\u00a0")
        assert (float(number), unit) == (float(formatting.format_upper_percent(value).split()[0]), "%")
        assert float(number) >= 100.0 * value * (1.0 - 1e-12)


@pytest.mark.slow
def test_the_drawn_bound_is_the_tightest_certified_one(server: str, window: Any) -> None:
    """At every number of examples the steps show the tightest certificate that covers it."""
    window.goto(server)
    dice = random.Random(2)
    for _ in range(20):
        certified = {dice.randint(1, 30): float(dice.randint(1, 50)) for _ in range(dice.randint(1, 5))}
        steps = window.evaluate(
            """async (certified) => { const { Curve } = await import("/curve.js"); const curve = new Curve();
              for (const [examples, allowed] of certified) curve.allow({ examples, allowed });
              return curve.steps(); }""",
            list(certified.items()),
        )
        assert steps[0][0] == 0
        assert steps[-1][0] == max(certified)
        for (a, b), (c, d) in zip(steps[::2], steps[1::2], strict=True):
            assert b == d == min(allowed for examples, allowed in certified.items() if examples >= c)
            assert not any(a < examples < c for examples in certified)


@pytest.mark.slow
def test_a_confidence_line_is_drawn_only_where_the_server_gives_one(server: str, window: Any) -> None:
    window.goto(server)
    now = progressive(mistakes=5, examples=40, delta=0.05)
    for sent in (now, now * 0.9, None):
        found = window.evaluate(
            """async (most) => { const { Curve } = await import("/curve.js");
              const curve = Curve.of([0, 10, 20].map((examples) => ({ examples, mistakes: examples / 5, bound: 1 })));
              curve.add({ examples: 40, mistakes: 5, most });
              return [curve.bound, curve.points.map(curve.most)]; }""",
            sent,
        )
        reckoned = [progressive(mistakes=m // 5, examples=m, delta=0.05) for m in (10, 20)]
        assert found == [
            None,
            [None, *([pytest.approx(r, rel=1e-9) for r in reckoned] if sent == now else [None, None]), sent],
        ]


@pytest.mark.slow
def test_features_and_labels_are_parsed_as_typed(server: str, window: Any) -> None:
    window.goto(server)

    def read(what: str, *arguments: Any) -> Any:
        return window.evaluate(
            """async ([what, given]) => { const forms = await import("/forms.js");
              try { return JSON.parse(JSON.stringify(forms[what](...given))); }
              catch (e) { return `error: ${e.message}`; } }""",
            [what, arguments],
        )

    assert read("features", " free 1\r\n\n two words -2.5e3\nalone\n") == {"free": 1, "two words": -2500, "alone": 1}
    assert read("features", '["a", "b"]') == ["a", "b"]
    assert read("features", '{"a": 0.5}') == {"a": 0.5}
    assert read("features", "a 1\na 2").startswith("error: Line 2: “a” comes a second time")
    assert read("features", "a b").startswith("error: Line 1: after the name")
    assert read("features", " \n").startswith("error: There are no features")
    assert read("features", "{").startswith("error: The features can’t be read as JSON")
    assert [read("label", text, []) for text in ("x", "1", '"1"', "true", '["a"]', "null", "{}")] == [
        "x", 1, "1", True, ["a"], "null", "{}",
    ]  # fmt: skip
    assert read("label", "1", ["0", "1"]) == "1"
    assert read("label", " ", []).startswith("error: There is no label")
