"""The threshold of same or different: example pairs by their probability, and how many it decides rightly."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.fields import Fields
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.question_page import NOBODY
from crossview.server.edge.pages.search_requests import short
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.templates import quoted, url
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import duplicates_pb2, search_pb2

_SAMPLE, _EACH, _NEW = 60, 24, 12
"""Number of items that pairs are drawn from, of pairs of each kind, and of pairs to judge."""
_MOST_JUDGED = 1_000
LABELS, PHOTOGRAPHS = "labels", "photographs"
"""The items that are the same: those with a common label, or photographs that people judged the same."""


@dataclass(frozen=True)
class Known:
    """Two items, and whether they are known to be the same; None if nobody knows."""

    first: str
    second: str
    same: bool | None


@dataclass(frozen=True)
class Pair:
    """A pair as the page shows it, with its probability of being the same."""

    known: Known
    share: float


@dataclass(frozen=True)
class Counts:
    """How many known pairs a threshold decides rightly."""

    right: int
    wrong: int
    missed: int

    @classmethod
    def of(cls, pairs: Iterable[Pair], least: float) -> "Counts":
        """Return the counts of a least probability."""
        passed = [pair.known.same for pair in pairs if pair.share >= least]
        same = sum(pair.known.same is True for pair in pairs)
        right = passed.count(True)
        return cls(right, passed.count(False), same - right)

    @property
    def precision(self) -> float | None:
        """The share of the pairs called the same that are; None without any."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def recall(self) -> float | None:
        """The share of the same pairs that are called so; None without any."""
        return self.right / (self.right + self.missed) if self.right + self.missed else None


@dataclass(frozen=True)
class Choice:
    """The space, view and pairs that the page shows."""

    space: str
    view: str
    views: tuple[str, ...]
    by: str
    at: int
    seed: int
    person: str

    @classmethod
    def of(cls, fields: Fields, info: Any) -> "Choice":
        """Return what the address chooses."""
        space = fields.text("space") or info.active_space or "raw"
        chosen = next((other for other in info.spaces if short(other.name) == space), None)
        if chosen is None:
            raise PageError(404, f"no space {space!r} in this collection", Code.NOT_FOUND)
        views = tuple(name for name in chosen.views if name in chosen.targets)
        view = fields.text("view")
        return cls(
            space,
            view if view in views else (views or tuple(chosen.views))[0],
            views,
            PHOTOGRAPHS if fields.text("by") == PHOTOGRAPHS else LABELS,
            fields.number("at", 50, 1, 99),
            fields.number("seed", 1, 0, 1 << 30),
            fields.text("person") or NOBODY,
        )

    @property
    def fields(self) -> dict[str, object]:
        """The fields of the address."""
        return {name: getattr(self, name) for name in ("space", "view", "by", "at", "seed", "person")}


async def show(visit: Visit) -> Answer:
    """Return the slider with example pairs; without a threshold, the way to calibrate one."""
    info = await visit.call("GetCollection", pb.GetCollectionRequest(name=visit.collection))
    choice = Choice.of(visit.query, info)
    judgements = await (_labelled(visit, choice) if choice.by == LABELS else _photographs(visit, choice))
    error: PageError | None = None
    pairs: list[Pair] = []
    try:
        pairs = await _decided(visit, choice, judgements) if judgements else []
    except PageError as refused:
        if refused.code is not Code.FAILED_PRECONDITION:
            raise
        error = refused
        pairs = [Pair(judgement, 0.0) for judgement in judgements] if choice.by == PHOTOGRAPHS else []
    values = {
        "title": f"Same or different · {visit.path['collection']}",
        "tab": "teach",
        "lesson": "same",
        "choice": choice,
        "spaces": [short(each.name) for each in info.spaces],
        "pairs": pairs,
        "counts": Counts.of(pairs, choice.at / 100),
        "threshold": _threshold(info, choice),
        "error": error,
        "judged": [judgement for judgement in judgements if judgement.same is not None],
        "is_next": visit.query.text("next") == "1",
    }
    return visit.page("threshold.html", **values)


def _threshold(info: Any, choice: Choice) -> Any:
    """Return the calibrated threshold of a view; None without one."""
    space = next(other for other in info.spaces if short(other.name) == choice.space)
    thresholds = [
        threshold for threshold in space.thresholds if (threshold.view, threshold.target) == (choice.view, choice.view)
    ]
    return thresholds[0] if thresholds else None


async def _sample(visit: Visit, choice: Choice) -> list[Any]:
    request = pb.ListItemsRequest(parent=visit.collection, page_size=_SAMPLE, sample=_SAMPLE, seed=choice.seed)
    request.filter.where = f"view = {quoted(choice.view)}"
    return list((await visit.call("ListItems", request)).items)


