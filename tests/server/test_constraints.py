"""Comparisons in a CSV reach the engine from the command line, here and over gRPC, and the hits agree with them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import NewItem
from crossview.server.wire.convert import from_comparisons, to_comparisons
from crossview.server.wire.settings import MESSAGE_BYTES

COUNT = 50
WIDTH = 5


def alike() -> np.ndarray:
    """Return the hidden number of each item, from 0 to 1, which makes items alike."""
    return np.random.default_rng(0).uniform(0, 1, COUNT)


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collections ``rows`` and ``some``.

    The first number of an item's row makes items alike; the others are noise, and far larger. The items of ``rows``
    have no labels, and every other one of ``some`` has.
    """
    home = Home(tmp_path / "home")
    noise = np.random.default_rng(1).normal(size=(COUNT, WIDTH - 1))
    rows = np.column_stack([alike(), noise]).astype(np.float32)
    labels = [("low",) if value < 0.5 else ("high",) for value in alike()]
    for name in ("rows", "some"):
        with home.create(name, (f"view=vectors:dim={WIDTH}",)) as made:
            tags = [labels[number] if name == "some" and number % 2 else () for number in range(COUNT)]
            made.items.put([NewItem(f"item/{i}", rows={"view": rows[i]}, labels=tags[i]) for i in range(COUNT)])
    with reached(home, request.param) as options:
        yield options


def written(file: Path, kind: str) -> int:
    """Write the comparisons of people into a file, and return their number."""
    value, lines = alike(), list[str]()
    for items in np.random.default_rng(2).integers(0, COUNT, (300, 4)):
        a, b, c, d = (f"item/{item}" for item in items)
        gap = [abs(value[items[one]] - value[items[two]]) for one, two in ((0, 1), (0, 2), (2, 3))]
        if len({*items}) < 4:
            continue
        if kind == "key_a,key_b,similar":
            lines += [f"{a},{b},{int(gap[0] < 0.2)}"] if (a, b) not in lines and items[0] < items[1] else []
        elif kind == "anchor,near,far":
            lines += [f"{a},{b},{c}" if gap[0] < gap[1] else f"{a},{c},{b}"]
        else:
            lines += [f"{a},{b},{c},{d}" if gap[0] < gap[2] else f"{c},{d},{a},{b}"]
    file.write_text("\n".join([kind, *lines]) + "\n")
    return len(lines)


def spread(where: list[str]) -> float:
    """Return the mean difference of the hidden number between an item and its nearest; by chance it is a third."""
    gaps = []
    for number in range(0, COUNT, 10):
        command = ("search", "rows", "--key", f"item/{number}", "--view", "view", "-k", 5)
        (answer,) = result_of(*command, *where)
        gaps += [abs(alike()[int(hit["key"].removeprefix("item/"))] - alike()[number]) for hit in answer["hits"]]
    return float(np.mean(gaps))


@pytest.mark.parametrize("kind", ["key_a,key_b,similar", "anchor,near,far", "near_a,near_b,far_a,far_b"])
def test_neighbours_are_what_the_comparisons_say(where: list[str], tmp_path: Path, kind: str) -> None:
    """Items have no labels: an index of rank 1 holds one number an item, and its neighbours are alike."""
    file = tmp_path / "comparisons.csv"
    count = written(file, kind)
    before = spread(where)
    train = ("train", "rows", "--learner", "fantope", "--views", "view", "--dim", 1, "--constraints", file)
    info = result_of(*train, *where)
    assert info["dim"] == {"view": 1}
    assert (info["constraints"]["given"], info["constraints"]["used"]) == (count, {"view": count})
    assert spread(where) < 0.06 < 0.15 < before
    words = f"learned from {count} for view of {count} {info['constraints']['kind']}"
    assert f"fantope: {words}" in done("show", "rows", *where)


def test_a_space_is_learned_again_from_what_it_was_given(where: list[str], tmp_path: Path) -> None:
    """Comparisons that name a query are left out; those of items without a label count, and their number is printed."""
    file = tmp_path / "comparisons.csv"
    count = written(file, "anchor,near,far")
    train = ("train", "some", "--learner", "fantope:1", "--views", "view", "--constraints", file)
    assert f"learned from {count} for view of {count} triplets" in done(*train, *where)
    evaluate = ("evaluate", "some", "--view", "view", "-k", 3, "--refit", "--test-size", 0.4, *where)
    found = result_of(*evaluate)
    assert found["queries"] == COUNT // 5
    used, held_out = re.search(
        rf"learned from (\d+) for view of {count} triplets; (\d+) name", found["protocol"]
    ).groups()
    assert int(used) + int(held_out) == count
    assert int(used) > count / 4  # four fifths of all items take part, a third of them labelled
    assert next(row["value"] for row in found["rows"] if row["metric"] == "accuracy") > 0.9
    raw = result_of(*evaluate, "--space", "raw")
    assert next(row["value"] for row in raw["rows"] if row["metric"] == "accuracy") < 0.8


