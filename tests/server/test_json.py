"""--json prints one envelope everywhere, around a result of the documented type; piped tables are lines with tabs."""

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documented import unlike
from long_jobs import ended
from PIL import Image
from ports import free_port
from terminal import command_of, done, run
from tiny_models import picture_folder

from crossview.engine.collections.home import Home
from crossview.engine.values.comparisons import Answer, QuestionRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.commands.cli import COMMANDS
from crossview.server.commands.result_types import RESULTS, field_types, named, types_below
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files for the commands, and a home with the trained collection ``rows`` that people answered on."""
    folder = tmp_path_factory.mktemp("json")
    generator = np.random.default_rng(0)
    with Home(folder / "home").create("rows", ["a=vectors:dim=8", "b=vectors:dim=6"]) as made:
        items = [
            NewItem(
                f"{group}/{number}",
                rows={
                    view: generator.normal(size=width) + 4 * (np.arange(width) == shift)
                    for view, width in (("a", 8), ("b", 6))
                },
                labels=(group,),
                attributes={"year": 2000 + number},
            )
            for shift, group in enumerate(("cat", "dog"))
            for number in range(20)
        ]
        made.items.put(items)
        made.train(Recipe(spec="cca", views=("a", "b"), dim=2, holdout=0.5), space="old")
        made.train(Recipe(spec="semantic", views=("a",)), space="one")
        made.train(Recipe(spec="musl:16", views=("a",), settings={"n_metrics": "class"}), space="musl")
        made.items.put(
            [NewItem(f"owl/{number}", rows={"a": np.ones(8) + number}, labels=("owl",)) for number in range(3)]
        )
        question = made.questions.next(QuestionRequest(notion="kind", person="ann", seed=0))
        near, far = question.candidates[:4], question.candidates[4:]
        made.questions.answer(Answer(notion="kind", anchor=question.anchor, near=near, far=far, person="ann"))
    np.save(folder / "more.npy", generator.normal(size=(43, 4)))
    (folder / "labels.csv").write_text("key,label\ncat/0,kitten\n")
    (folder / "triplets.csv").write_text("anchor,near,far\ncat/0,cat/1,dog/1\ndog/0,dog/1,cat/1\n")
    picture_folder(folder / "tiny-model")
    (folder / "pictures").mkdir()
    Image.new("RGB", (64, 48), "red").save(folder / "pictures" / "red.png")
    return folder


LINES = """
learners
plan rows
doctor
model get
model add tiny tiny-model
model list
model show tiny
model check tiny
model remove tiny --yes
learners cca
create new --views color
list
list rows --limit 3
list rows --count --per label --per key --where 'label exists'
show rows
index new pictures --labels folder --workers 1
index rows --view c --vectors more.npy
annotate rows --from labels.csv
annotate rows cat/1 --label cat --label kitten
item show rows cat/1
item delete rows cat/2 nobody --yes
view add rows text
view list rows
view fit new --views text
view place rows places --constraints triplets.csv --dim 2
view delete rows c --yes
train rows --learner cca --views a,b --dim 2 --holdout 0.4
tune rows --learner cca --views a,b --dim 2 --try shrinkage=auto,0.5 --folds 2
evaluate rows --view a --space old,raw
compare rows --learners cca,pca --views a,b --splits 2
audit rows --space old
ask rows
ask rows --out answers.csv
space list rows
space activate rows old
space extend rows one --views b
space assign rows musl owl
space reindex rows --space raw --targets a --index ivf
calibrate rows --view a --space raw
search rows --key cat/1 --view a --space raw --targets a --probabilities
search rows --key cat/1 --view a --space raw --explain
explain rows --key cat/1 --view a --space old --hit dog/1
search rows --like cat/1 --unlike dog/1 --view a --space raw
search rows --like cat/1 --like cat/3 --unlike dog/1 --feedback cats --view a --space raw
feedback list rows
feedback show rows cats
feedback remember rows cats --notion species
feedback forget rows cats
feedback undo rows cats
feedback delete rows cats --yes
duplicates new
duplicates rows --same cat/1 cat/3
duplicates rows --judgements
duplicates rows --undo
suggest rows dog/1 cat/1 --view a --space raw
embed rows --key cat/1 --view a --space old
embed rows --all --view a --space old --targets b --out all.npz
map rows --view a --space old --method pca
map rows --list
neighbors rows --view a --space old --targets b -k 3 --out graph.npz
verify rows cat/1 cat/3 --view a --space raw
backup rows rows.db
restore rows rows.db --yes
compact rows
copy rows copied
alias
alias live copied
alias live rows
alias live --delete
rename copied renamed
delete renamed --yes
publish add rows --to bundles --space raw --engine milvus:engine.db
publish add rows --to bundles --space raw --dry-run
publish list --engine milvus:engine.db
rows extract --from pictures --to extracted --views color --labels folder --workers 1
rows sample --from extracted --to sampled
publish add sampled --to bundles --space raw
rows place --from extracted --bundle bundles --published sampled --engine milvus:engine.db
publish remove rows --engine milvus:engine.db --yes
export rows rows-export
import moved rows-export
import more more.npy --dry-run
import more more.npy
space delete rows one --yes
delete new --yes
key create one --scope read --collections rows --expires 90d --home keyed
key grant one pets --home keyed
key list --home keyed
key revoke one --home keyed
"""


def envelope(words: list[str], status: tuple[int, ...] = (0,)) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code in status, result.output
    (line,) = result.stdout.splitlines()
    return json.loads(line)


def test_every_command_prints_its_documented_result(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The envelope has the command, the collection, and a result of the type that the reference shows."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("CROSSVIEW_HOME", str(place / "home"))
    with Home(place / "home").create("captioned", ["text:dim=2"]) as made:
        made.items.put([NewItem(str(number), text=f"a red {number}") for number in range(4)])
    Home(place / "keyed").create("pets", ["text:dim=2"]).close()
    printed = set()
    for line in filter(None, LINES.replace("view fit new", "view fit captioned").splitlines()):
        words = shlex.split(line)
        name = next(name for name in COMMANDS if f"{line} ".startswith(f"{name} "))
        found = envelope(words, (0, 1) if name == "verify" else (0,))
        assert list(found) == ["command", "collection", "result"]
        assert found["command"] == name
        alone = name in ("learners", "doctor", "publish list") or name.startswith("rows ") or line in ("list", "alias")
        alone = alone or name.startswith("model ") or (name.startswith("key ") and name != "key grant")
        collection = None if alone else words[len(name.split()) + (name == "key grant")]
        assert found["collection"] == collection
        assert list(unlike(found["result"], RESULTS[name])) == [], line
        printed.add(name)
    with RunningServer(ServerSettings(home=place / "home", port=0)) as running, Client(running.address) as client:
        monkeypatch.setenv("CROSSVIEW_SERVER", running.address)
        job = envelope(["train", "rows", "--learner", "cca", "--views", "a,b", "--dim", "2", "--detach"])["result"]
        assert list(unlike(job, RESULTS["train"])) == []
        ended(client, job["id"])
        for words in (["job", "list"], *(["job", verb, job["id"]] for verb in ("show", "wait", "cancel"))):
            name = " ".join(words[:2])
            assert list(unlike(envelope(words)["result"], RESULTS[name])) == [], words
            printed.add(name)
    with RunningServer(ServerSettings(home=place / "home", port=0, admin_port=free_port())) as running:
        assert running.admin is not None
        found = envelope(["stats", "--admin", f"127.0.0.1:{running.admin.port}"])["result"]
        assert list(unlike(found, RESULTS["stats"])) == []
    assert {*printed, "changes", "stats"} == set(RESULTS)  # changes: tests/server/test_changes.py


def test_every_command_with_json_has_a_documented_result() -> None:
    """No other command has one."""
    with_json = {name for name in COMMANDS if any("--json" in one.opts for one in command_of(name).params)}
    assert with_json == set(RESULTS)


def test_piped_tables_are_lines_with_tabs(place: Path) -> None:
    """A terminal of any width gives a line for each row, and cells that any program can split."""
    home = ("--home", place / "home")
    with Home(place / "home").create("long", ["a=vectors:dim=2"]) as made:
        keys = ["k" * 300, "tab\there"]
        made.items.put([NewItem(key, labels=("x" * 300,), text="two\nlines") for key in keys])
    output = done("list", "long", *home).removesuffix("2 of 2 items\n")
    rows = list(csv.reader(output.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert rows[0] == ["key", "labels", "size", "views", "text"]
    assert [row[0] for row in rows[1:]] == ["k" * 300, "tab here"]
    assert all(len(row) == len(rows[0]) for row in rows)


def test_the_status_of_verify_is_its_answer(tmp_path: Path) -> None:
    """0 means the same, 1 different, 2 an error of any kind."""
    home, generator = Home(tmp_path / "home"), np.random.default_rng(0)
    with home.create("rows", ["a=vectors:dim=4"]) as made:
        made.items.put(
            [
                NewItem(f"{group}/{number}", rows={"a": generator.normal(size=4) + 20 * place}, labels=(group,))
                for place, group in enumerate(("cat", "dog"))
                for number in range(12)
            ]
        )
    where = ("--view", "a", "--home", home.path)
    assert run("verify", "rows", "cat/1", "cat/2", *where).exit_code == 2  # no threshold
    done("calibrate", "rows", *where)
    assert run("verify", "rows", "cat/1", "cat/2", *where).exit_code == 0
    assert run("verify", "rows", "cat/1", "dog/2", *where).exit_code == 1
    assert run("verify", "rows", "cat/1", "dog/2", "--json", *where).exit_code == 1
    assert run("verify", "rows", "cat/1", "nobody", *where).exit_code == 2
    assert run("verify", "rows", "cat/1", *where).exit_code == 2
    assert run("verify", "none", "cat/1", "cat/2", *where).exit_code == 2
    (tmp_path / "pairs.csv").write_text("cat/1,dog/2\n")
    assert run("verify", "rows", "--pairs", tmp_path / "pairs.csv", *where).exit_code == 0
    assert run("show", "none", "--home", home.path).exit_code == 1


def test_every_result_has_types_in_words() -> None:
    """The reference of results names the type of every field, those too that only type checkers import."""
    for kind in {one for result in RESULTS.values() for one in types_below(result)}:
        assert all(named(hint) for hint in field_types(kind).values()), kind