async def _labelled(visit: Visit, choice: Choice) -> list[Known]:
    """Return as many pairs with a common label as without, drawn from labelled items."""
    items = [item for item in await _sample(visit, choice) if item.labels]
    drawn = list(combinations(sorted(items, key=lambda item: str(item.key)), 2))
    random.Random(choice.seed).shuffle(drawn)
    pairs: dict[bool, list[Known]] = {True: [], False: []}
    for first, second in drawn:
        same = not set(first.labels).isdisjoint(second.labels)
        pairs[same].append(Known(first.key, second.key, same))
    return pairs[True][:_EACH] + pairs[False][:_EACH]


async def _photographs(visit: Visit, choice: Choice) -> list[Known]:
    """Return judged pairs, and near pairs that nobody has judged."""
    judged = [Known(judgement.first, judgement.second, judgement.same) for judgement in await _judgements(visit)]
    taken = {frozenset((judgement.first, judgement.second)) for judgement in judged}
    request = search_pb2.SearchRequest(parent=visit.collection, space=choice.space, targets=[choice.view], k=2)
    for item in (await _sample(visit, choice))[: 2 * _NEW]:
        request.queries.add(key=item.key, view=choice.view)
    if not request.queries:
        return judged
    pairs: list[Known] = []
    for each in (await visit.call("Search", request)).results:
        key = request.queries[each.query].key
        near = next((hit.key for hit in each.hits if hit.key != key), None)
        if near is not None and frozenset((key, near)) not in taken:
            taken.add(frozenset((key, near)))
            pairs.append(Known(key, near, None))
    return judged[-2 * _EACH :] + pairs[:_NEW]


async def _judgements(visit: Visit) -> list[Any]:
    request = duplicates_pb2.ListPairJudgementsRequest(parent=visit.collection, page_size=_MOST_JUDGED)
    return list((await visit.call("ListPairJudgements", request)).judgements)


async def _decided(visit: Visit, choice: Choice, judgements: list[Known]) -> list[Pair]:
    """Return the pairs with their probabilities, the greatest first; without those that lack an item."""
    request = search_pb2.SameRequest(parent=visit.collection, space=choice.space, target=choice.view)
    for judgement in judgements:
        pair = request.pairs.add()
        pair.first.key, pair.first.view = judgement.first, choice.view
        pair.second.key, pair.second.view = judgement.second, choice.view
    verdicts = (await visit.call("Same", request)).results
    pairs = [
        Pair(judgement, verdict.probability)
        for judgement, verdict in zip(judgements, verdicts, strict=True)
        if not verdict.HasField("left_out")
    ]
    return sorted(pairs, key=lambda pair: -pair.share)


async def calibrate(visit: Visit) -> Answer:
    """Calibrate the threshold by labels, or by the photographs that people have judged."""
    form = await visit.form()
    info = await visit.call("GetCollection", pb.GetCollectionRequest(name=visit.collection))
    choice = Choice.of(form, info)
    if not form.text("view"):
        raise PageError(400, f"name the view to calibrate, such as {choice.view}")
    request = pb.CalibrateSpaceRequest(parent=visit.collection, space=choice.space, view=choice.view)
    if choice.by == PHOTOGRAPHS:
        judged = await _judgements(visit)
        request.pairs.size = 2
        places: dict[str, int] = {}
        for judgement in judged:
            request.pairs.items.extend(
                places.setdefault(key, len(places)) for key in (judgement.first, judgement.second)
            )
            request.pairs.similar.append(judgement.same)
        request.pairs.keys.extend(places)
    await visit.call("CalibrateSpace", request)
    return _back(visit, choice)


async def judge(visit: Visit) -> Answer:
    """Store whether two items are the same photograph, or take back the last judgement of the person."""
    form = await visit.form()
    info = await visit.call("GetCollection", pb.GetCollectionRequest(name=visit.collection))
    choice = Choice.of(form, info)
    if form.text("undo"):
        undone = duplicates_pb2.UndoPairJudgementRequest(parent=visit.collection, person=choice.person)
        await visit.call("UndoPairJudgement", undone)
        return _back(visit, choice, next="1")
    request = duplicates_pb2.JudgePairRequest(parent=visit.collection)
    request.judgement.first, request.judgement.second = form.raw("first"), form.raw("second")
    request.judgement.same, request.judgement.person = form.text("verdict") == "same", choice.person
    await visit.call("JudgePair", request)
    return _back(visit, choice, next="1")


def _back(visit: Visit, choice: Choice, **more: str) -> Answer:
    return visit.redirect(url(f"/c/{visit.path['collection']}/teach/same", **choice.fields, **more))


PAGES = (
    Page("/c/{collection}/teach/same", show),
    Page("/c/{collection}/teach/calibrate", calibrate, "POST"),
    Page("/c/{collection}/teach/judge", judge, "POST"),
)
