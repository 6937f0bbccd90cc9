"""The feedback of one collection: judgements of items in searches, the searches that go on from them, and the answers
that remember them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from crossview.engine.catalog.catalog import Catalog, Transaction, now
from crossview.engine.catalog.checks import normal
from crossview.engine.findings.questions.remembering import answers_of
from crossview.engine.values.comparisons import Answer, check_notion, check_person, left_out
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError, call, warn_of
from crossview.engine.values.feedback import (
    MOST_JUDGED,
    FeedbackInfo,
    Judged,
    Judgement,
    check_feedback,
    counting,
    described,
    weights_of,
)
from crossview.engine.values.item import one_or_several
from crossview.engine.values.query import Query, SearchRequest


class Feedback:
    """Named judgements of the items of a collection, which the catalog stores by the keys of the items.

    Judging a key again replaces its judgement. Judgements of deleted items stay, and count again if an item with the
    key returns. Every method raises StorageError; writing methods raise BusyError.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def judge(self, name: str, likes: Judged = (), unlikes: Judged = (), *, person: str) -> list[Judgement]:
        """Store a person's judgements of items under a name, and return all judgements of that name that count.

        ``likes`` are the keys of examples and ``unlikes`` those of counter-examples, or the weight above 0 of each. A
        judgement that the person has made already, and nobody has replaced, is not stored twice.

        Raises InvalidInputError for an invalid name or weight and for too many judgements, NotFoundError for an
        unknown key. Nothing is then stored.
        """
        check_feedback(name)
        check_person(person)
        weights = weights_of(likes, unlikes)
        with self._catalog.write() as tx:
            keys = _stored_keys(tx, weights)
            kept = {one.key: one for one in counting(tx.judgements.all(name))}
            if (count := len(kept.keys() | set(keys.values()))) > MOST_JUDGED:
                raise InvalidInputError(
                    f"feedback {name!r} would have judgements of {count:,} items, and at most {MOST_JUDGED:,} count in "
                    "a search: choose another name"
                )
            for given, weight in weights.items():
                judgement = Judgement(key=keys[given], weight=weight, person=person)
                old = kept.get(judgement.key)
                if old is None or (old.weight, old.person) != (weight, person):
                    tx.judgements.add(name, judgement, now())
            return counting(tx.judgements.all(name))

    def get(self, name: str) -> list[Judgement]:
        """Return the judgements of a name that count: the last one of each key; NotFoundError lists the names."""
        with self._catalog.read() as tx:
            return counting(_all(tx, name))

    def undo(self, name: str, person: str) -> Judgement:
        """Delete and return the last judgement of a person; what it replaced counts again.

        Raises NotFoundError if there is none.
        """
        check_person(person)
        with self._catalog.write() as tx:
            own = [one for one in _all(tx, name) if one.person == person]
            if not own:
                raise NotFoundError(f"{person} has judged nothing in feedback {name!r}")
            tx.judgements.delete([own[-1].id])
            return own[-1]

    def delete(self, name: str, keys: Sequence[str] = ()) -> int:
        """Delete the judgements of a name, or only those of some keys; return how many counted.

        The answers that remember them stay; ``forget`` deletes these. Raises NotFoundError for an unknown name, and for
        a key that nobody has judged.
        """
        with self._catalog.write() as tx:
            found, chosen = _all(tx, name), set(map(normal, one_or_several(keys)))
            if unknown := sorted(chosen - {normal(one.key) for one in found}):
                raise NotFoundError(f"nobody has judged {unknown[0]!r} in feedback {name!r}")
            going = [one for one in found if not chosen or normal(one.key) in chosen]
            tx.judgements.delete([one.id for one in going])
            return len(counting(going))

    def remember(self, name: str, notion: str, person: str = "") -> list[Answer]:
        """Store the judgements of a name as answers of their persons in a notion, and return these answers.

        The answers replace those that an earlier call stored for the same name and notion, so that the same judgements
        are remembered once. ``person`` restricts the call to one person. ``engine.findings.questions.remembering``
        makes the answers; weights do not count, and judgements of deleted items are left out.

        Raises InvalidInputError for an invalid notion, NotFoundError for an unknown name, NotReadyError if nobody has
        judged two examples and a counter-example.
        """
        check_notion(notion)
        with self._catalog.write() as tx:
            found = _all(tx, name)
            known = tx.items.ids_of({one.key for one in found})
            by_person = defaultdict(list)
            for one in found:
                if one.key in known and person in ("", one.person):
                    by_person[one.person].append(one)
            made = [answer for own in by_person.values() for answer in answers_of(counting(own), notion, name)]
            if not made:
                who = person or "nobody"
                raise NotReadyError(
                    f"{who} has {('not ' if person else '')}judged two examples and a counter-example in feedback "
                    f"{name!r}, which comparisons need: judge more items, with: ",
                    call("collection.feedback.judge", name, likes=["KEY"], unlikes=["OTHER"]),
                )
            old = _remembered(tx, name, notion, person)
            if list(map(_content, old)) == list(map(_content, made)):
                return old
            for answer in old:
                tx.answers.delete(answer.id)
            return [tx.answers.add(answer, now()) for answer in made]

    def forget(self, name: str, notion: str = "", person: str = "") -> int:
        """Delete the answers that ``remember`` stored for a name; return how many.

        ``notion`` and ``person`` restrict them. The feedback itself stays, or may be gone.
        """
        check_feedback(name)
        with self._catalog.write() as tx:
            found = _remembered(tx, name, notion, person)
            for answer in found:
                tx.answers.delete(answer.id)
            return len(found)

    def continued(self, request: SearchRequest) -> SearchRequest:
        """Return the search whose queries are those of a request and the judgements of its feedback, if it names one.

        The judgements count in the views of the queries, which may lack an input, and in every view without queries.
        An item that a query names counts as the query states. Judgements of deleted items are left out with a warning.

        Raises NotFoundError for an unknown name, NotReadyError if no judged item is left.
        """
        name = getattr(request.strategy, "feedback", "")
        if not name:
            return request
        with self._catalog.read() as tx:
            kept = counting(_all(tx, name))
            ids = tx.items.ids_of(one.key for one in kept)
            own = set(tx.items.ids_of(query.key for query in request.queries if query.key is not None).values())
        deleted = [one.key for one in kept if one.key not in ids]
        if deleted:
            warn_of(left_out(f"judgements of feedback {name!r}", len(deleted), len(kept), deleted))
        queries = [query for query in request.queries if query.inputs()]
        if not queries and len(deleted) == len(kept):
            raise NotReadyError(f"no item that feedback {name!r} has judgements of is left: judge others")
        views = dict.fromkeys(query.view for query in request.queries) or ("",)
        judged = [one for one in kept if one.key in ids and ids[one.key] not in own]
        queries += [Query(view, key=one.key, weight=one.weight) for view in views for one in judged]
        return replace(request, queries=queries, strategy=replace(request.strategy, feedback=""))  # type: ignore[call-arg]  # of Combined

    def list(self) -> list[FeedbackInfo]:
        """Return the names, each with the number of its judgements that count."""
        with self._catalog.read() as tx:
            return [described(name, counting(tx.judgements.all(name))) for name in tx.judgements.names()]


