"""Comparisons of items are read from files, checked, and narrowed to the existing items."""

from dataclasses import replace

import numpy as np
import pytest

from crossview.engine.catalog import state
from crossview.engine.catalog.ingest.comparison_files import read_comparisons, write_comparisons
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import InvalidInputError, NotFoundError

KNOWN = {"a", "b", "c", "d"}


def given(items, lines=None, **said) -> ItemComparisons:
    """Return comparisons of the known items in order, their keys one letter each."""
    arrays = {name: np.array(values) for name, values in said.items()}
    letters = sorted({letter for row in items for letter in row})
    positions = np.array([[letters.index(letter) for letter in row] for row in items])
    return ItemComparisons(tuple(letters), Comparisons(positions, **arrays), None if lines is None else np.array(lines))


def named(found: ItemComparisons) -> list[tuple[str, ...]]:
    return [tuple(found.keys[item] for item in row) for row in found.comparisons.items]


def test_the_header_says_what_the_lines_are(tmp_path):
    """Lines are pairs, triplets and quadruplets, with columns in any order, numbers if stated, each with its line."""
    file = tmp_path / "said.csv"
    file.write_text('key_a,key_b,similar\na/1.jpg, a/2.jpg,1\n\n"b, c.jpg",d,no\n')
    pairs = read_comparisons(file)
    assert named(pairs) == [("a/1.jpg", "a/2.jpg"), ("b, c.jpg", "d")]
    assert (pairs.comparisons.kind, pairs.comparisons.similar.tolist(), pairs.lines.tolist()) == (
        "pairs",
        [True, False],
        [2, 4],
    )
    file.write_text("\ufeffWeight,far,near,anchor\n.5,c,b,a\n2,a,b,c\n")
    triplets = read_comparisons(file)
    assert named(triplets) == [("a", "b", "c"), ("c", "b", "a")]
    assert (triplets.comparisons.kind, triplets.comparisons.weights.tolist(), triplets.comparisons.margins) == (
        "triplets",
        [0.5, 2.0],
        None,
    )
    file.write_text("near_a,near_b,far_a,far_b,margin\na,b,c,d,0\na,c,a,d,1e-1\n")
    quadruplets = read_comparisons(file)
    assert named(quadruplets) == [("a", "b", "c", "d"), ("a", "c", "a", "d")]
    assert (quadruplets.comparisons.kind, quadruplets.comparisons.margins.tolist()) == ("quadruplets", [0.0, 0.1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "begins with '', but the first line must name the columns: key_a,key_b,similar or anchor,near,far"),
        (b"a,b,1\n", "begins with 'a,b,1'"),
        (b"key_a,key_b\na,b\n", "begins with 'key_a,key_b'"),
        (b"key_a,key_b,similar,margin\na,b,1,2\n", "begins with"),
        (b"anchor,near,far,near\na,b,c,d\n", "begins with"),
        (b"anchor,near,far,colour\na,b,c,d\n", "begins with"),
        (b"anchor,near,far\n\n", "contains only the header anchor,near,far"),
        (b"anchor,near,far\na,b\n", "line 2: expected anchor,near,far but found 'a,b'"),
        (b"anchor,near,far\na,b,c\na,,c\n", "line 3: expected"),
        (b"anchor,near,far,weight\na,b,c,much\n", "line 2: weight must be a number, not 'much'"),
        (b"key_a,key_b,similar\na,b,maybe\n", "line 2: similar must be 1 or 0, not 'maybe'"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_a_file_that_holds_no_comparisons_is_refused(tmp_path, text, words):
    """The message has the wrong line, and the expected form."""
    file = tmp_path / "said.csv"
    file.write_bytes(text)
    with pytest.raises(InvalidInputError, match=words):
        read_comparisons(file)
    with pytest.raises(InvalidInputError, match="absent"):
        read_comparisons(tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        (given(["aab"]), InvalidInputError, "'a' is compared with itself"),
        (given(["aba"], lines=[9]), InvalidInputError, "line 9: 'a' is compared with itself"),
        (given(["abcc"]), InvalidInputError, "'c' is compared with itself"),
        (given(["aa"], similar=[False]), InvalidInputError, "'a' is compared with itself"),
        (given(["abb"]), InvalidInputError, "the pair 'a' and 'b' is compared with itself"),
        (given(["abba"]), InvalidInputError, "is compared with itself"),
        (
            given(["ab", "ac", "ba"], similar=[True, True, False], lines=[2, 3, 4]),
            InvalidInputError,
            "'a' and 'b' are similar by constraints, line 2 and dissimilar by constraints, line 4: leave one",
        ),
        (given(["abc"], weights=[np.nan]), InvalidInputError, "constraint 1: weight nan is not a finite number"),
        (given(["abc", "abd"], weights=[1.0, -1.0]), InvalidInputError, "constraint 2: weight -1.0 is negative"),
        (given(["abc"], weights=[0.0]), InvalidInputError, "every constraint has weight 0"),
        (given(["abc"], margins=[np.inf]), InvalidInputError, "constraint 1: margin inf is not a finite number"),
        (given(["abc"], weights=[1e300]), InvalidInputError, r"weight 1e\+300 is not a finite number below 1e\+16"),
        (given(["abc"], margins=[-1e300]), InvalidInputError, r"margin -1e\+300 is not a finite number below 1e\+16"),
    ],
)
def test_what_cannot_be_meant_is_told(said, error, words):
    """Items and pairs that are compared with themselves, contradictions, values that are not numbers."""
    with pytest.raises(error, match=words):
        said.check()


def test_people_may_disagree():
    """The same pair twice, one comparison and its opposite, and one item on both sides are all allowed."""
    for said in (
        given(["ab", "ba", "ac"], similar=[True, True, False]),
        given(["abc", "acb", "abc"], weights=[0.0, 1.0, 2.0], margins=[-1.0, 0.0, 1.0]),
        given(["abac", "acab"]),
    ):
        said.check()
        assert len(said.of(sorted(KNOWN))) == len(said)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: given(["abcab"]), "pairs, triplets, quadruplets"),
        (lambda: given(["abc"], similar=[True]), "give the column similar with pairs"),
        (lambda: given(["ab"]), "give the column similar with pairs"),
        (lambda: given(["ab"], similar=[True], margins=[1.0]), "upper and lower"),
        (lambda: given(["abc"], weights=[1.0, 2.0]), "weights of triplets must have shape"),
        (lambda: given(["abc"], lines=[1, 2]), "lines of triplets must have shape"),
        (lambda: ItemComparisons(("a", "b", "a"), Comparisons(np.array([[0, 1, 2]]))), "list each item once"),
        (lambda: ItemComparisons(("a",), Comparisons(np.array([[0, 1, 2]]))), "positions in keys, from 0 to 0"),
        (lambda: ItemComparisons((), Comparisons(np.zeros((0, 3), np.int64))), "at least one"),
    ],
)
def test_columns_that_disagree_are_refused(make, words):
    """They may come so over the wire."""
    with pytest.raises(InvalidInputError, match=words):
        make()


