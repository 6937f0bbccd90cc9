"""The pages of Teach: each action does what its method does, and keys alone are enough."""

import json
import re
import time
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from browsing import Browsing, axe_script, chromium
from open_homes import copy_home

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SameRequest, SuggestRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

HOSTILE = ("<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "{{ 7 * 7 }}", "photo\u202egpj", "x" * 300)


class _Form(HTMLParser):
    """The fields of the forms of a page, by the path that they are sent to; buttons do not count."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: dict[str, list[tuple[str, str]]] = {}
        self.elements: list[str] = []
        self._path = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.elements.append(tag)
        assert not any(name.startswith("on") or name == "style" for name in given), tag
        if tag == "form":
            self._path = given["action"]
            self.forms.setdefault(self._path, [])
        elif tag == "input" and "name" in given and given.get("type") not in ("checkbox", "radio"):
            self.forms.setdefault(self._path, []).append((given["name"], given.get("value", "")))


def sent(client: Browsing, page: str, path: str, **pressed: Any) -> Any:
    """Send a form of a page as a browser without scripts does, with the pressed button; return the page after it."""
    fields = [one for one in _Form(page).forms[path] if one[0] not in pressed] + [
        (name, one) for name, value in pressed.items() for one in ([value] if isinstance(value, str) else value)
    ]
    headers = {"content-type": "application/x-www-form-urlencoded"}
    found = client.post(path, content=urlencode(fields), headers=headers, follow_redirects=True)
    assert found.status_code == 200, found.text
    return found.text


def buttons(page: str, name: str) -> list[str]:
    """Return the values of the buttons or boxes of a name, in order."""
    return [unescape(one) for one in re.findall(rf'name="{name}" value="([^"]*)"', page)]


@pytest.fixture(scope="module")
def taught(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, RunningServer]]:
    """A server of a copy of the home, which the tests change."""
    copied = Home(tmp_path_factory.mktemp("taught"))
    copy_home(home.path / "drawn", copied.path / "drawn")
    with RunningServer(ServerSettings(home=copied.path, port=0, web=True)) as running:
        yield copied, running


@pytest.fixture
def client(taught: tuple[Home, RunningServer]) -> Iterator[Browsing]:
    with Browsing(taught[1].http_port) as made:
        yield made


def answers(taught: tuple[Home, RunningServer], notion: str, person: str = "") -> list[Any]:
    with taught[0].open("drawn") as collection:
        return collection.questions.answers(notion, person)


@pytest.mark.parametrize(("kind", "number"), [("single", 2), ("grid", 9)])
def test_an_answer_states_what_is_near_and_can_be_undone(
    client: Browsing, taught: tuple[Home, RunningServer], kind: str, number: int
) -> None:
    ask = "/c/drawn/teach/ask"
    page = client.get(f"{ask}?notion=tone&kind={kind}&person={kind}").text
    shown = buttons(page, "near")
    assert len(shown) == number
    near = shown[: number // 2]
    page = sent(client, page, ask, near=near)
    (stored,) = answers(taught, "tone", kind)
    assert (set(stored.near), set(stored.far)) == (set(near), set(shown[number // 2 :]))
    assert "1 answer" in page
    page = sent(client, page, ask, skip="1")
    assert not answers(taught, "tone", kind)[-1].triplets
    page = sent(client, page, "/c/drawn/teach/undo")
    page = sent(client, page, "/c/drawn/teach/undo")
    assert answers(taught, "tone", kind) == []
    assert "Asked again" in page
    assert set(buttons(page, "near")) == set(shown)


def test_notions_show_answers_and_where_people_agree(client: Browsing) -> None:
    ask = "/c/drawn/teach/ask"
    page = client.get(f"{ask}?notion=form&person=ann").text
    question = dict(_Form(page).forms[ask])
    near = buttons(page, "near")
    for person, chosen in (("ann", near[0]), ("bob", near[1])):
        sent(client, page, ask, near=chosen, person=person)
    shown = client.get("/c/drawn/teach").text
    assert "People agree on 0 of the 1 comparisons" in shown
    assert "Answered differently" in shown
    assert question["anchor"].rpartition("/")[2] in shown
    assert client.get(ask).status_code == 400  # no notion


def test_accepted_labels_are_stored_and_taken_back(client: Browsing, taught: tuple[Home, RunningServer]) -> None:
    labels = "/c/drawn/teach/labels"
    assert "Every item has a label" in client.get(labels).text
    with taught[0].open("drawn") as collection:
        keys = [one.key for one in collection.items.page(None, "", 6)[0]]
    client.post(
        "/crossview.v1.CollectionService/UpdateItems",
        json={"parent": "collections/drawn", "updates": [{"key": key, "clearLabels": True} for key in keys]},
    )
    page = client.get(labels).text
    shown = [json.loads(one) for one in buttons(page, "item")]
    with taught[0].open("drawn") as collection:
        wanted = collection.suggest(SuggestRequest([Query("color", key=key) for key in keys], min_share=0.0))
    best = {key: one.labels[0].label for key, one in zip(keys, wanted.results, strict=True) if one.labels}
    assert {key: label for key, label, _ in shown} == best
    assert [one[2] for one in shown] == sorted((one[2] for one in shown), reverse=True)

    def stored(key: str) -> list[str]:
        with taught[0].open("drawn") as collection:
            return list(collection.items.get(key).labels)

    first, second = shown[:2]
    page = sent(client, page, labels, accept=json.dumps(first))
    assert stored(first[0]) == [first[1]]
    page = sent(client, page, labels, undo="1")
    assert stored(first[0]) == []
    page = sent(client, page, labels, reject=json.dumps(second))
    assert second[0] not in [json.loads(one)[0] for one in buttons(page, "item")]
    page = sent(client, page, labels, undo="1")
    assert second[0] in [json.loads(one)[0] for one in buttons(page, "item")]
    sent(client, page, labels, least="0", all="1")
    assert {key: stored(key) for key in best} == {key: [label] for key, label in best.items()}
    wrong = client.submit(labels, accept="[1")
    assert (wrong.status_code, "load it again" in wrong.text) == (400, True)


def test_the_threshold_counts_known_pairs(client: Browsing, taught: tuple[Home, RunningServer]) -> None:
    path = "/c/drawn/teach/same?view=color&by=labels&at=50"
    page = client.get(path).text
    assert "No threshold yet" in page
    page = sent(client, page, "/c/drawn/teach/calibrate")
    pairs = re.findall(r'data-share="([\d.]+)" data-known="(same|different)"', page)
    assert {known for _, known in pairs} == {"same", "different"}
    assert [float(one) for one, _ in pairs] == sorted((float(one) for one, _ in pairs), reverse=True)
    passed = [known for share, known in pairs if float(share) >= 0.5]
    right = passed.count("same")
    assert f'data-count="precision-of">{right} of {len(passed)}<' in page
    page = client.get("/c/drawn/teach/same?view=color&by=photographs").text
    first, second = buttons(page, "first")[0], buttons(page, "second")[0]
    judging = "/c/drawn/teach/judge"
    page = sent(client, page, judging, first=first, second=second, verdict="same", by="photographs")
    with taught[0].open("drawn") as collection:
        (verdict,) = collection.same(
            SameRequest([(Query("color", key=first), Query("color", key=second))], target="color")
        )
    assert f'data-share="{verdict.probability:.4f}" data-known="same"' in page
    judged = client.post("/crossview.v1.QuestionService/ListPairJudgements", json={"parent": "collections/drawn"})
    assert [one["same"] for one in judged.json()["judgements"]] == [True]
    sent(client, page, judging, undo="1", by="photographs")
    judged = client.post("/crossview.v1.QuestionService/ListPairJudgements", json={"parent": "collections/drawn"})
    assert "judgements" not in judged.json()


def test_sliders_move_the_results_by_their_address(client: Browsing, taught: tuple[Home, RunningServer]) -> None:
    assert "No space has attributes" in client.get("/c/drawn/teach/attributes").text
    with taught[0].open("drawn") as collection:
        collection.train(Recipe(spec="attributes", views=("color",)), space="moods")
        axes = next(one.axes for one in collection.info().spaces if one.name == "moods")
        key = collection.items.page(None, "", 1)[0][0].key
    query = {"space": "moods", "like": key, f"by.{axes[0]}": "-1.5", "hold": axes[1]}
    page = client.get("/c/drawn/teach/attributes", params=query).text
    found = client.post(
        "/crossview.v1.SearchService/Search",
        json={
            "parent": "collections/drawn",
            "space": "moods",
            "queries": [{"key": key, "view": "color"}],
            "less": {axes[0]: 1.5},
            "hold": [axes[1]],
            "k": 24,
        },
    ).json()
    wanted = [hit["key"] for hit in found["results"][0]["hits"] if hit["key"] != key]
    shown = [unescape(one) for one in re.findall(r'<li><a href="[^"]*like=([^"&]*)"', page)]
    assert [one.replace("%2F", "/") for one in shown] == wanted
    assert f'name="by.{axes[0]}" min="-3.0" max="3.0" step="0.25" value="-1.5"' in page
    assert client.get("/c/drawn/teach/attributes", params={"space": "none"}).status_code == 404


def test_a_training_is_measured_and_then_used_or_discarded(
    client: Browsing, taught: tuple[Home, RunningServer]
) -> None:
    train = "/c/drawn/teach/train"
    page = client.get(train).text
    assert client.submit(train, space="raw", view="color").status_code == 409
    assert client.submit(train).status_code == 400
    page = sent(client, page, train, view=["color", "sift"], learner="cca", held_out="0.2", space="next")
    job = re.search(r'name="id" value="([^"]+)"', page)
    assert job is not None
    address = f"/c/drawn/teach/job?id={job[1]}&space=next&before=default"
    page = _ended(client, address)
    assert "next</bdi> is trained" in page
    assert "Mean average precision" in page
    assert "Own item" in page
    with taught[0].open("drawn") as collection:
        before = collection.info().active_space
    page = sent(client, page, "/c/drawn/teach/use", space="next")
    with taught[0].open("drawn") as collection:
        assert collection.info().active_space == "next" != before
    sent(client, page, "/c/drawn/teach/use", space=before)
    sent(client, page, "/c/drawn/teach/discard", space="next")
    with taught[0].open("drawn") as collection:
        info = collection.info()
        assert info.active_space == before
        assert "next" not in [one.name for one in info.spaces]
    assert "was discarded" in client.get(address).text
    assert client.get("/c/drawn/teach/job?id=none").status_code == 404


def _ended(client: Browsing, address: str) -> str:
    for _ in range(3_000):
        page = client.get(address).text
        if "data-runs" not in page:
            return page
        time.sleep(0.2)
    raise AssertionError("the job does not end")


def test_a_training_is_cancelled(client: Browsing) -> None:
    train = "/c/drawn/teach/train"
    page = sent(client, client.get(train).text, train, view=["color", "sift"], learner="joint", space="never")
    page = sent(client, page, "/c/drawn/cancel")
    job = re.search(r"page-[0-9a-f]+", page)
    page = page if job is None else _ended(client, f"/c/drawn/teach/job?id={job[0]}")
    assert "cancelled" in page


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, pictures: Path) -> Iterator[RunningServer]:
    """A server with a collection whose keys and labels are hostile."""
    made = Home(tmp_path_factory.mktemp("hostile"))
    kinds = [(pictures / f"dots/dots-0{number}.jpg").read_bytes() for number in range(4)]
    with made.create("hostile", views=("color",)) as collection:
        items = [
            NewItem(f"{text}{number}", image=picture, labels=() if number == 3 else (text[:200],))
            for text in HOSTILE
            for number, picture in enumerate(kinds)
        ]
        collection.items.put(items)
    with RunningServer(ServerSettings(home=made.path, port=0, web=True)) as running:
        yield running


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_only_texts(hostile: RunningServer, text: str) -> None:
    notion = text[:60]
    teach = "/c/hostile/teach"
    with Browsing(hostile.http_port) as client:
        page = client.get(f"{teach}/ask?{urlencode({'notion': notion, 'person': notion, 'view': notion})}").text
        asked = client.get(f"{teach}/ask?{urlencode({'notion': notion, 'person': notion, 'kind': 'grid'})}")
        if asked.status_code == 200:
            sent(client, asked.text, f"{teach}/ask", near=buttons(asked.text, "near")[:2])
        pages = [page, asked.text, client.get(teach).text, client.get(f"{teach}/labels?space=raw").text]
        pages += [
            client.get(f"{teach}/{name}?{urlencode({'space': text, 'view': text, 'like': text, 'id': text})}").text
            for name in ("labels", "train", "attributes", "same", "job")
        ]
        for shown in pages:
            elements = _Form(shown).elements
            assert elements.count("script") == len(re.findall(r'<script (?:type="module" )?src="/static/', shown))
            assert "\u202e" not in re.sub(r'(value|href|src)="[^"]*"', "", shown)
            assert "onerror=alert(1)>" not in shown
            assert len(shown) < 200_000


@pytest.mark.long
def test_questions_are_answered_by_keys_alone(taught: tuple[Home, RunningServer]) -> None:
    """They lead from the collection to three answers, one undone: no pointer, no error, no outside request."""
    address = f"http://127.0.0.1:{taught[1].http_port}"
    status = "text => document.querySelector('[data-status]').textContent.includes(text)"
    problems: list[str] = []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.on("console", lambda one: problems.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda one: problems.append(str(one)))
        page.on("request", lambda one: None if one.url.startswith((address, "blob:")) else problems.append(one.url))
        page.goto(f"{address}/c/drawn/teach")
        page.locator("input[name=notion]").focus()
        page.keyboard.type("keys")
        page.keyboard.press("Tab")
        page.keyboard.type("kim")
        page.keyboard.press("Enter")
        page.wait_for_selector(".question")
        for key, shown in (("1", "1 answer"), ("2", "2 answers"), ("u", "1 answer"), ("0", "2 answers")):
            page.keyboard.press(key)
            page.wait_for_function(status, arg=shown)
            assert shown in page.locator("#spoken").text_content()
        page.locator(".switch select[name=kind]").select_option("grid")
        page.wait_for_selector(".question.nine")
        for key in "139":
            page.keyboard.press(key)
        assert page.locator(".choice :checked").count() == 3
        page.locator("#content").focus()
        page.keyboard.press("Enter")
        page.wait_for_function(status, arg="3 answers")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.close()
    stored = answers(taught, "keys", "kim")
    assert [len(one.near) for one in stored] == [1, 0, 3]
    assert problems == []


@pytest.mark.long
@pytest.mark.parametrize("path", ["", "/ask?notion=tone", "/ask?notion=tone&kind=grid", "/labels", "/train", "/same"])
def test_nothing_keeps_people_out(taught: tuple[Home, RunningServer], path: str) -> None:
    script = axe_script()
    with chromium() as browser:
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme, bypass_csp=True)
            page.goto(f"http://127.0.0.1:{taught[1].http_port}/c/drawn/teach{path}")
            page.evaluate(script)
            found = page.evaluate("async () => (await axe.run()).violations")
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
            page.close()