def _all(tx: Transaction, name: str) -> list[Judgement]:
    """Return every judgement of a name; NotFoundError lists the names."""
    check_feedback(name)
    found = tx.judgements.all(name)
    if not found:
        names = tx.judgements.names()
        there = f"there is: {', '.join(names)}" if names else "there is none"
        raise NotFoundError(
            f"no feedback {name!r} in collection {tx.name()!r}; {there}: judge items first, with: ",
            call("collection.feedback.judge", name, likes=["KEY"]),
        )
    return found


def _stored_keys(tx: Transaction, names: Sequence[str] | dict[str, float]) -> dict[str, str]:
    """Return the keys of existing items in the form that the catalog has, by the given form.

    Raises NotFoundError for an unknown key, and InvalidInputError for two forms of one key.
    """
    ids = tx.items.ids_of(names)
    if unknown := [name for name in names if name not in ids]:
        raise NotFoundError(f"no item {unknown[0]!r} in collection {tx.name()!r}")
    items = tx.items.by_id(list(ids.values()))
    if len(items) < len(ids):
        raise InvalidInputError("one item is judged twice, by two forms of its key: judge it once")
    return {name: items[item].key for name, item in ids.items()}


def _remembered(tx: Transaction, name: str, notion: str, person: str) -> list[Answer]:
    return [one for one in tx.answers.of_feedback(name) if notion in ("", one.notion) and person in ("", one.person)]


def _content(answer: Answer) -> tuple[object, ...]:
    return answer.notion, answer.person, answer.anchor, answer.near, answer.far