def test_only_those_of_the_items_that_there_are_remain():
    """They have the positions of these items, in any order; a method counts those that name certain items."""
    said = given(["abc", "bcd", "acd", "abd"], weights=[1.0, 2.0, 3.0, 4.0])
    keys = ("d", "b", "a")
    found = said.of(keys)
    assert [[keys[item] for item in row] for row in found.items] == [["a", "b", "d"]]
    assert found.weights.tolist() == [4.0]
    assert (said.naming({"c"}), said.naming({"c", "d"}), said.naming(())) == (3, 4, 0)


def test_they_survive_being_stored():
    """Only the lines of the file are lost."""
    for said in (given(["ab", "cd"], similar=[True, False], lines=[2, 3]), given(["abcd"], margins=[2.0])):
        back = ItemComparisons.from_state(state.unpack(state.pack(said.to_state())))
        assert named(back) == named(said)
        assert back.lines is None
        for name in ("similar", "weights", "margins"):
            np.testing.assert_array_equal(getattr(back.comparisons, name), getattr(said.comparisons, name))


def test_the_notion_of_each_line_is_read_stored_and_written_again(tmp_path):
    """It may be in any column; states of earlier versions have none."""
    file = tmp_path / "said.csv"
    file.write_text("notion,anchor,near,far\nhead,a,b,c\nwing,a,c,b\nhead,b,a,d\n")
    said = read_comparisons(file)
    assert (said.notions, said.comparisons.notions.tolist()) == (("head", "wing"), ["head", "wing", "head"])
    back = ItemComparisons.from_state(state.unpack(state.pack(said.to_state())))
    assert (back.notions, back.comparisons.notions.tolist()) == (said.notions, ["head", "wing", "head"])
    write_comparisons(tmp_path / "again.csv", said)
    again = read_comparisons(tmp_path / "again.csv")
    assert (named(again), again.comparisons.notions.tolist()) == (named(said), ["head", "wing", "head"])
    of_two = said.of(("a", "b", "c"))
    assert of_two.notions.tolist() == ["head", "wing"]
    earlier = {name: value for name, value in said.to_state().items() if name != "notions"}
    assert ItemComparisons.from_state(state.unpack(state.pack(earlier))).notions == ()


