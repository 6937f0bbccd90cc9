"""Searches by scores of attributes from the command line, here and over gRPC."""

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from attributes import CLASSES, EACH, LEVELS, fill_animals, key, learner, rows
from numpy.typing import NDArray
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.collections.home import Home

WIDTH = dict(zip(CLASSES, LEVELS["width"], strict=True))
SEARCH = ("search", "animals", "--view", "view")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with these items and their learned attributes, to be copied."""
    folder = tmp_path_factory.mktemp("attributes")
    fill_animals(Home(folder / "home"))
    done("train", "animals", *learner(), "--home", folder / "home")
    return folder / "home"


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, trained: Path, tmp_path: Path) -> Iterator[list[str]]:
    """The options by which commands reach a copy of the home."""
    with reached(Home(shutil.copytree(trained, tmp_path / "home")), request.param) as options:
        yield options


def hits(where: list[str], *options: object) -> list[dict]:
    (found,) = result_of(*SEARCH, *options, *where)
    return found["hits"]


def mean(found: list[dict], attribute: str) -> float:
    return float(np.mean([hit["scores"][attribute] for hit in found]))


def test_a_space_names_its_attributes_and_hits_have_their_scores(where: list[str]) -> None:
    """Scores are in standard deviations of the training items, which here are all."""
    (space, raw) = result_of("show", "animals", *where)["spaces"]
    assert (space["axes"], raw["axes"]) == (["width", "height"], [])
    assert "scores of width, height" in done("show", "animals", *where)
    everything = hits(where, "--sort-by", "width", "-k", 1000)
    assert len(everything) == len(CLASSES) * EACH
    for attribute in LEVELS:
        scores = [hit["scores"][attribute] for hit in everything]
        assert (np.mean(scores), np.std(scores)) == pytest.approx((0, 1), abs=1e-5)
    levels = [WIDTH[hit["key"].partition("/")[0]] for hit in everything]
    assert np.corrcoef(levels, [hit["scores"]["width"] for hit in everything])[0, 1] > 0.9
    assert all(hit["scores"] == {} for hit in hits(where, "--key", key(0), "--space", "raw"))


def test_hits_are_sorted_by_a_score(where: list[str]) -> None:
    """The hits are those of a query, or all items without one; with filters, too."""
    near = hits(where, "--key", key(60))
    for sort_by, sign in (("height", 1), ("-height", -1)):
        found = hits(where, "--key", key(60), "--sort-by", sort_by)
        assert {hit["key"] for hit in found} == {hit["key"] for hit in near}
        scores = [sign * hit["scores"]["height"] for hit in found]
        assert scores == sorted(scores, reverse=True)
    least = hits(where, "--sort-by", "-width", "--where", "label in [bee, cat]")
    everything = hits(where, "--sort-by", "-width", "-k", 1000)
    expected = [hit["key"] for hit in everything if hit["labels"][0] in ("bee", "cat")]
    assert [hit["key"] for hit in least] == expected[:10]
    assert {hit["distance"] for hit in least} == {0.0}


def test_bounds_of_scores_are_a_filter(where: list[str]) -> None:
    """The hits are the nearest of all items within the bounds, beside any other filters."""
    nearest = hits(where, "--key", key(60), "-k", 1000)
    within = [hit["key"] for hit in nearest if hit["scores"]["width"] >= 0.5 and hit["scores"]["height"] <= 0.9]
    bounds = ("--where", "score.width >= .5 and score.height <= .9")
    assert [hit["key"] for hit in hits(where, "--key", key(60), *bounds)] == within[:10]
    dogs = [one for one in within if one.startswith("dog")]
    assert [hit["key"] for hit in hits(where, "--key", key(60), *bounds, "--where", "key prefix dog/")] == dogs[:10]
    assert hits(where, "--key", key(60), "--where", "score.width >= 50") == []
    listed = hits(where, "--sort-by", "width", *bounds, "-k", 1000)
    assert {hit["key"] for hit in listed} == set(within) - {key(60)}


def test_more_of_an_attribute_and_others_held(where: list[str]) -> None:
    """The hits have more width, or less, than those of the query alone; held attributes stay nearer."""
    for number in range(60, 72):
        query = ("--key", key(number))
        plain, more = hits(where, *query), hits(where, *query, "--more", "width=1")
        assert mean(more, "width") > mean(plain, "width") + 0.5
        assert mean(hits(where, *query, "--less", "width=1"), "width") < mean(plain, "width") - 0.5
        held = hits(where, *query, "--more", "width=1", "--hold", "height")
        assert held == hits(where, *query, "--more", "width=1", "--hold", "all")
        assert key(number) not in {hit["key"] for hit in held}
    two = hits(where, *query, "--more", "width=1", "--less", "height")
    assert mean(two, "height") < mean(plain, "height")


def test_a_table_shows_the_scores_that_are_asked_for(where: list[str]) -> None:
    assert "height" not in done(*SEARCH, "--key", key(0), "--more", "width", *where)
    assert "height" in done(*SEARCH, "--key", key(0), "--more", "width", "--scores", *where)
    assert "every item -> view" in done(*SEARCH, "--sort-by", "width", *where)
    assert '"{""height"": ' in done(*SEARCH, "--key", key(0), "--csv", *where)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--key", "ant/00", "--more", "depth"), "there are: width, height"),
        (("--key", "ant/00", "--more", "width", "--space", "raw"), "no named attributes"),
        (("--key", "ant/00", "--more", "width=much"), "takes an attribute and a number"),
        (("--key", "ant/00", "--more", "width=-1"), "above 0"),
        (("--key", "ant/00", "--hold", "width"), "more or less"),
        (("--where", "score.width >= 0"), "exactly one of"),
        (("--sort-by", "width", "--more", "width"), "no query to move"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_way_out(
    where: list[str], options: tuple[str, ...], message: str
) -> None:
    result = run(*SEARCH, *options, *where)
    assert result.exit_code != 0
    assert message in " ".join(result.output.replace("│", " ").split())


def test_a_file_of_orderings_states_the_attributes(where: list[str], tmp_path: Path) -> None:
    """It becomes the learner's settings, here and over gRPC, and no other learner takes it."""
    path = tmp_path / "orderings.txt"
    path.write_text("width: ant < bee < cat < dog < elk\nheight: bee < ant < elk < cat < dog\n", encoding="utf-8")
    made = result_of("train", "animals", "--views", "view", "--orderings", path, "--space", "filed", *where)
    assert (made["spec"], made["axes"]) == ("attributes", ["width", "height"])
    ways = [hits(where, "--space", space, "--sort-by", "height", "-k", 30) for space in ("filed", "attributes")]
    assert ways[0] == ways[1]
    refused = run("train", "animals", "--views", "view", "--orderings", path, "--learner", "cca", *where)
    assert refused.exit_code != 0
    assert "--orderings is for the learner attributes" in refused.output


