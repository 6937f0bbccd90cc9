"""The client for programs with an event loop: collections, jobs with their progress, and files of this machine."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from crossview.engine.values.errors import NotFoundError
from crossview.engine.values.item import IndexOptions
from crossview.engine.values.recipe import Recipe, Tune
from crossview.server.client.client import AsyncClient, Client
from crossview.server.edge.listen import RunningServer

BRIEF = Recipe(spec="cca", views=("color", "sift"), dim=2)
TUNED = replace(BRIEF, tune=Tune({"shrinkage": (0.1, 0.5)}, folds=2))


def test_collections_are_made_opened_and_deleted(server: RunningServer, nothing_stays: None) -> None:
    """The blocking client does the same, with the same errors."""

    async def scene() -> None:
        async with AsyncClient(server.address, timeout=300) as client:
            made = await client.create("made", ["color"])
            assert made.name == "made"
            assert await client.names() == ["drawn", "made"]
            assert (await (await client.open("made")).views())[0].name == "color"
            await client.delete("made")
            with pytest.raises(NotFoundError, match="made"):
                await client.open("made")

    asyncio.run(scene())


def test_a_training_reports_its_progress_and_a_job_goes_on_alone(server: RunningServer, home: object) -> None:
    """Meanwhile the event loop does other things."""
    steps: list[str] = []

    async def scene() -> None:
        async with AsyncClient(server.address, timeout=300) as client:
            drawn = client.collection("drawn")
            space = await drawn.train(
                TUNED, space="awaited", activate=False, progress=lambda what, *_: steps.append(what)
            )
            assert space.name == "awaited"
            job = await drawn.detached().train(BRIEF, space="awaited", activate=False)
            ended = await client.jobs.wait(job.id)
            assert ended.state == "done"
            assert job.id in {one.id for one in await client.jobs.list("drawn")}
            await client.jobs.delete(job.id)
            await drawn.spaces.delete("awaited")

    asyncio.run(scene())
    assert steps


@pytest.mark.parametrize("name", ["search_stream", "items.put_stream", "views.fit"])
def test_an_error_in_the_requests_of_a_stream_reaches_the_caller(server: RunningServer, name: str) -> None:
    """The blocking client does so, too: gRPC itself would cancel the call, and hide the error."""

    def requests() -> Iterator[Any]:
        raise KeyError("mine")
        yield

    async def scene() -> None:
        async with AsyncClient(server.address, timeout=300) as client:
            sent = attrgetter(name)(client.collection("drawn"))(requests())
            with pytest.raises(KeyError, match="mine"):
                await (sent if name == "views.fit" else anext(sent))

    asyncio.run(scene())
    with Client(server.address) as client, pytest.raises(KeyError, match="mine"):
        list(attrgetter(name)(client.open("drawn"))(requests()))


def test_an_index_that_nobody_awaits_any_more_ends(
    server: RunningServer, nothing_stays: None, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread reads files; committed items stay, and nothing further is sent."""
    monkeypatch.setattr("crossview.server.client.remote_index.batches.__defaults__", (4,))
    cancelled = threading.Event()

    async def scene() -> None:
        begun, loop = asyncio.Event(), asyncio.get_running_loop()

        def progress(what: str, *_: object) -> None:
            if what == "indexing":
                loop.call_soon_threadsafe(begun.set)
                cancelled.wait(300)

        async with AsyncClient(server.address, timeout=300) as client:
            made = await client.create("made", ["color"])
            options = IndexOptions(labels="folder")
            indexing = asyncio.ensure_future(made.index([pictures], options, progress=progress))
            await begun.wait()
            indexing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await indexing
            cancelled.set()
            await loop.shutdown_default_executor()  # the thread has ended

    asyncio.run(scene())
    with Client(server.address) as client:
        assert client.open("made").count() == 4
