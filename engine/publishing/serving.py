"""One published generation, ready to answer: the collection of its bundle, and its items in the engine."""

import json
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from crossview.engine.catalog.joined import joined_view
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.publishing import aliases
from crossview.engine.publishing.bundle import VOTES, Bundle, fetch, read_bundle
from crossview.engine.publishing.generation import Generation, Names
from crossview.engine.publishing.index_kinds import EngineIndex, engine_index
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.suggesting import read_calibrations
from crossview.engine.publishing.version import PublishedSpace, PublishedVersion
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.suggestion import VoteCalibration
from crossview.engine.spaces.version import SearchState
from crossview.engine.spaces.versions import TargetsOf
from crossview.engine.values.errors import CrossviewError, InvalidInputError, NotReadyError
from crossview.features.pictures import IN_PROCESS, Pictures

T = TypeVar("T")
_DESK = "desk"


class Serving:
    """One generation with all that answers need, in a temporary folder; close it after use."""

    def __init__(self, storage: ObjectStorage, folder: str, engine: Milvus, pictures: Pictures = IN_PROCESS) -> None:
        """Fetch the bundle at a path below an address. Raises the errors of ``read_bundle`` and ``fetch``."""
        self.bundle: Bundle = read_bundle(storage, folder)
        self._made = tempfile.TemporaryDirectory(prefix="crossview-published-")
        try:
            home = Home(Path(self._made.name), pictures)
            fetch(self.bundle, storage, home)
            self.collection: Collection = home.open(self.bundle.name)
            self.desk: Collection = home.copy(self.bundle.name, _DESK)
            """A collection in which writes put items together; otherwise it has none."""
        except BaseException:
            self._made.cleanup()
            raise
        self.engine = engine
        self.writing: threading.Lock = threading.Lock()

    def close(self) -> None:
        """Remove the temporary folder."""
        for part in (self.collection, self.desk):
            part.close()
        self._made.cleanup()

    @cached_property
    def space(self) -> Space:
        """The space of the bundle."""
        opened = self.collection.opened
        with opened.read() as tx:
            return opened.loaded.get(tx, self.bundle.space)

    @cached_property
    def votes(self) -> Mapping[str, VoteCalibration]:
        """The calibrated votes by query view; InvalidInputError if the bundle is damaged."""
        try:
            return read_calibrations((Path(self._made.name) / VOTES).read_bytes())
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise InvalidInputError(f"the votes of bundle {self.bundle.folder} are damaged: {error}") from error

    @cached_property
    def parts(self) -> Mapping[str, Sequence[str]]:
        """The single views of each view of the space."""
        with self.collection.opened.read() as tx:
            return {view: [part.name for part in joined_view(tx, view).parts] for view in self.space.views}

    @cached_property
    def views(self) -> tuple[str, ...]:
        """The single views whose rows the items of the engine have."""
        return tuple(dict.fromkeys(part for parts in self.parts.values() for part in parts))

    def generation(self, indexes: Mapping[str, EngineIndex] | None = None) -> Generation:
        """Return the generation in the engine, with its indexes as stored, or with new ones.

        Raises NotReadyError for a generation that is not published completely.
        """
        generation = Generation(
            engine=self.engine,
            names=Names.of(self.bundle.name, self.bundle.digest),
            views=self.views,
            targets=self.space.indexed_targets,
            indexes=indexes or {},
            rerank=self.space.rerank,
        )
        if indexes is not None:
            return generation
        state = generation.state()
        if not state.get("published"):
            raise NotReadyError(f"collection {self.bundle.name!r} is not published completely: publish it again")
        stored = {name: EngineIndex(**facts) for name, facts in state["indexes"].items()}
        return replace(generation, indexes=stored, efforts=state.get("efforts", {}))

    @cached_property
    def in_use(self) -> Generation:
        """The generation in the engine, as its state describes it."""
        return self.generation()

    def indexes(self, index: str, count: int) -> dict[str, EngineIndex]:
        """Return the index of each target for so many items."""
        return {str(target): engine_index(index, target, count) for target in self.space.indexed_targets}

    def answered(self, space: str, targets_of: TargetsOf, answer: Callable[[PublishedSpace], T]) -> T:
        """Return what a function makes of the generation; ``targets_of`` checks the request.

        Raises NotFoundError for an unknown space, NotReadyError for one that is not published, and the errors of the
        functions.
        """

        def answered(local: SearchState) -> T:
            if local.space.name != self.bundle.space:
                raise NotReadyError(f"only space {self.bundle.space!r} of {self.bundle.name!r} is published")
            version = PublishedVersion.over(local.version, self.in_use)
            targets_of(version, local.space)
            return answer(PublishedSpace.over(local.indexed, version))

        versions = self.collection.opened.versions()
        return versions.answered(space or self.bundle.space, lambda *_: [], answered)

    def warm_up(self) -> None:
        """Load what the first request needs: the space, and the targets in the engine."""
        import numpy as np

        generation = self.in_use
        generation.load()
        for view in self.space.views:
            width = sum(info.dim for info in self.collection.views() if info.name in self.parts[view])
            with suppress(CrossviewError):  # a row of equal values suits few spaces
                probes = self.space.probe(view, np.full((1, width), 0.5, np.float32))
                for target, vectors in probes.items():
                    generation.search(target, vectors, 1, "", generation.effort(target))


def current_bundle(engine: Milvus, name: str) -> str:
    """Return the path of the bundle that answers for a published collection; NotReadyError if there is none."""
    collection = aliases.pointed(engine, name)
    if not collection:
        raise NotReadyError(
            f"engine {engine.address} has no published collection {name!r}: publish the collection first"
        )
    return str(aliases.description(engine, collection)["bundle"])


def described(bundle: Bundle) -> str:
    """Return the description that the items of a generation have in the engine."""
    return json.dumps({"name": bundle.name, "bundle": bundle.folder, "space": bundle.space}, ensure_ascii=False)