def test_classes_that_no_line_orders_are_left_out_and_named(where: list[str], tmp_path: Path) -> None:
    """The ordered classes teach; every item has scores. One ordered class alone teaches nothing."""
    path = tmp_path / "orderings.txt"
    path.write_text("width: ant < bee < yak\n", encoding="utf-8")
    train = ("train", "animals", "--views", "view", "--orderings", path, "--space", "some")
    note = "3 of 5 classes have no order, so nothing is learned from them: cat, dog, elk"
    assert note in run(*train, *where).stderr
    (space,) = [one for one in result_of("show", "animals", *where)["spaces"] if one["name"] == "some"]
    assert space["notes"] == [note]
    assert len(hits(where, "--space", "some", "--sort-by", "width", "-k", 1000)) == len(CLASSES) * EACH
    path.write_text("width: ant < yak\n", encoding="utf-8")
    assert "numbers for 1 of the 5 classes" in run(*train, *where).stderr


def test_a_file_orders_items_beside_classes_or_in_their_place(where: list[str], tmp_path: Path) -> None:
    """An attribute without an order of classes is learned from pairs of items alone."""
    path, total = tmp_path / "orderings.txt", len(CLASSES) * EACH
    chains = "".join(f"height: items: {chain}\n" for chain in item_chains("height", np.arange(total)))
    path.write_text(f"width: ant < bee < cat < dog < elk\n{chains}", encoding="utf-8")
    made = result_of("train", "animals", "--views", "view", "--orderings", path, "--space", "items", *where)
    assert (made["axes"], made["constraints"]["used"]) == (["width", "height"], {"view": total})
    listed = hits(where, "--space", "items", "--sort-by", "height", "-k", 1000)
    heights = dict(zip(CLASSES, LEVELS["height"], strict=True))
    levels = [heights[hit["key"].partition("/")[0]] for hit in listed]
    assert np.corrcoef(levels, [hit["scores"]["height"] for hit in listed])[0, 1] > 0.9
    again = done("train", "animals", "--views", "view", "--orderings", path, "--holdout", ".3", *where)
    assert f"of {total} pairs; " in " ".join(again.split())
    done("evaluate", "animals", "--view", "view", "--refit", *where)
    tune = (
        "tune",
        "animals",
        "--views",
        "view",
        "--orderings",
        path,
        "--try",
        "C=1,10",
        "--folds",
        2,
        *where,
    )
    done(*tune)
    refused = run(*tune, "--measure", "order")
    assert "order is that of distances, and items are ordered by scores: tune by map" in refused.output


