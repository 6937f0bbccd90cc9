"""Judgements of people on pairs of pictures: that they are the same photograph, or that they are not."""

from collections.abc import Iterable

from crossview.engine.catalog.catalog import Catalog, now
from crossview.engine.catalog.checks import normal
from crossview.engine.values.comparisons import check_person
from crossview.engine.values.duplicate import PairJudgement
from crossview.engine.values.errors import InvalidInputError, NotFoundError


class DuplicateJudgements:
    """The judgements on pairs of items of a collection, which every later search for duplicates honours.

    The last judgement of a pair counts. Judgements of deleted items stay, and count again if an item with the key
    returns. Every method raises StorageError; writing methods raise BusyError.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def judge(self, first: str, second: str, same: bool, *, person: str) -> PairJudgement:
        """Store whether two items are the same photograph, and return the judgement.

        Raises InvalidInputError for an item and itself, NotFoundError for an unknown key.
        """
        check_person(person)
        names = sorted(map(normal, (first, second)))
        if names[0] == names[1]:
            raise InvalidInputError(f"{first!r} is one item: judge two different ones")
        with self._catalog.write() as tx:
            ids = tx.items.ids_of((first, second))
            if unknown := [key for key in (first, second) if key not in ids]:
                raise NotFoundError(f"no item {unknown[0]!r} in collection {tx.name()!r}")
            judgement = PairJudgement(first=names[0], second=names[1], same=same, person=person)
            return tx.pair_judgements.add(judgement, now())

    def undo(self, person: str) -> PairJudgement:
        """Delete and return the last judgement of a person; what it replaced counts again.

        Raises NotFoundError if there is none.
        """
        check_person(person)
        with self._catalog.write() as tx:
            own = [judgement for judgement in tx.pair_judgements.all() if judgement.person == person]
            if not own:
                raise NotFoundError(f"{person} has judged no pair of pictures in collection {tx.name()!r}")
            tx.pair_judgements.delete(own[-1].id)
            return own[-1]

    def list(self) -> list[PairJudgement]:
        """Return the judgements that count, the last one of each pair, in the order in which people made them."""
        with self._catalog.read() as tx:
            return counting(tx.pair_judgements.all())


def counting(judgements: Iterable[PairJudgement]) -> list[PairJudgement]:
    """Return the last judgement of each pair, in the order in which people made them."""
    last: dict[tuple[str, str], PairJudgement] = {}
    for judgement in judgements:
        last.pop((judgement.first, judgement.second), None)
        last[judgement.first, judgement.second] = judgement
    return list(last.values())