def test_a_pair_may_be_alike_in_one_notion_and_not_in_another():
    pairs = given(["ab", "ab"], similar=[True, False], notions=["head", "wing"])
    pairs.check()
    with pytest.raises(InvalidInputError, match="similar by constraint 1 and dissimilar by constraint 2"):
        given(["ab", "ab"], similar=[True, False], notions=["head", "head"]).check()


@pytest.mark.parametrize("name", ["", "a:b", "a,b", "a=1", "by head", "x" * 41, "../up"])
def test_a_notion_has_a_name_that_a_target_can_have(name):
    with pytest.raises(InvalidInputError, match="cannot name a notion"):
        given(["abc"], notions=[name])


def test_sets_of_several_kinds_are_stored_together() -> None:
    """The stored state has every set with its weights; states of earlier versions have one set."""
    pairs = ItemComparisons(("a", "b", "c"), Comparisons(np.array([[0, 1], [1, 2]]), np.array([True, False])))
    triplets = ItemComparisons(("c", "d", "e"), Comparisons(np.array([[0, 1, 2]]))).weighted(0.5)
    both = replace(pairs, others=(triplets,))
    assert len(both) == 3
    assert both.kind == "pairs and triplets"
    assert both.naming({"c"}) == 2
    again = ItemComparisons.from_state(both.to_state())
    assert again.kind == both.kind
    assert again.others[0].keys == triplets.keys
    assert again.others[0].comparisons.weights.tolist() == [0.5]
    assert "others" not in pairs.to_state()
    assert ItemComparisons.from_state(pairs.to_state()).others == ()
    found = both.of(["b", "c", "d", "e"])
    assert [one.items.tolist() for one in found.sets] == [[[0, 1]], [[1, 2, 3]]]
    both.check()


def test_those_of_unknown_items_are_left_out_and_counted() -> None:
    """The others of each set keep their weights and lines; a set that becomes empty is left out."""
    first = given(["abx", "abc", "yzw", "cbv"], weights=[1.0, 2.0, 3.0, 4.0], lines=[2, 3, 4, 5])
    both = replace(first, others=(given(["ab", "xb"], similar=[True, False]), given(["xyzw"])))
    kept, sentence = both.of_known({"a", "b", "c"})
    assert (
        sentence == "5 of 7 pairs left out: there is no item ".replace("pairs", both.kind) + "'x', 'y', 'z', and 2 more"
    )
    assert [len(one.comparisons) for one in kept.sets] == [1, 1]
    assert [[kept.keys[item] for item in row] for row in kept.comparisons.items.tolist()] == [["a", "b", "c"]]
    assert (kept.comparisons.weights.tolist(), kept.lines.tolist()) == ([2.0], [3])
    assert both.of_known({*"abcvwxyz"})[1] == ""
    with pytest.raises(NotFoundError, match="constraints, line 2: there is no item 'a'"):
        both.of_known(())