def test_orderings_of_items_need_no_labels(where: list[str], tmp_path: Path) -> None:
    """The items have no labels, and some of them are in no line."""
    done("create", "bare", "--views", "view=vectors:dim=6", *where)
    keys = [key(at) for at in range(len(CLASSES) * EACH)]
    np.savez(tmp_path / "rows.npz", keys=keys, vectors=rows())
    done("index", "bare", "--view", "view", "--vectors", tmp_path / "rows.npz", *where)
    chains = item_chains("width", np.arange(0, len(keys), 2))
    (tmp_path / "orderings.txt").write_text("".join(f"width: items: {chain}\n" for chain in chains), encoding="utf-8")
    done("train", "bare", "--views", "view", "--orderings", tmp_path / "orderings.txt", *where)
    (found,) = result_of("search", "bare", "--view", "view", "--sort-by", "width", "-k", 1000, *where)
    levels = [WIDTH[hit["key"].partition("/")[0]] for hit in found["hits"]]
    assert len(levels) == len(keys)
    assert np.corrcoef(levels, [hit["scores"]["width"] for hit in found["hits"]])[0, 1] > 0.9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("width: items: ant/00 < fox/00", "constraints, line 1: there is no item 'fox/00'"),
        ("width: items: ant/00 < elk/00\nwidth: items: elk/00 ~ ant/00", "line 1 orders"),
        ("width: items: ant/00 < rowless", "view 'view' has no usable comparison"),
    ],
)
def test_items_that_cannot_be_ordered_are_named(where: list[str], tmp_path: Path, text: str, message: str) -> None:
    done("create", "two", "--views", "view=vectors:dim=6,other=vectors:dim=6", *where)
    for view, keys in (("view", ["ant/00", "elk/00"]), ("other", ["rowless", "elk/00"])):
        np.savez(tmp_path / "rows.npz", keys=keys, vectors=rows()[:2])
        done("index", "two", "--view", view, "--vectors", tmp_path / "rows.npz", *where)
    (tmp_path / "orderings.txt").write_text(text, encoding="utf-8")
    result = run("train", "two", "--views", "view", "--orderings", tmp_path / "orderings.txt", *where)
    assert result.exit_code != 0
    assert message in " ".join(result.output.replace("│", " ").split())


def item_chains(attribute: str, numbers: NDArray[np.intp]) -> list[str]:
    """Return chains of three items of different classes or two of one, three pairs for three items."""
    order = np.random.default_rng(0).permutation(numbers)
    levels = dict(zip(CLASSES, LEVELS[attribute], strict=True))
    found = []
    for three in order.reshape(-1, 3):
        names = sorted(map(key, three), key=lambda one: levels[one.partition("/")[0]])
        amounts = [levels[one.partition("/")[0]] for one in names]
        signs = ["~" if one == other else "<" for one, other in pairwise(amounts)]
        found.append(f"{names[0]} {signs[0]} {names[1]} {signs[1]} {names[2]}")
    return found


