"""Figures of each query, TREC files and predefined splits, from the command line and through a server."""

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.recipe import Recipe

TEST = tuple(f"{group}/{number}" for group in ("cat", "dog") for number in (1, 4, 7))
ASK = ("evaluate", "rows", "--view", "color")
ONE = ("--targets", "gist", "--database", "unseen")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with the collection ``rows``, whose attribute ``split`` names some items, and one key with spaces."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    generator = np.random.default_rng(1)
    with home.open("rows") as made:
        rows = {"color": generator.uniform(0, 1, 64), "gist": generator.uniform(0, 1, 512)}
        made.items.put([NewItem("cat/50 % off\u3000now", rows=rows, labels=("cat", "dog"))])
        made.items.update([ItemUpdate(key, attributes={"split": "test"}) for key in (*TEST, "cat/50 % off\u3000now")])
        for learner in ("cca", "pca"):
            made.train(Recipe(spec=learner, views=("color", "gist"), dim=2, holdout=0.6), activate=True)
    return home


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, home: Home) -> Iterator[list[str]]:
    """The options that reach the home."""
    with reached(home, request.param) as options:
        yield options


def mean_average_precision(run_file: Path, qrels_file: Path) -> float:
    """Return what trec_eval calls map: by score alone, over the queries with relevant items."""
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in qrels_file.read_text().splitlines():
        query, _, item, grade = line.split()
        if int(grade):
            relevant[query].add(item)
    scores: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in run_file.read_text().splitlines():
        query, _, item, _, score, _ = line.split()
        scores[query].append((float(score), item))
    means = []
    for query, wanted in relevant.items():
        found, total = 0, 0.0
        for rank, (_, item) in enumerate(sorted(scores[query], reverse=True), 1):
            if item in wanted:
                found += 1
                total += found / rank
        means.append(total / len(wanted))
    return float(np.mean(means))


def test_files_give_the_printed_figures(where: list[str], tmp_path: Path) -> None:
    """A run for each space and the qrels have the map of the table; columns of the CSV have its means."""
    names = {name: tmp_path / name for name in ("q.csv", "run.txt", "qrels.txt")}
    files = ("--per-query", names["q.csv"], "--trec-run", names["run.txt"], "--trec-qrels", names["qrels.txt"])
    found = result_of(*ASK, *ONE, "--space", "cca,pca,raw", "-k", "1,5", *files, *where)
    printed = {(row["space"], row["metric"], row["k"]): row["value"] for row in found["rows"]}
    assert found["per_query"] == []
    assert mean_average_precision(tmp_path / "run.cca.txt", names["qrels.txt"]) == pytest.approx(
        printed["cca", "map", None]
    )
    with names["q.csv"].open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["space"] for line in lines} == {"cca"}  # the other spaces cannot search gist by color
    assert len(lines) == found["queries"]
    for column, metric, k in (("average_precision", "map", None), ("precision@5", "precision", 5)):
        values = [float(line[column]) for line in lines if line[column]]
        assert np.mean(values) == pytest.approx(printed["cca", metric, k])
    assert np.median([float(line["rank"]) for line in lines]) == printed["cca", "median_rank", None]
    keys = {unquote(line.split(" ")[2]) for line in names["qrels.txt"].read_text().splitlines()}
    assert keys <= {line["query"] for line in lines}


def test_spaces_are_paired_by_query(where: list[str], tmp_path: Path) -> None:
    """The difference of two columns is the difference that the table prints; splits have lines of their own."""
    file = tmp_path / "q.csv"
    options = ("--space", "cca,pca", "--targets", "color", "-k", 3, "--refit", "--splits", 2, "--test-size", 0.4)
    found = result_of(*ASK, *options, "--per-query", file, "--database", "unseen", *where)
    with file.open(newline="") as opened:
        lines = list(csv.DictReader(opened))
    cca, pca = ([line for line in lines if line["space"] == space] for space in ("cca", "pca"))
    assert [(line["split"], line["query"]) for line in cca] == [(line["split"], line["query"]) for line in pca]
    assert {line["split"] for line in cca} == {"1", "2"}
    pairs = zip(cca, pca, strict=True)
    by_split: dict[str, list[float]] = defaultdict(list)
    for first, second in pairs:
        by_split[first["split"]].append(float(second["average_precision"]) - float(first["average_precision"]))
    (printed,) = (one["value"] for one in found["differences"] if one["metric"] == "map")
    assert np.mean([np.mean(values) for values in by_split.values()]) == pytest.approx(printed)


def test_keys_with_white_space_are_one_column(home: Home, tmp_path: Path) -> None:
    """White space and % are escaped, and unquoting gives the key."""
    where = ("--home", home.path)
    done("train", "rows", "--learner", "cca", "--views", "color,gist", "--holdout-where", "split = test", *where)
    files = ("--trec-run", tmp_path / "run", "--trec-qrels", tmp_path / "qrels")
    done(*ASK, *ONE, "--space", "cca", *files, *where)
    lines = (tmp_path / "run").read_text().splitlines()
    assert {len(line.split()) for line in lines} == {6}
    assert "cat/50 % off\u3000now" in {unquote(line.split()[0]) for line in lines}
    done(
        *ASK,
        *ONE,
        "--space",
        "cca",
        "--by",
        "items",
        "--trec-run",
        tmp_path / "own",
        "--trec-qrels",
        tmp_path / "own-qrels",
        *where,
    )
    assert all(line.split()[0] == line.split()[2] for line in (tmp_path / "own-qrels").read_text().splitlines())
    done(*ASK, *ONE, "--space", "cca", "--trec-run", tmp_path / "short", "--trec-depth", 2, *where)
    assert len((tmp_path / "short").read_text().splitlines()) == 2 * 7


