"""Ordinary commands in any order equal a plain model: only named things ever change."""

import csv
import tempfile
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import encode
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.item import IndexOptions, ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

KEYS = ("a", "b/1", "photos/cat/0.png", unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"))
FOLDERS = ("cat", "dog")
keys = st.sampled_from(KEYS)
some_labels = st.lists(st.sampled_from(["cat", "dog", "é", "x y"]), unique=True, max_size=2).map(tuple)
names = st.sampled_from(["year", "é", 'a"b', "a.b", ""])
values = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "1", "true", "é"]))
attributes = st.dictionaries(names, values, max_size=2)
texts = st.sampled_from(["", "red rose", "blue sea\nwide"])
maybe = {"labels": st.none() | some_labels, "attributes": st.none() | attributes, "text": st.none() | texts}
vectors = st.lists(st.integers(-9, 9), min_size=3, max_size=3)


@dataclass
class Known:
    """The model's facts about an item."""

    key: str
    labels: tuple[str, ...] = ()
    given: bool = False
    attributes: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    clip: list[int] | None = None
    picture: bytes | None = None
    """The file as it was when it was indexed."""

    @property
    def pictured(self) -> bool:
        return self.picture is not None

    def change(self, labels: Any, attributes: Any, text: Any, removed: Any = (), given: bool = True) -> None:
        if labels is not None and (given or not self.given):
            self.labels, self.given = tuple(sorted(labels)), self.given or given
        for name in removed:
            self.attributes.pop(name, None)
        if attributes is not None:
            self.attributes = {**self.attributes, **attributes} if attributes else {}
        self.text = self.text if text is None else text


def normal(key: str) -> str:
    return unicodedata.normalize("NFC", key)