def test_a_class_is_searched_by_its_name_also_one_that_orderings_alone_describe(
    where: list[str], tmp_path: Path
) -> None:
    """The place by the others' order finds items of a class that came without labels."""
    for label in CLASSES:
        assert {hit["labels"][0] for hit in hits(where, "--by-label", label)} == {label}
    assert "there are: ant, bee, cat, dog, elk" in run(*SEARCH, "--by-label", "fox", *where).output
    assert "no places of classes" in run(*SEARCH, "--by-label", "ant", "--space", "raw", *where).output
    for label in ("bee", "dog", "elk"):
        name, first = f"no-{label}", CLASSES.index(label) * EACH
        done("create", name, "--views", "view=vectors:dim=6", *where)
        for part in ("labelled", "unlabelled"):
            chosen = [at for at in range(len(CLASSES) * EACH) if (first <= at < first + EACH) == (part == "unlabelled")]
            np.savez(tmp_path / "rows.npz", keys=[key(at) for at in chosen], vectors=rows()[chosen])
            done("index", name, "--view", "view", "--vectors", tmp_path / "rows.npz", *where)
            if part == "labelled":
                table = "".join(f"{key(at)},{key(at).partition('/')[0]}\n" for at in chosen)
                (tmp_path / "labels.csv").write_text("key,label\n" + table)
                done("annotate", name, "--from", tmp_path / "labels.csv", *where)
                done("train", name, *learner(), *where)
        (found,) = result_of("search", name, "--view", "view", "--by-label", label, "-k", 10, *where)
        assert np.mean([hit["key"].startswith(label) for hit in found["hits"]]) > 0.6  # by chance a fifth
        keys = [key(at) for at in range(len(CLASSES) * EACH)]
        suggested = result_of("suggest", name, *keys, "--view", "view", *where)["results"]
        likeliest = np.array([one["likeliest"]["label"] for one in suggested])
        labels = np.array([one.partition("/")[0] for one in keys])
        assert np.mean(likeliest[labels == label] == label) > 0.6
        assert np.mean(likeliest == labels) > 0.4
        assert all(one["likeliest"]["described"] == (one["likeliest"]["label"] == label) for one in suggested)
        assert all(1 / len(CLASSES) <= one["likeliest"]["share"] <= 1 for one in suggested)
    shown = done("suggest", name, keys[-1], "--view", "view", *where)
    assert f"{label} (" in shown
    assert "described)" in shown
    assert "not calibrated" in " ".join(shown.split())
    (space, *_) = result_of("show", name, *where)["spaces"]
    assert space["described"] == [label]
    assert f"classes that orderings alone describe: {label}" in done("show", name, *where)
    (plain,) = result_of("suggest", "animals", "ant/00", "--view", "view", *where)["results"]
    assert plain["likeliest"] is None


def test_a_view_added_later_has_scores_of_its_own(where: list[str], tmp_path: Path) -> None:
    """They are on the scale of its own training items; and a query of one view may ask for more in the other."""
    twice = [key(at) for at in range(len(CLASSES) * EACH)]
    np.savez(tmp_path / "rows.npz", keys=twice, vectors=10 * rows()[:, ::-1] + 3)
    done("index", "animals", "--view", "other", "--vectors", tmp_path / "rows.npz", *where)
    done("space", "extend", "animals", "attributes", "--views", "other", *where)
    for target in ("view", "other"):
        listed = hits(where, "--targets", target, "--sort-by", "width", "-k", 1000)
        scores = [hit["scores"]["width"] for hit in listed]
        assert (np.mean(scores), np.std(scores)) == pytest.approx((0, 1), abs=1e-5)
        plain = hits(where, "--key", key(60), "--targets", target)
        more = hits(where, "--key", key(60), "--targets", target, "--more", "width=1")
        assert mean(more, "width") > mean(plain, "width")


def test_a_sheet_shows_what_is_listed(where: list[str], tmp_path: Path) -> None:
    done(*SEARCH, "--sort-by", "width", "--out", tmp_path / "sheet.png", *where)
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
