"""The feedback of one collection: judgements of items in searches, the searches that go on from them, and the answers
that remember them."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from crossview.engine.catalog.catalog import Catalog, Transaction, now
from crossview.engine.catalog.checks import normal
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

NEAR, FAR = 4, 5
"""Maximum number of items near to and far from the anchor of an answer, as in a question of nine."""
MOST_AS_ANCHOR, MOST_AS_FAR = 5, 5
"""Maximum number of answers in which an example is the anchor, and in which a counter-example is far."""


def answers_of(judgements: Sequence[Judgement], notion: str, feedback: str) -> list[Answer]:
    """Return the answers that the judgements of one person stand for; none without two examples and a counter-example.

    In each answer, an example is the anchor, up to NEAR other examples are near and up to FAR counter-examples are far.
    The answers go round the examples and the counter-examples, so that each is used about equally often. Their number,
    A = min(max(p, n / f), MOST_AS_ANCHOR p, MOST_AS_FAR n / f) for p examples, n counter-examples and f of them in an
    answer, is linear in the judgements, and each judgement is in a bounded number of comparisons.
    """
    examples = [judgement.key for judgement in judgements if judgement.weight > 0]
    counter_examples = [judgement.key for judgement in judgements if judgement.weight < 0]
    if len(examples) < 2 or not counter_examples:
        return []
    near, far = min(NEAR, len(examples) - 1), min(FAR, len(counter_examples))
    all_once = max(len(examples), -(-len(counter_examples) // far))
    count = min(all_once, MOST_AS_ANCHOR * len(examples), MOST_AS_FAR * len(counter_examples) // far)
    answers = []
    for number in range(count):
        # if not every example can be an anchor, the anchors are spread over all of them
        anchor = number * len(examples) // count if count < len(examples) else number
        answers.append(
            Answer(
                notion=notion,
                anchor=_round(examples, anchor, 1)[0],
                near=_round(examples, anchor + 1, near),
                far=_round(counter_examples, number * far, far),
                person=judgements[0].person,
                feedback=feedback,
            )
        )
    return answers


def _round(keys: Sequence[str], start: int, count: int) -> tuple[str, ...]:
    """Return ``count`` keys from a place on, going round."""
    return tuple(keys[(start + step) % len(keys)] for step in range(count))


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
            judgements = {judgement.key: judgement for judgement in counting(tx.judgements.all(name))}
            if (count := len(judgements.keys() | set(keys.values()))) > MOST_JUDGED:
                raise InvalidInputError(
                    f"feedback {name!r} would have judgements of {count:,} items, and at most {MOST_JUDGED:,} count in "
                    "a search: choose another name"
                )
            for key, weight in weights.items():
                judgement = Judgement(key=keys[key], weight=weight, person=person)
                old = judgements.get(judgement.key)
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
            own = [judgement for judgement in _all(tx, name) if judgement.person == person]
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
            judgements, normal_keys = _all(tx, name), set(map(normal, one_or_several(keys)))
            if unknown := sorted(normal_keys - {normal(judgement.key) for judgement in judgements}):
                raise NotFoundError(f"nobody has judged {unknown[0]!r} in feedback {name!r}")
            deleted = [judgement for judgement in judgements if not normal_keys or normal(judgement.key) in normal_keys]
            tx.judgements.delete([judgement.id for judgement in deleted])
            return len(counting(deleted))

    def remember(self, name: str, notion: str, person: str = "") -> list[Answer]:
        """Store the judgements of a name as answers of their persons in a notion, and return these answers.

        The answers replace those that an earlier call stored for the same name and notion, so that the same judgements
        are remembered once. ``person`` restricts the call to one person. ``answers_of`` makes the answers; weights do
        not count, and judgements of deleted items are left out.

        Raises InvalidInputError for an invalid notion, NotFoundError for an unknown name, NotReadyError if nobody has
        judged two examples and a counter-example.
        """
        check_notion(notion)
        with self._catalog.write() as tx:
            judgements = _all(tx, name)
            ids = tx.items.ids_of({judgement.key for judgement in judgements})
            by_person = defaultdict(list)
            for judgement in judgements:
                if judgement.key in ids and person in ("", judgement.person):
                    by_person[judgement.person].append(judgement)
            answers = [answer for own in by_person.values() for answer in answers_of(counting(own), notion, name)]
            if not answers:
                who = person or "nobody"
                raise NotReadyError(
                    f"{who} has {('not ' if person else '')}judged two examples and a counter-example in feedback "
                    f"{name!r}, which comparisons need: judge more items, with: ",
                    call("collection.feedback.judge", name, likes=["KEY"], unlikes=["OTHER"]),
                )
            old = _remembered(tx, name, notion, person)
            if list(map(_content, old)) == list(map(_content, answers)):
                return old
            for answer in old:
                tx.answers.delete(answer.id)
            return [tx.answers.add(answer, now()) for answer in answers]

    def forget(self, name: str, notion: str = "", person: str = "") -> int:
        """Delete the answers that ``remember`` stored for a name; return how many.

        ``notion`` and ``person`` restrict them. The feedback itself stays, or may be gone.
        """
        check_feedback(name)
        with self._catalog.write() as tx:
            answers = _remembered(tx, name, notion, person)
            for answer in answers:
                tx.answers.delete(answer.id)
            return len(answers)

    def continued(self, request: SearchRequest) -> SearchRequest:
        """Return the search whose queries are those of a request and the judgements of its feedback, if it names one.

        The judgements count in the views of the queries, which may lack an input, and in every view without queries.
        An item that a query names counts as the query states. Judgements of deleted items are left out with a warning.

        Raises NotFoundError for an unknown name, NotReadyError if no judged item is left.
        """
        name = request.feedback
        if not name:
            return request
        with self._catalog.read() as tx:
            judgements = counting(_all(tx, name))
            ids = tx.items.ids_of(judgement.key for judgement in judgements)
            own = set(tx.items.ids_of(query.key for query in request.queries if query.key is not None).values())
        deleted = [judgement.key for judgement in judgements if judgement.key not in ids]
        if deleted:
            warn_of(left_out(f"judgements of feedback {name!r}", len(deleted), len(judgements), deleted))
        queries = [query for query in request.queries if query.inputs()]
        if not queries and len(deleted) == len(judgements):
            raise NotReadyError(f"no item that feedback {name!r} has judgements of is left: judge others")
        views = dict.fromkeys(query.view for query in request.queries) or ("",)
        judged = [judgement for judgement in judgements if judgement.key in ids and ids[judgement.key] not in own]
        queries += [Query(view, key=judgement.key, weight=judgement.weight) for view in views for judgement in judged]
        return replace(request, queries=queries, feedback="")

    def list(self) -> list[FeedbackInfo]:
        """Return the names, each with the number of its judgements that count."""
        with self._catalog.read() as tx:
            return [described(name, counting(tx.judgements.all(name))) for name in tx.judgements.names()]


def _all(tx: Transaction, name: str) -> list[Judgement]:
    """Return every judgement of a name; NotFoundError lists the names."""
    check_feedback(name)
    judgements = tx.judgements.all(name)
    if not judgements:
        names = tx.judgements.names()
        there = f"there is: {', '.join(names)}" if names else "there is none"
        raise NotFoundError(
            f"no feedback {name!r} in collection {tx.name()!r}; {there}: judge items first, with: ",
            call("collection.feedback.judge", name, likes=["KEY"]),
        )
    return judgements


def _stored_keys(tx: Transaction, keys: Collection[str]) -> dict[str, str]:
    """Return the keys of existing items in the form that the catalog has, by the given form.

    Raises NotFoundError for an unknown key, and InvalidInputError for two forms of one key.
    """
    ids = tx.items.ids_of(keys)
    if unknown := [key for key in keys if key not in ids]:
        raise NotFoundError(f"no item {unknown[0]!r} in collection {tx.name()!r}")
    items = tx.items.by_id(list(ids.values()))
    if len(items) < len(ids):
        raise InvalidInputError("one item is judged twice, by two forms of its key: judge it once")
    return {key: items[item].key for key, item in ids.items()}


def _remembered(tx: Transaction, name: str, notion: str, person: str) -> list[Answer]:
    return [
        answer
        for answer in tx.answers.of_feedback(name)
        if notion in ("", answer.notion) and person in ("", answer.person)
    ]


def _content(answer: Answer) -> tuple[object, ...]:
    return answer.notion, answer.person, answer.anchor, answer.near, answer.far