def test_python_has_the_same(home: Home) -> None:
    """A request gives them as arrays and as dictionaries."""
    with home.open("rows") as rows:
        asked = EvaluationRequest(
            view="color", spaces=("cca",), targets=("gist",), databases=("mixed",), per_query=True, hits=3
        )
        (one,) = rows.evaluate(asked).per_query
    assert set(map(len, dict(one.run()).values())) == {3}
    assert set(dict(one.run())) == set(dict(one.qrels())) <= set(one.keys)
    assert all(len(values) == len(one.keys) for values in one.figures.values())
    for hits, relevant, precision in zip(one.hits, one.relevant, one.figures["precision@5"], strict=True):
        assert len(np.intersect1d(hits, relevant)) <= round(precision * 5)
    with pytest.raises(InvalidInputError, match="with per_query, not 3"):
        EvaluationRequest(view="color", hits=3)


def test_a_split_is_given_by_attribute_prefix_or_file(where: list[str], tmp_path: Path) -> None:
    """Exactly these items are queries, and the space is trained on the others."""
    train = ("train", "rows", "--learner", "cca", "--views", "color,gist", *where)
    file = tmp_path / "test.txt"
    file.write_text("\n".join(TEST) + "\n\n")
    csv_file = tmp_path / "q.csv"
    for options, count in (
        (("--holdout-where", "split = test"), 7),
        (("--holdout-where", "key prefix cat/"), 11),
        (("--holdout-file", file), 6),
        (("--holdout-file", file, "--holdout-where", "key prefix dog/"), 3),
    ):
        made = result_of(*train, *options)
        assert (made["held_out"], made["trained_items"], made["cost"]["items"]) == (count, 21 - count, 21 - count)
    done(*train, "--holdout-file", file)
    done(*ASK, "--space", "cca", "--targets", "gist", "--per-query", csv_file, *where)
    with csv_file.open(newline="") as opened:
        assert {line["query"] for line in csv.DictReader(opened)} == set(TEST)


def test_mistakes_name_their_remedy(home: Home, tmp_path: Path) -> None:
    """They come before any work is done."""
    where = ("--home", home.path)
    file, unknown, empty = tmp_path / "there.csv", tmp_path / "unknown.txt", tmp_path / "empty.txt"
    file.write_text("")
    unknown.write_text("cat/1\ncat/99\ndog/98\n")
    empty.write_text("\n")
    train = ("train", "rows", "--learner", "cca", "--views", "color,gist", *where)
    for command, words in (
        ((*ASK, "--per-query", file), "there.csv exists already: name a new file"),
        ((*ASK, "--per-query", tmp_path / "no" / "q.csv"), "there is no folder"),
        ((*ASK, "--trec-run", tmp_path / "run"), "one --targets and one --database"),
        ((*ASK, *ONE, "--trec-run", tmp_path / "x", "--trec-qrels", tmp_path / "x"), "a name of its own"),
        ((*ASK, "--per-query", tmp_path / "q.csv", "--copies", 3), "leave out the other"),
        ((*train, "--holdout-file", unknown), "2 of the 3 items to hold out are not in collection 'rows': 'cat/99', "),
        ((*train, "--holdout-file", empty), "empty.txt is empty"),
        ((*train, "--holdout-where", "split = dev"), 'can be held out by: split = "dev"'),
        ((*train, "--holdout-where", "split"), "expected an operator"),
        (
            (*train, "--holdout-where", "key prefix cat/", "--holdout", 0.2),
            "either a share of the items (--holdout) or",
        ),
    ):
        result = run(*command, *(where if command[0] == "evaluate" else ()))
        assert result.exit_code in (1, 2), words
        assert words in " ".join(result.stderr.replace("\u2502", " ").split()), result.stderr
    assert not (tmp_path / "q.csv").exists()


def test_a_part_is_not_empty_and_parts_no_group(home: Home, tmp_path: Path) -> None:
    """Neither the queries nor the training items are empty, and groups stay whole."""
    where = ("--home", home.path)
    groups = tmp_path / "groups.csv"
    groups.write_text("key,group\ncat/1,a\ncat/2,a\n")
    train = ("train", "rows", "--learner", "cca", "--views", "color,gist", *where)
    every = tmp_path / "every.txt"
    every.write_text("\n".join(one["key"] for one in result_of("list", "rows", "--limit", 100, *where)))
    assert "all 21 items are held out" in run(*train, "--holdout-file", every).stderr
    parted = run(*train, "--holdout-where", "split = test", "--group-by", groups).stderr
    assert "part 1 groups by" in parted