class OrdinaryUse(RuleBasedStateMachine):
    """Commands on a collection, here; the model gets each, too."""

    name = "used"

    def homed(self) -> Home:
        return Home(self.root / "home")

    def opened(self, home: Home) -> Any:
        return home.open(self.name)

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        home = self.homed()
        home.create(self.name, ["color", "clip=vectors:dim=3"]).close()
        self.collection = self.opened(home)
        self.model: dict[str, Known] = {}
        self.deleted: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}
        for folder in FOLDERS:
            (self.root / "photos" / folder).mkdir(parents=True)

    def teardown(self) -> None:
        if hasattr(self, "collection"):
            self.collection.close()
            self.folder.cleanup()

    # -- by a program

    @rule(key=keys, clip=st.none() | vectors, **maybe)
    def import_an_item(self, key: str, clip: Any, labels: Any, attributes: Any, text: Any) -> None:
        rows = {} if clip is None else {"clip": clip}
        report = self.collection.items.put([NewItem(key, rows=rows, labels=labels, attributes=attributes, text=text)])
        new = normal(key) not in self.model
        if new and clip is None and text is None:
            assert len(report.failures) == 1
            return
        assert (report.added, len(report.failures)) == (int(new), 0)
        known = self.model.setdefault(normal(key), Known(key))
        known.change(labels, attributes, text)
        known.clip = known.clip if clip is None else clip

    @rule(key=keys, removed=st.lists(names, max_size=1).map(tuple), **maybe)
    def update_an_item(self, key: str, labels: Any, attributes: Any, text: Any, removed: Any) -> None:
        report = self.collection.items.update(
            [ItemUpdate(key, labels=labels, attributes=attributes, removed_attributes=removed, text=text)]
        )
        assert len(report.failures) == (normal(key) not in self.model)
        if normal(key) in self.model:
            self.model[normal(key)].change(labels, attributes, text, removed)

    @rule(key=keys, clip=vectors)
    def put_a_vector(self, key: str, clip: list[int]) -> None:
        self.collection.items.put_vectors("clip", [key], np.array([clip], np.float32))
        self.model.setdefault(normal(key), Known(key)).clip = clip

    @rule(some=st.lists(keys, min_size=1, max_size=2))
    def delete(self, some: list[str]) -> None:
        there = {normal(key) for key in some} & set(self.model)
        assert self.collection.items.delete(some) == len(there)
        for key in there:
            if (picture := self.model.pop(key).picture) is not None:
                self.deleted[key] = picture

    # -- by files

    @rule(folder=st.sampled_from(FOLDERS), number=st.integers(0, 1), shade=st.integers(0, 255))
    def put_a_picture(self, folder: str, number: int, shade: int) -> None:
        data = encode(np.full((12, 12, 3), shade, np.uint8))
        (self.root / "photos" / folder / f"{number}.png").write_bytes(data)
        self.files[f"photos/{folder}/{number}.png"] = data

    @precondition(lambda self: self.files)
    @rule(by=st.sampled_from(["nothing", "folder", "replaced"]), named=st.booleans())
    def index(self, by: str, named: bool) -> None:
        named = named and any(known.pictured for known in self.model.values())  # their folder has its alias then
        paths = [self.root / key for key in self.files] if named else [self.root / "photos"]
        labels = None if by == "nothing" else "folder"
        self.collection.index(paths, IndexOptions(labels=labels, workers=1, replace_labels=by == "replaced"))
        for key, data in self.files.items():
            if not named and key not in self.model and self.deleted.get(key) == data:
                continue
            known = self.model.setdefault(key, Known(key))
            known.picture = data
            known.change([key.split("/")[1]] if labels else None, None, None, given=by == "replaced")

    @rule(rows=st.lists(st.tuples(keys, some_labels, st.sampled_from(["", "1999", "x"])), min_size=1, max_size=3))
    def annotate(self, rows: list[tuple[str, tuple[str, ...], str]]) -> None:
        rows = list({normal(key): (key, *more) for key, *more in rows}.values())
        there = [row for row in rows if normal(row[0]) in self.model]
        path = self.root / "labels.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(
                [["key", "label", "label", "year"], *([k, *(*some, "", "")[:2], year] for k, some, year in rows)]
            )
        if not there:
            with pytest.raises(ValueError, match="does not name any item"):
                self.collection.items.annotate(path)
            return
        self.collection.items.annotate(path)
        for key, some, year in there:
            self.model[normal(key)].change(
                some, {"year": int(year) if year.isdigit() else year} if year else None, None, () if year else ["year"]
            )

    # -- with spaces

    @precondition(lambda self: sum(known.clip is not None for known in self.model.values()) > 2)
    @rule()
    def train(self) -> None:
        self.collection.train(Recipe(spec="pca:2", views=("clip",)))

    @rule()
    def open_again(self) -> None:
        self.collection.close()
        self.collection = self.opened(self.homed())

    # -- what must hold

    @invariant()
    def everything_is_as_the_model_has_it(self) -> None:
        if not hasattr(self, "collection"):
            return
        found = {item.key: item for item in self.collection.items(limit=1000)}
        assert set(found) == {known.key for known in self.model.values()}
        for known in self.model.values():
            item = found[known.key]
            assert item.labels == known.labels
            assert dict(item.attributes) == known.attributes
            assert item.text == known.text
            views = {"color": known.pictured, "clip": known.clip is not None}
            assert item.views == tuple(view for view, there in views.items() if there)

    @invariant()
    def filters_and_searches_see_the_same(self) -> None:
        if not hasattr(self, "collection"):
            return
        cats = {known.key for known in self.model.values() if "cat" in known.labels}
        assert self.collection.count(Filter(labels=("cat",))) == len(cats)
        vectors = {known.key: known for known in self.model.values() if known.clip is not None}
        for space in ("raw", ""):
            query = Query("clip", vector=[0.0, 0.0, 0.0])
            (answer,) = self.collection.search(SearchRequest([query], targets=["clip"], k=10, space=space))
            assert {hit.key: (hit.labels, dict(hit.attributes)) for hit in answer.hits} == {
                key: (known.labels, known.attributes) for key, known in vectors.items()
            }


class OrdinaryUseOfAServer(OrdinaryUse):
    """The same through a server, one for all examples: each has a collection of its own, among earlier ones."""

    server: RunningServer
    numbers = count()

    def homed(self) -> Home:
        return Home(self.server.settings.home)

    def opened(self, home: Home) -> Any:
        self.client = Client(self.server.address)
        return self.client.open(self.name)

    def __init__(self) -> None:
        super().__init__()
        self.name = f"used-{next(self.numbers)}"

    def teardown(self) -> None:
        if hasattr(self, "client"):
            self.client.close()
        super().teardown()


MACHINES = (OrdinaryUse, OrdinaryUseOfAServer)
pytestmark = pytest.mark.filterwarnings("ignore::crossview.engine.values.errors.InputWarning")


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with RunningServer(ServerSettings(home=tmp_path_factory.mktemp("used"), port=0)) as OrdinaryUseOfAServer.server:
        yield


@pytest.mark.random
@pytest.mark.usefixtures("one_server")
@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_that_was_not_named_changes(machine: type[OrdinaryUse]) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=4, stateful_step_count=20, deadline=None))


@pytest.mark.random
@pytest.mark.long
@pytest.mark.usefixtures("one_server")
@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_that_was_not_named_changes_in_1000_steps(machine: type[OrdinaryUse]) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=20, stateful_step_count=50, deadline=None))
