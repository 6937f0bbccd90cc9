"""The review of duplicates: groups of pictures that show the same photograph, and what a person decides about them."""

import hashlib
import json
from typing import Any

from crossview.server.edge.pages.answer import NO_STORE, Answer
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.convert_search import to_duplicates
from crossview.v1 import collections_pb2, duplicates_pb2
from crossview.v1.duplicates_pb2 import DuplicateRelation as Relation

PAGE = 40
_AT_ONCE = 5_000
"""Number of items up to which a script begins the search for duplicates without a click."""
_RELATIONS = {name.removeprefix("DUPLICATE_RELATION_").lower(): value for name, value in Relation.items() if value}


async def show(visit: Visit) -> Answer:
    """Return a page of groups: the first, or that of ``token``."""
    relation, token = visit.query.text("relation"), visit.query.text("token")
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    page, error = None, None
    if token or visit.query.text("find") == "1":
        request = duplicates_pb2.FindDuplicatesRequest(parent=visit.collection, page_size=PAGE, page_token=token)
        if relation in _RELATIONS:
            request.relations.append(_RELATIONS[relation])
        page, error = await visit.answered("FindDuplicates", request)
    values = {
        "title": f"Duplicates · {visit.path['collection']}",
        "tab": "duplicates",
        "info": info,
        "starts": info.items <= _AT_ONCE,
        "found": None if page is None else to_duplicates([page]),
        "error": error,
        "relation": relation if relation in _RELATIONS else "",
        "relations": tuple(_RELATIONS),
        "after": "" if page is None else page.next_page_token,
    }
    return visit.page("duplicates.html", **values)


def _person(visit: Visit) -> str:
    """Return the name under which a browser judges: undoing then takes back only its own judgements."""
    return "page-" + hashlib.blake2b(visit.cookie.encode(), digest_size=6).hexdigest()


async def judge(visit: Visit) -> Answer:
    """Store that the pictures ``first`` and ``second`` are not the same photograph (``same`` is "1": that they are)."""
    form = await visit.form()
    person, same = _person(visit), form.text("same") == "1"
    for second in form.texts("second"):
        judgement = duplicates_pb2.PairJudgement(first=form.raw("first"), second=second, same=same, person=person)
        request = duplicates_pb2.JudgePairRequest(parent=visit.collection, judgement=judgement)
        await visit.call("JudgePair", request)
    return _done(visit, {"judged": len(form.texts("second"))})


async def undo(visit: Visit) -> Answer:
    """Take back the last ``number`` judgements of this browser."""
    form = await visit.form()
    request = duplicates_pb2.UndoPairJudgementRequest(parent=visit.collection, person=_person(visit))
    undone = [await visit.call("UndoPairJudgement", request) for _ in range(form.number("number", 1, 1, 100))]
    return _done(visit, {"undone": len(undone)})


def _done(visit: Visit, value: Any) -> Answer:
    if visit.is_part:
        return Answer(json.dumps(value).encode(), "application/json", headers=(NO_STORE,))
    return visit.redirect(f"/c/{visit.path['collection']}/duplicates")


PAGES = (
    Page("/c/{collection}/duplicates", show),
    Page("/c/{collection}/duplicates/judge", judge, "POST"),
    Page("/c/{collection}/duplicates/undo", undo, "POST"),
)
