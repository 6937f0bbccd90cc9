"""People answer questions in the terminal, here and over gRPC, and a training learns from the answers."""

import csv
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from drawn import write_pictures
from notions import COUNT, fill_things, gap, key, nearest
from PIL import Image
from terminal import BACKENDS, done, reached, result_of
from typer.testing import CliRunner

from crossview.engine.collections.home import Home
from crossview.engine.values.comparisons import Answer, QuestionRequest
from crossview.engine.values.errors import InvalidInputError
from crossview.server.commands.cli import app
from crossview.server.core.cache import OpenCollections
from crossview.server.core.services.question_service import QuestionService
from crossview.server.wire.pages import to_token
from crossview.v1 import questions_pb2 as pb


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    fill_things(made)
    return made


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, home: Home) -> Iterator[list[str]]:
    with reached(home, request.param) as options:
        yield options


def pressing(keys: str, *arguments: object, name: str = "things") -> str:
    """Return what ``compare`` prints to a person who presses these keys."""
    result = CliRunner().invoke(app, ["ask", name, *map(str, arguments)], input=keys, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.stdout


def answered(where: list[str], tmp_path: Path) -> list[dict[str, str]]:
    """Return the comparisons as they are exported."""
    done("ask", "things", "--out", tmp_path / "answers.csv", *where)
    with (tmp_path / "answers.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_grid_is_one_answer_of_many_comparisons(where: list[str], tmp_path: Path) -> None:
    """Keys choose and unchoose, Enter stores; the same command continues later."""
    out = pressing("1335\nq", "--notion", "color", "--person", "ann", "--seed", 4, *where)
    assert "color: which are like item/" in out
    assert "1 answers stored" in out
    shown = [line.split() for line in out.splitlines() if line.startswith("  ")][:9]
    answers = answered(where, tmp_path)
    assert {row["near"] for row in answers} == {shown[0][1], shown[4][1]}
    assert {row["far"] for row in answers} == {item for number, item in shown} - {shown[0][1], shown[4][1]}
    assert (len(answers), {row["notion"] for row in answers}) == (14, {"color"})
    pressing("2\n", "--notion", "shape", "--person", "bob", "--questions", 1, *where)
    assert len(answered(where, tmp_path)) == 14 + 8
    head = done("ask", "things", *where)
    assert "ann (1)" in head
    assert "color: two people have not yet made the same comparison" in head


def test_a_choice_of_two_is_answered_by_one_key(where: list[str], tmp_path: Path) -> None:
    """A person who cannot tell gets another question, and nothing is counted; undo brings the last question back."""
    ask = ["--notion", "color", "--kind", "single", "--person", "ann", "--seed", 1]
    pressing("1s2", *ask, "--questions", 3, *where)
    first, last = answered(where, tmp_path)
    out = pressing("uq", *ask, *where)
    assert "undone" in out
    assert f"which is like {last['anchor']}?" in out.split("undone")[1]
    assert answered(where, tmp_path) == [first]
    assert "ann has given no answer" in pressing("uuuq", *ask, *where)


def test_the_question_is_drawn_where_the_person_sees_it(tmp_path: Path) -> None:
    """It is in the named file, whole; without the labels, which would show the answer."""
    home = Home(tmp_path / "home")
    write_pictures(tmp_path / "photos", 4)
    home.create("pets", ["color"]).close()
    there = ["--home", home.path]
    done("index", "pets", tmp_path / "photos", "--labels", "folder", "--workers", 1, *there)
    file = tmp_path / "question.png"
    assert str(file) in pressing("q", "--notion", "color", "--image", file, *there, name="pets")
    with Image.open(file) as picture:
        assert min(picture.size) > 400
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 50
    assert [path.name for path in tmp_path.glob("*question*")] == ["question.png"]


def test_people_who_answer_differently_are_shown(home: Home) -> None:
    there = ["--home", str(home.path)]
    with home.open("things") as things:
        for person, near, far in (("ann", 1, 2), ("bob", 2, 1), ("eve", 2, 1)):
            answer = Answer(notion="color", anchor=key(0), near=(key(near),), far=(key(far),), person=person)
            things.questions.answer(answer)
    out = done("ask", "things", *there)
    assert "color: people agree on 0 of the 1 comparisons that several of them made" in out
    assert "bob, eve" in out
    (found,) = result_of("ask", "things", *there)
    assert found["disputes"][0]["nearer"] == {key(1): ["ann"], key(2): ["bob", "eve"]}
    assert result_of("ask", "things", "--person", "bob", *there)[0]["people"] == {"bob": 1}


@pytest.mark.long
def test_what_people_answered_is_learned(where: list[str], home: Home) -> None:
    """The person who answers grids is never wrong: neighbours by color are alike in color."""
    done("train", "things", "--views", "view", "--learner", "pca", *where)
    assert "collection 'things' has no answers about its items" in _refused(
        "train", "things", "--views", "view", "--answers", *where
    )
    with home.open("things") as things:
        for seed in range(60):
            question = things.questions.next(QuestionRequest(notion="color", person="ann", seed=seed, view="view"))
            order = sorted(question.candidates, key=lambda item: gap("color", question.anchor, item))
            answer = Answer(
                notion="color", anchor=question.anchor, near=tuple(order[:4]), far=tuple(order[4:]), person="ann"
            )
            things.questions.answer(answer)
    made = result_of("train", "things", "--views", "view", "--learner", "joint:4", "--answers", "--activate", *where)
    assert (made["targets"], made["constraints"]["given"]) == (["view:color"], 1200)
    shares = []
    for number in range(0, COUNT, 6):
        command = ("search", "things", "--key", key(number), "--view", "view", "--targets", "color", "-k", 5)
        (found,) = result_of(*command, *where)
        shares.append(len({hit["key"] for hit in found["hits"]} & set(nearest("color", key(number), 10))) / 5)
    assert np.mean(shares) > 0.7
    with home.open("things") as things:  # the learned belief chooses the next question
        assert things.questions.next(QuestionRequest(notion="color", person="bob", kind="single"))
    file = home.path / "answers.csv"
    done("ask", "things", "--out", file, *where)
    both = _refused("train", "things", "--views", "view", "--answers", "--constraints", file, *where)
    assert "from constraints or from answers" in both


def _refused(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    return " ".join(result.output.split())


@pytest.mark.parametrize("text", ["x", "9" * 30, "9" * 5_000, "²"])
def test_a_page_token_that_is_not_a_number_is_refused(home: Home, text: str) -> None:
    """A number of more digits than the database or Python reads is refused, too."""
    request = pb.ListAnswersRequest(parent="collections/things", page_token=to_token(text))
    with closing(OpenCollections(home)) as collections, pytest.raises(InvalidInputError, match="next_page_token"):
        QuestionService(collections).ListAnswers(request, None)


def test_the_time_of_an_answer_is_the_servers(home: Home) -> None:
    """A client may send any time for it, or an impossible one."""
    answer = pb.Answer(notion="color", anchor=key(0), near=[key(1)], far=[key(2)], person="ann")
    answer.create_time.seconds, answer.create_time.nanos = 16, -(2**31)
    with closing(OpenCollections(home)) as collections:
        request = pb.AddAnswerRequest(parent="collections/things", answer=answer)
        stored = QuestionService(collections).AddAnswer(request, None)
    assert stored.create_time.ToDatetime().year > 2000
