"""Important changes over gRPC: the same values as here, field by field, and the same errors."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import DrawnPage

from crossview.engine.collections.home import Home
from crossview.engine.values.changes import Change, Changes, ChangesRequest, LearnedImportance, PairLabel
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.item import IndexOptions
from crossview.server.client.client import AsyncClient, Client
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.convert import to_message, to_value
from crossview.server.wire.settings import ServerSettings
from crossview.v1.changes_pb2 import FindChangesRequest, FindChangesResponse

FLOATS = st.floats(-1e9, 1e9)
ROWS = st.lists(FLOATS, max_size=4).map(tuple)
TEXTS = st.text(max_size=5)
COUNTS = st.integers(0, 10**6)
TIMES = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
FORMS = st.sampled_from(["diagonal", "full", "structural"])
LEARNED = st.builds(
    LearnedImportance,
    view=TEXTS,
    grid=COUNTS,
    form=FORMS,
    matrix=ROWS,
    weight=FLOATS,
    order=st.none() | FLOATS,
    weights=ROWS,
    threshold=FLOATS,
    quadruplets=COUNTS,
    labels=COUNTS,
)
LABELS = st.builds(PairLabel, earlier=TEXTS, later=TEXTS, important=st.none() | st.booleans())
REQUESTS = st.builds(
    ChangesRequest,
    view=TEXTS,
    period=TEXTS,
    form=FORMS,
    labels=st.lists(LABELS, max_size=3).map(tuple),
    extreme=COUNTS,
    structure=st.booleans(),
    learned=st.none() | LEARNED,
    after=TEXTS,
    gone=st.lists(TEXTS, max_size=3).map(tuple),
)
FOUND = st.builds(
    Changes,
    versions=COUNTS,
    first=TIMES,
    last=TIMES,
    source=TEXTS,
    period=TEXTS,
    learned=LEARNED,
    importance=ROWS,
    changes=st.lists(
        st.builds(
            Change,
            earlier=TEXTS,
            later=TEXTS,
            time=TIMES,
            hours=FLOATS,
            importance=FLOATS,
            important=st.booleans(),
            identical=st.booleans(),
            regions=ROWS,
            links=st.none() | FLOATS,
            images=st.none() | FLOATS,
            label=st.none() | st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    questions=st.lists(COUNTS, max_size=3).map(tuple),
    notes=st.lists(TEXTS, max_size=3).map(tuple),
)


@given(REQUESTS)
def test_every_field_of_a_request_arrives(request: ChangesRequest) -> None:
    assert to_value(ChangesRequest, to_message(FindChangesRequest, request)) == request


@given(FOUND)
def test_every_field_of_what_is_found_arrives(found: Changes) -> None:
    assert to_value(Changes, to_message(FindChangesResponse, found)) == found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Forty hours of a page, and a collection without regions."""
    folder = tmp_path_factory.mktemp("served")
    DrawnPage(hours=40).save(folder / "shots", html=True)
    made = Home(folder / "home")
    with made.create("page", ["regions=gist:grid=4:size=64"]) as page:
        page.index([folder / "shots"], IndexOptions(workers=1))
    made.create("plain", ["color"]).close()
    return made


@pytest.fixture(scope="module")
def address(home: Home) -> Iterator[str]:
    with RunningServer(ServerSettings(home=home.path, port=0)) as running:
        yield running.address


def test_a_server_finds_what_is_found_here(home: Home, address: str) -> None:
    """This holds for every form, with labels, and for learned weights, which travel both ways."""
    with home.open("page") as here, Client(address) as client:
        there = client.open("page")
        for form in ("diagonal", "full"):
            found = here.changes(ChangesRequest(form=form))  # type: ignore[arg-type]
            assert there.changes(ChangesRequest(form=form)) == found  # type: ignore[arg-type]
        asked = found.changes[found.questions[0]]
        labelled = ChangesRequest(labels=(PairLabel(asked.earlier, asked.later, True),))
        assert there.changes(labelled) == here.changes(labelled)
        later = ChangesRequest(learned=found.learned, after=found.changes[30].later)
        assert there.changes(later) == here.changes(later)


def test_a_program_may_wait_for_it(home: Home, address: str) -> None:
    async def found() -> Changes:
        async with AsyncClient(address) as client:
            return await client.collection("page").changes(ChangesRequest())

    with home.open("page") as here:
        assert asyncio.run(found()) == here.changes(ChangesRequest())


def test_errors_are_the_same_as_here(address: str) -> None:
    with Client(address) as client:
        with pytest.raises(NotReadyError, match=r"`collection.views.add\("):
            client.open("plain").changes(ChangesRequest())
        page = client.open("page")
        with pytest.raises(NotFoundError):
            page.changes(ChangesRequest(view="nothing"))
        for wrong in (ChangesRequest(form="round"), ChangesRequest(period="soon"), ChangesRequest(extreme=0)):  # type: ignore[arg-type]
            with pytest.raises(InvalidInputError):
                page.changes(wrong)
        learned = replace(page.changes(ChangesRequest()).learned, matrix=(1.0, 2.0))
        with pytest.raises(InvalidInputError, match="numbers"):
            page.changes(ChangesRequest(learned=learned))


def test_pictures_of_the_file_system_of_another_machine_are_known_by_their_names(home: Home, tmp_path: Path) -> None:
    """Their files are on another machine; times are in their names."""
    folder = tmp_path / "there"
    DrawnPage(hours=12).save(folder)
    with home.create("sent", ["regions=gist:grid=4:size=64"]) as sent:
        sent.index([folder], IndexOptions(workers=1))
        for path in folder.iterdir():
            path.unlink()
        assert sent.changes(ChangesRequest()).versions == 12
