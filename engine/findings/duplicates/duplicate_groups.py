"""The search for duplicates: candidates, their comparison by a fitted rule, and the groups."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.checks import normal
from crossview.engine.findings.duplicates.candidates import Candidates, by_place, candidates
from crossview.engine.findings.duplicates.compared import Compared, Source
from crossview.engine.findings.duplicates.grouping import Classes, Group, Grouper, Pair, classes
from crossview.engine.findings.duplicates.inspection import ALIKE, Inspector
from crossview.engine.findings.duplicates.judging import counting
from crossview.engine.findings.duplicates.keeping import IDENTICAL, JUDGED, Keeping, Look, look
from crossview.engine.findings.duplicates.rule import Rule, fitted, orientation_of
from crossview.engine.runtime.cancellation import checkpoint, report_progress
from crossview.engine.runtime.threads import one_blas_thread, over
from crossview.engine.values.duplicate import (
    DuplicateGroup,
    DuplicatePicture,
    Duplicates,
    DuplicatesRequest,
    PairJudgement,
)
from crossview.engine.values.numbers import check_seed
from crossview.features.alignment import Alignment

_FITTED_ON, _BESIDE, _RANDOM = 40, 3, 2
"""Number of pictures that the rule is fitted on, and of near and of random pictures that each is compared with."""
_UNLIKELY = 0.05
"""Probability up to which two pictures are not compared again with their roles exchanged."""
_AT_ONCE, _SHARED = 8, 32
"""Number of pairs that a thread compares, and number of such blocks between two reports of progress."""
_NAMED = 3
"""Number of pictures that a note names."""
_MOMENT = 60
"""Seconds between two photographs of one moment."""
_HOUR, _LIKELY = 3_600, 0.5
"""Seconds within which similar photographs are of one moment, and probability from which on those without a time are:
what is unlikely is not shown."""
_MOMENT_REASON = "photographs of one moment"


def find_duplicates(own: Source, other: Source | None, request: DuplicatesRequest) -> Duplicates:
    """Return the groups of pictures of a source that show the same photograph, or show it in another source.

    Raises InvalidInputError for a wrong seed.
    """
    check_seed(request.seed)
    with own.read() as tx:
        judged = counting(tx.pair_judgements.all())
    return Search(Compared(own, other), request.seed, judged).result(request)


@dataclass(frozen=True)
class _Verdict:
    same: bool
    near: bool
    probability: float
    look: Look
    alignment: Alignment | None = None
    """The alignment of the picture with its keeper; None if they are the same without a comparison."""


_UNKNOWN = _Verdict(False, False, 0.0, Look(()))
_IDENTICAL = _Verdict(True, False, 1.0, IDENTICAL)


class Search:
    """One search among compared pictures, with the judgements that count."""

    def __init__(self, compared: Compared, seed: int, judged: Sequence[PairJudgement] = ()) -> None:
        self.compared = compared
        self._same, self._apart = _judged_places(compared, judged)
        self._classes = _classes(compared, self._same, self._apart)
        every = candidates(compared.codes, compared.views(), compared.side) if len(compared) > 1 else _NONE
        self.pairs: Candidates = self._between_classes(every, _identical_across(compared))
        compared.load(np.unique(np.concatenate([self.pairs.first, self.pairs.second])).tolist())
        self._inspector = Inspector(compared)
        with one_blas_thread():
            self.rule: Rule = self._fit(seed)
        self._verdicts: dict[Pair, _Verdict] = {}
        self._taken = compared.taken(self._seen())
        self._done = 0

    def result(self, request: DuplicatesRequest) -> Duplicates:
        """Return the groups that a request wants."""
        keeping = Keeping(self.compared, frozenset(self._taken), frozenset(self.compared.annotated(self._seen())))
        rank = keeping.order
        best = {name: min(places, key=rank) for name, places in self._classes.members.items()}
        of = [best[name] for name in self._classes.of]
        neighbors: list[list[int]] = [[] for _ in of]
        for place, near in enumerate(by_place(self.pairs, len(of))):
            neighbors[of[place]] += [of[other] for other in near]
        grouper = Grouper(neighbors, self._keeps, self._joins, self._apart_of(of), self._compare)
        with one_blas_thread():
            copies = grouper.groups(sorted(best.values(), key=rank))
        grouped = {group.keeper for group in copies} | set(grouper.keeper_of)
        copies += [Group(keeper, []) for keeper in best.values() if keeper not in grouped]
        groups = [whole for group in copies if (whole := self._with_classes(group, of, best)).members]
        described = [self._described("copies", *self._chosen(group, keeping)) for group in groups]
        described.sort(key=lambda group: (-group.size, group.keeper.key))
        bursts = [self._described("burst", group, _MOMENT_REASON) for group in grouper.bursts(rank)]
        return Duplicates(
            pictures=len(self.compared),
            groups=tuple(_chosen([*described, *sorted(bursts, key=lambda group: group.keeper.key)], request)),
            notes=tuple(self._notes()),
        )

    def _chosen(self, group: Group, keeping: Keeping) -> tuple[Group, str]:
        """Return a group with the best of its pictures as the keeper, and the reason."""
        if self.compared.side is not None:
            return group, f"in collection {self.compared.collection(group.keeper)}"
        verdicts = {place: self._member_verdict(group.keeper, place) for place in group.members}
        maps = {group.keeper: np.eye(3)}
        for place, verdict in verdicts.items():
            if verdict.alignment is not None:
                maps[place] = self._inspector.place(group.keeper, place, verdict.alignment)
            elif verdict is _IDENTICAL:
                maps[place] = maps[group.keeper]
        keeper, *members = keeping.choose([group.keeper, *group.members], maps)
        if keeper != group.keeper and (moved := verdicts[keeper].alignment) is not None:
            # Each member was confirmed against the first keeper, and that one against the best.
            self._stand(keeper, group.keeper, moved.inverted(), verdicts[keeper])
            for place in members:
                if place != group.keeper and (alignment := verdicts[place].alignment) is not None:
                    self._stand(keeper, place, moved.inverted().after(alignment), verdicts[place])
        return Group(keeper, members), keeping.reason(keeper, members, maps)

    def _stand(self, keeper: int, place: int, alignment: Alignment, verdict: _Verdict) -> None:
        """Keep the verdict on a picture whose keeper another one has become; ``alignment`` aligns the two."""
        small = self.compared.small(keeper), self.compared.small(place)
        if small[0] is not None and small[1] is not None:
            pictures = self.compared.pictures
            relation = look(pictures[keeper], pictures[place], (small[0], small[1]), alignment)
            self._verdicts[keeper, place] = _Verdict(True, False, verdict.probability, relation, alignment)

    def _seen(self) -> list[int]:
        """Return the places that can be in a group."""
        members = {*self.pairs.first.tolist(), *self.pairs.second.tolist()}
        members |= {place for places in self._classes.members.values() if len(places) > 1 for place in places}
        return sorted(members)

    def _between_classes(self, pairs: Candidates, identical: Sequence[Pair]) -> Candidates:
        """Return the pairs of different classes, the identical ones of two sources first."""
        of = np.array(self._classes.of, np.int64)
        different = of[pairs.first] != of[pairs.second] if len(of) else np.zeros(0, bool)
        equal = np.array(identical, np.int64).reshape(-1, 2)
        return Candidates(
            np.concatenate([equal[:, 0], pairs.first[different]]),
            np.concatenate([equal[:, 1], pairs.second[different]]),
            np.concatenate([np.zeros(len(equal)), pairs.score[different]]),
            pairs.left_out,
        )

    def _keeps(self, place: int) -> bool:
        return self.compared.side is None or bool(self.compared.other[place])

    def _joins(self, place: int) -> bool:
        return self.compared.side is None or not self.compared.other[place]

    def _apart_of(self, of: Sequence[int]) -> set[Pair]:
        """Return the pairs of classes that judgements keep apart, by their best places."""
        pairs = ((of[first], of[second]) for first, second in self._apart)
        return {(min(pair), max(pair)) for pair in pairs}

    def _fit(self, seed: int) -> Rule:
        """Fit the rule on some of the pictures, against their nearest and random others."""
        draws, count = np.random.default_rng(seed), len(self.compared)
        some = draws.choice(count, min(count, _FITTED_ON), replace=False).tolist() if count else []
        beside = by_place(self.pairs, count)
        near = [(place, other) for place in some for other in beside[place][:_BESIDE]]
        random = [(place, other) for place in some for other in draws.choice(count, _RANDOM).tolist() if other != place]
        self.compared.load([place for pair in near + random for place in pair])
        # The rule is for photographs: pages of one layout agree in their thumbnails as copies do.
        drawn = {place for place in {place for pair in near + random for place in pair} if self._inspector.drawn(place)}
        near, random = ([pair for pair in pairs if drawn.isdisjoint(pair)] for pairs in (near, random))
        small = (self.compared.small(place) for place in some if place not in drawn)
        pictures = [picture for picture in small if picture is not None]
        of_random, of_near = (
            [alignment for alignment in over(pairs, lambda pair: self._aligned(*pair)) if alignment is not None]
            for pairs in (random, near)
        )
        return fitted(pictures, of_random, of_near, seed)

    def _aligned(self, first: int, second: int) -> Alignment | None:
        checkpoint()
        thumbnail, other = self.compared.small(first), self.compared.small(second)
        if thumbnail is None or other is None:
            return None
        codes = self.compared.codes
        return thumbnail.aligned(other, orientation_of(codes[first], codes[second])[0])

    def _compare(self, pairs: Sequence[Pair]) -> list[_Verdict]:
        new = [pair for pair in pairs if pair not in self._verdicts]
        for some in batches(new, _SHARED * _AT_ONCE):
            parts = list(batches(some, _AT_ONCE))
            for verdicts in over(parts, lambda part: {pair: self._verdict(*pair) for pair in part}):
                self._verdicts |= verdicts
            self._done += len(some)
            report_progress(min(self._done, len(self.pairs.first)), len(self.pairs.first))
        return [self._verdicts[pair] for pair in pairs]

    def _verdict(self, keeper: int, place: int) -> _Verdict:
        if self._is_identical(keeper, place):
            return _IDENTICAL
        reverse = self._verdicts.get((place, keeper))
        if reverse is not None and reverse.probability <= _UNLIKELY:
            return reverse
        alignment = self._aligned(keeper, place)
        small = self.compared.small(keeper), self.compared.small(place)
        if alignment is None or small[0] is None or small[1] is None:
            return _UNKNOWN
        if reverse is not None and reverse.same and reverse.alignment is not None:
            # One direction is enough: a crop is easier to find in its original than the other way round.
            alignment = reverse.alignment.inverted()
            same, near, probability = True, False, reverse.probability
        else:
            same, near, probability = self._decided(keeper, place, alignment)
        if not same and not near:
            return _Verdict(False, False, probability, Look(()))
        pictures = self.compared.pictures
        relation = look(pictures[keeper], pictures[place], (small[0], small[1]), alignment)
        return _Verdict(same, near, probability, relation, alignment)

    def _decided(self, keeper: int, place: int, alignment: Alignment) -> tuple[bool, bool, float]:
        """Return whether two aligned pictures are the same, whether they are of one moment, and how likely the same."""
        if alignment.agreement.middle >= ALIKE and self._inspector.is_drawn(keeper, place):
            same = self._inspector.same_drawings(keeper, place, alignment)
            return same, False, float(same)
        probability, seconds = self.rule.probability(alignment), self._seconds_between(keeper, place)
        if seconds is not None:
            near = self.rule.is_near(alignment) and seconds <= _HOUR
        else:
            near = self.rule.is_near(alignment) and probability >= _LIKELY
        if probability < self.rule.threshold:
            return False, near, probability
        if seconds is not None and 0 < seconds <= _MOMENT:
            return False, True, probability
        return self._inspector.same_photographs(keeper, place, alignment), False, probability

    def _is_identical(self, first: int, second: int) -> bool:
        content = self.compared.pictures[first].content_hash
        return content != "" and content == self.compared.pictures[second].content_hash

    def _seconds_between(self, first: int, second: int) -> int | None:
        """Return the time between two photographs, if the metadata of both state when they were taken."""
        times = self._taken.get(first), self._taken.get(second)
        return None if times[0] is None or times[1] is None else abs(times[0] - times[1])

    def _with_classes(self, group: Group, of: Sequence[int], best: dict[int, int]) -> Group:
        """Return a group with all pictures of the classes that its pictures stand for, on the sides that may join."""
        members = []
        for place_in_group in (group.keeper, *group.members):
            whole = self._classes.members[self._classes.of[place_in_group]]
            members += [place for place in whole if place != group.keeper and self._joins(place)]
        return Group(group.keeper, members if self._keeps(group.keeper) else [])

    def _described(self, kind: str, group: Group, reason: str) -> DuplicateGroup:
        places = [group.keeper, *group.members]
        sources = self.compared.sources(places)
        members = [self._member(kind, group.keeper, place, sources) for place in group.members]
        return DuplicateGroup(
            kind="burst" if kind == "burst" else "copies",
            keeper=self._shown(group.keeper, sources),
            reason=reason,
            members=tuple(sorted(members, key=lambda picture: (-picture.confidence, picture.key))),
        )

    def _member(self, kind: str, keeper: int, place: int, sources: dict[int, str]) -> DuplicatePicture:
        if kind == "burst":
            verdicts = [self._verdicts[pair] for pair in ((keeper, place), (place, keeper)) if pair in self._verdicts]
            likely = max(verdict.probability for verdict in verdicts or [self._verdict(keeper, place)])
            return self._shown(place, sources, _Verdict(False, True, likely, Look(("burst",))))
        return self._shown(place, sources, self._member_verdict(keeper, place))

    def _member_verdict(self, keeper: int, place: int) -> _Verdict:
        verdict = self._verdicts.get((keeper, place))
        return verdict if verdict is not None and verdict.same else self._stand_in(keeper, place)

    def _stand_in(self, keeper: int, place: int) -> _Verdict:
        """Return the verdict on a picture that is in a group by its class: by its file, a judgement or its equal."""
        if self._is_identical(keeper, place):
            return _IDENTICAL
        for other in self._classes.members[self._classes.of[place]]:
            if self._is_identical(other, place) and (keeper, other) in self._verdicts:
                return self._verdicts[keeper, other]
        return _Verdict(True, False, 1.0, JUDGED)

    def _shown(self, place: int, sources: dict[int, str], verdict: _Verdict | None = None) -> DuplicatePicture:
        picture = self.compared.pictures[place]
        relation = Look(()) if verdict is None else verdict.look
        return DuplicatePicture(
            key=picture.key,
            collection=self.compared.collection(place),
            relations=relation.relations,
            degrees=relation.degrees,
            share=relation.share,
            confidence=1.0 if verdict is None else round(verdict.probability, 4),
            width=picture.width,
            height=picture.height,
            size=picture.size,
            source=sources.get(place, ""),
        )

    def _notes(self) -> list[str]:
        notes = []
        if self.compared.unreadable:
            notes.append(f"{self.compared.unreadable:,} pictures are left out: their thumbnails cannot be read")
        for places, why in (
            (self.compared.narrow, "they are too narrow to compare as pictures"),
            (self._inspector.unread, "they are drawn, and their files cannot be read to compare their content"),
        ):
            if places:
                names = sorted(self.compared.pictures[place].key for place in places)
                more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
                notes.append(f"only equal files count as copies of {', '.join(names[:_NAMED])}{more}: {why}")
        if self.pairs.left_out:
            notes.append(
                f"{self.pairs.left_out:,} pairs of less similar pictures were not compared, beyond "
                f"{len(self.pairs.first):,} nearer ones: choose fewer items with a filter to compare them"
            )
        return notes


_EMPTY = np.empty(0, np.int64)
_NONE = Candidates(_EMPTY, _EMPTY, np.empty(0))


def _judged_places(compared: Compared, judged: Sequence[PairJudgement]) -> tuple[list[Pair], set[Pair]]:
    """Return the pairs of places that are judged the same, and those that are judged different, the lesser first."""
    if not judged or compared.side is not None:
        return [], set()
    names = {name for judgement in judged for name in (judgement.first, judgement.second)}
    places = {normal(item.key): place for place, item in enumerate(compared.pictures) if normal(item.key) in names}
    same, apart = list[Pair](), set[Pair]()
    for judgement in judged:
        if judgement.first in places and judgement.second in places:
            first, second = sorted((places[judgement.first], places[judgement.second]))
            if judgement.same:
                same.append((first, second))
            else:
                apart.add((first, second))
    return same, apart


def _classes(compared: Compared, same: Iterable[Pair], apart: set[Pair]) -> Classes:
    """Return the classes of pictures: equal files of a side, and pairs judged the same."""
    equal: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for place, picture in enumerate(compared.pictures):
        if picture.content_hash:
            equal[picture.content_hash, bool(compared.other[place])].append(place)
    return classes(len(compared), [places for places in equal.values() if len(places) > 1], same, apart)


def _identical_across(compared: Compared) -> list[Pair]:
    """Return pairs of equal files of two sources, whatever their pictures look like, one for each picture."""
    if compared.side is None:
        return []
    by_hash = {picture.content_hash: place for place, picture in enumerate(compared.pictures) if compared.other[place]}
    return [
        (place, by_hash[picture.content_hash])
        for place, picture in enumerate(compared.pictures)
        if not compared.other[place] and picture.content_hash and picture.content_hash in by_hash
    ]


def _chosen(groups: Sequence[DuplicateGroup], request: DuplicatesRequest) -> list[DuplicateGroup]:
    """Return the groups with a wanted relation, at most as many as wanted."""
    relations, matching = set(request.relations), []
    for group in groups:
        members = [member for member in group.members if not relations or relations & set(member.relations)]
        if members:
            matching.append(
                DuplicateGroup(kind=group.kind, keeper=group.keeper, reason=group.reason, members=tuple(members))
            )
    return matching[: request.limit] if request.limit else matching
