"""Feedback from the command line, here and through a server, and over gRPC."""

import csv
import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest
from drawn import draw, encode
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.server.client.client import Client
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import questions_pb2 as pb
from crossview.v1 import search_pb2

ME = getpass.getuser()


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that reach a home with ten cats and ten dogs."""
    fill_rows(home := Home(tmp_path), 10)
    with reached(home, request.param) as options:
        yield options


def keys(where: list[str], *options: object) -> list[str]:
    (found,) = result_of("search", "rows", *options, *where)
    return [hit["key"] for hit in found["hits"]]


def test_a_search_goes_on_where_the_last_one_stopped(where: list[str]) -> None:
    """The command keeps its inputs, states which count, and undoes them."""
    first = done("search", "rows", "--like", "cat/1", "--unlike", "dog/1", "--feedback", "cats", *where)
    assert "searched by learn; examples: 1, counter-examples: 1 (kept by cats)" in first
    assert "cat/1\t" not in first
    more = done("search", "rows", "--key", "cat/3", "--like", "cat/2=3", "--feedback", "cats", *where)
    assert "examples: 3, counter-examples: 1 (cats keeps examples: 2, counter-examples: 1)" in more
    again = keys(where, "--feedback", "cats", "-k", 20)
    assert set(again[:8]) == {f"cat/{n}" for n in (0, 3, 4, 5, 6, 7, 8, 9)}
    assert again == keys(where, "--like", "cat/1", "--like", "cat/2=3", "--unlike", "dog/1", "-k", 20)
    in_color = keys(where, "--feedback", "cats", "--view", "color", "--combine", "mean", "-k", 20)
    given = ("--like", "cat/1", "--like", "cat/2=3", "--unlike", "dog/1", "--view", "color", "--combine", "mean")
    assert in_color == keys(where, *given, "-k", 20)
    assert done("feedback", "undo", "rows", "cats", *where) == f"undone: like cat/2, by {ME}\n"
    keys(where, "--feedback", "cats", "--unlike", "dog/2", "--person", "ann")
    assert [
        (one["key"], one["weight"], one["person"]) for one in result_of("feedback", "show", "rows", "cats", *where)
    ] == [*(("cat/1", 1.0, ME), ("dog/1", -1.0, ME), ("dog/2", -1.0, "ann"))]
    lines = list(csv.reader(done("feedback", "show", "rows", "cats", "--csv", *where).splitlines()))
    assert [line[:3] for line in lines[:2]] == [["key", "weight", "person"], ["cat/1", "1.0", ME]]
    assert "dog/2\t-1\tann" in done("feedback", "show", "rows", "cats", *where)
    listed = done("feedback", "list", "rows", *where)
    people = ", ".join(sorted(("ann (1)", f"{ME} (2)")))
    assert listed.splitlines()[1] == f"cats\t1\t2\t{people}"
    assert run("feedback", "delete", "rows", "cats", *where).exit_code == 1  # without --yes
    assert done("feedback", "delete", "rows", "cats", "dog/2", "--yes", *where) == "deleted 1 judgements of cats\n"
    done("feedback", "delete", "rows", "cats", "--yes", *where)
    assert "no feedback; keep some with: crossview search rows" in done("feedback", "list", "rows", *where)


def test_judgements_become_comparisons_that_a_training_learns_from(where: list[str]) -> None:
    """They are remembered once, shown and exported as answers, and forgotten."""
    likes = [word for n in range(6) for word in ("--like", f"cat/{n}")]
    unlikes = [word for n in range(6) for word in ("--unlike", f"dog/{n}")]
    keys(where, *likes, *unlikes, "--feedback", "cats")
    for _ in range(2):
        said = done("feedback", "remember", "rows", "cats", "--notion", "species", *where)
        assert said.startswith("6 answers in species: 120 comparisons; learn from them with: crossview train")
    assert f"species\t6\t120\t{ME} (6)" in done("ask", "rows", *where)
    learned = ("train", "rows", "--answers", "--views", "color", "--space", "species", "--set", "max_iter=5", *where)
    assert "species" in done(*learned)
    assert done("feedback", "forget", "rows", "cats", *where) == "deleted 6 answers that remembered cats\n"
    assert "no answers" in done("ask", "rows", *where)


def test_judgements_of_deleted_items_are_noted_and_do_not_count(where: list[str]) -> None:
    keys(where, "--like", "cat/1", "--like", "cat/2", "--unlike", "dog/1", "--feedback", "cats")
    done("item", "delete", "rows", "cat/2", "--yes", *where)
    result = run("search", "rows", "--feedback", "cats", *where)
    assert "note: 1 of 3 judgements of feedback 'cats' left out: there is no item 'cat/2'" in result.stderr
    assert "examples: 1, counter-examples: 1 (kept by cats)" in result.stdout


def test_pictures_are_judged_as_the_items_that_they_are(tmp_path: Path) -> None:
    """A file that is not a picture is refused with the remedy, and nothing is kept."""
    folder, home = tmp_path / "photos", ("--home", tmp_path / "home")
    folder.mkdir()
    for number, kind in enumerate(("red", "blue", "red")):
        (folder / f"{number}.jpg").write_bytes(encode(draw(kind, number)))
    done("create", "pets", "--views", "color", *home)
    done("index", "pets", folder, "--workers", 1, *home)
    done("search", "pets", "--like", folder / "0.jpg", "--unlike", "photos/1.jpg", "--feedback", "dots", *home)
    assert [one["key"] for one in result_of("feedback", "show", "pets", "dots", *home)] == [
        "photos/0.jpg",
        "photos/1.jpg",
    ]
    (new := tmp_path / "new.jpg").write_bytes(encode(draw("red", 7)))
    refused = run("search", "pets", "--like", "photos/2.jpg", "--like", new, "--feedback", "dots", *home)
    assert refused.exit_code == 1
    assert "is a picture that is not an item, and feedback keeps items: index it first, with: crossview index" in (
        refused.stderr
    )
    assert len(result_of("feedback", "show", "pets", "dots", *home)) == 2
    assert "examples: 2, counter-examples: 1" in done("search", "pets", new, "--feedback", "dots", *home)


def test_mistakes_name_their_remedy(where: list[str]) -> None:
    for options, words in (
        (("search", "rows", "--feedback", "cats"), "no feedback 'cats' in collection 'rows'"),
        (("search", "rows", "--like", "cat/99", "--feedback", "cats"), "no item 'cat/99'"),
        (("search", "rows", "--like", "cat/1", "--unlike", "cat/1", "--feedback", "cats"), "judge it once"),
        (("search", "rows", "--like", "cat/1", "--feedback", "two words"), "cannot name feedback"),
        (("search", "rows", "--like", "cat/1", "--feedback", "cats", "--min-match", 0.5), "leave out min_match"),
        (("feedback", "undo", "rows", "cats", "--person", "ann"), "no feedback 'cats'"),
    ):
        wrong = run(*options, *where)
        assert wrong.exit_code == 1
        assert words in wrong.stderr, wrong.stderr
    assert result_of("feedback", "list", "rows", *where) == []


def test_feedback_over_grpc(tmp_path: Path) -> None:
    """Names come in pages; a search by feedback alone shares its answer with no other, and streams, too."""
    fill_rows(Home(tmp_path), 10)
    with RunningServer(ServerSettings(home=tmp_path, port=0)) as running, Client(running.address) as client:
        there = client.open("rows")
        stubs = there.connection.stubs
        for name in ("b", "a", "c"):
            there.feedback.judge(name, "cat/1", "dog/1", person="ann")
        page = stubs.questions.ListFeedback(pb.ListFeedbackRequest(parent="collections/rows", page_size=2))
        assert [one.name for one in page.feedback] == ["a", "b"]
        rest = pb.ListFeedbackRequest(parent="collections/rows", page_token=page.next_page_token)
        assert [one.name for one in stubs.questions.ListFeedback(rest).feedback] == ["c"]
        asked = search_pb2.SearchRequest(parent="collections/rows", feedback="a", space="raw")
        (found,) = stubs.searches.Search(asked).results
        assert [hit.key[:3] for hit in found.hits[:8]] == ["cat"] * 8
        twice = [pb.Judgement(key="cat/1", weight=weight) for weight in (1, 2)]
        with pytest.raises(Exception, match="judges one key twice"):
            stubs.questions.Judge(
                pb.JudgeRequest(parent="collections/rows", feedback="a", person="ann", judgements=twice)
            )