def test_what_is_wrong_with_a_file_is_told(where: list[str], tmp_path: Path) -> None:
    """The message has one line, with the line of the file."""
    file = tmp_path / "comparisons.csv"
    train = ("train", "rows", "--views", "view", "--constraints", file, *where, "--learner")
    for text, words in (
        (
            "anchor,near,far\nitem/0,item/1,item/99\n",
            "constraints, line 2: there is no item 'item/99'",
        ),
        ("anchor,near,far\nitem/0,item/1,item/1\n", "constraints, line 2: the pair 'item/0' and 'item/1' is compared"),
        ("key_a,key_b,similar,weight\nitem/0,item/1,1,nan\n", "constraints, line 2: weight nan is not a finite number"),
        ("item/0,item/1,item/2\n", "but the first line must name the columns: key_a,key_b,similar or anchor,near,far"),
        ("anchor,near,far\nitem/0,item/1\n", "line 2: expected anchor,near,far but found 'item/0,item/1'"),
    ):
        file.write_text(text)
        result = run(*train, "fantope")
        assert result.exit_code == 1
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
    file.write_text("anchor,near,far\nitem/0,item/1,item/2\n")
    assert "pca does not learn from constraints: use a learner that does" in run(*train, "pca").stderr
    assert "constraints cannot be read" in run("train", "rows", "--views", "view", "--constraints", "no", *where).stderr


def test_without_labels_or_constraints_the_remedy_is_told(where: list[str]) -> None:
    """A metric needs either."""
    result = run("train", "rows", "--learner", "fantope", "--views", "view", *where)
    assert result.exit_code == 1
    assert "--constraints" in result.stderr


def test_a_million_comparisons_are_one_message() -> None:
    """Quadruplets of ten thousand items with long keys, weights, margins and lines stay well below the limit."""
    generator = np.random.default_rng(0)
    numbers = generator.uniform(size=1_000_000)
    comparisons = Comparisons(generator.integers(0, 10_000, (1_000_000, 4)), None, numbers, numbers)
    keys = tuple(f"photographs/holiday/{number:05}.jpg" for number in range(10_000))
    message = from_comparisons(ItemComparisons(keys, comparisons, np.arange(2, 1_000_002)))
    assert message.ByteSize() < MESSAGE_BYTES / 2


def test_files_of_several_kinds_are_learned_from_together(where: list[str], tmp_path: Path) -> None:
    """Pairs and quadruplets with weights make one metric: counted, stored, tuned by, and measured kind by kind."""
    pairs, quadruplets = tmp_path / "pairs.csv", tmp_path / "quadruplets.csv"
    total = written(pairs, "key_a,key_b,similar") + written(quadruplets, "near_a,near_b,far_a,far_b")
    before = spread(where)
    both = ("--constraints", pairs, "--constraints", quadruplets)
    command = ("train", "rows", "--views", "view", "--learner", "qwise", "--set", "form=diagonal", *both)
    printed = done(*command, "--constraint-weight", 2, "--constraint-weight", 0.5, *where)
    assert f"learned from {total} for view of {total} pairs and quadruplets" in printed
    assert spread(where) < before
    assert "pairs and quadruplets" in done("show", "rows", *where)
    measured = result_of("evaluate", "rows", "--view", "view", *both, *where)
    assert measured["comparisons"] == total
    figures = {row["metric"]: row["value"] for row in measured["rows"]}
    assert set(figures) == {"order", "auc"}
    assert min(figures.values()) > 0.8
    tuned = done("tune", *command[1:], "--measure", "order", "--try", "C=1,100", *where)
    assert "tuned" in tuned


def test_weights_of_files_are_one_for_each_and_tell(where: list[str], tmp_path: Path) -> None:
    """A file with a tiny weight counts for nothing beside another, and a missing weight is an error."""
    right, wrong = tmp_path / "right.csv", tmp_path / "wrong.csv"
    written(right, "near_a,near_b,far_a,far_b")
    written(wrong, "near_a,near_b,far_a,far_b")
    turned = wrong.read_text().replace("near_a,near_b,far_a,far_b", "far_a,far_b,near_a,near_b")
    wrong.write_text(turned)
    command = ("train", "rows", "--views", "view", "--learner", "qwise", "--set", "form=diagonal")
    both = ("--constraints", right, "--constraints", wrong)
    found = []
    for weights in ((1, 1e-6), (1e-6, 1)):
        done(*command, *both, *(part for one in weights for part in ("--constraint-weight", one)), *where)
        found.append(spread(where))
    assert found[0] < found[1] - 0.1
    refused = run(*command, *both, "--constraint-weight", 1, *where)
    assert refused.exit_code != 0
    assert "a weight for each file" in re.sub(r"[\s│]+", " ", refused.output)


def test_notions_are_named_in_all_files_or_in_none(where: list[str], tmp_path: Path) -> None:
    """If some files state notions, the others must, too."""
    plain, named = tmp_path / "plain.csv", tmp_path / "named.csv"
    written(plain, "key_a,key_b,similar")
    named.write_text("anchor,near,far,notion\nitem/1,item/2,item/3,color\n")
    refused = run("train", "rows", "--views", "view", "--constraints", plain, "--constraints", named, *where)
    assert refused.exit_code != 0
    assert "give a notion to all or none" in re.sub(r"[\s│]+", " ", refused.output)


def test_sets_of_several_kinds_are_sent_together() -> None:
    """A message has the other sets within it, one level deep."""
    pairs = ItemComparisons(("a", "b"), Comparisons(np.array([[0, 1]]), np.array([True])))
    triplets = ItemComparisons(("b", "c", "d"), Comparisons(np.array([[0, 1, 2]]))).weighted(0.5)
    message = from_comparisons(replace(pairs, others=(triplets,)))
    again = to_comparisons(message)
    assert again.kind == "pairs and triplets"
    assert again.others[0].keys == triplets.keys
    assert again.others[0].comparisons.weights is not None
    assert again.others[0].comparisons.weights.tolist() == [0.5]
    message.others[0].others.add(size=2)
    with pytest.raises(InvalidInputError, match="put them all into one list"):
        to_comparisons(message)
