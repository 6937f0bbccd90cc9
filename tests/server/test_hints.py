"""Every command line that a message names works when it is pasted.

Each hint in the sources has a scenario here: commands that print it. The test replaces its words in capitals by real
values and runs it, on the same home, named by an option.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from messages import formatted_remedies, library_messages, library_remedies, texts
from model_hints import HINTS_OF_MODELS
from open_homes import copy_home
from stage import Stage, write_csv
from terminal import done
from tiny_models import offer

from crossview.engine.catalog import state
from crossview.engine.collections.home import Home
from crossview.engine.values.comparisons import Answer, QuestionRequest
from crossview.engine.values.errors import Text
from crossview.engine.values.item import ItemUpdate
from crossview.server.commands import following
from crossview.server.commands.cli import COMMANDS, app
from crossview.server.commands.hints import OPTIONS, completed

ROOT = Path(__file__).resolve().parents[2]
HINT = re.compile(rf"crossview (?:{'|'.join(COMMANDS)}) [^;\n]*?(?=;|, then|, and|, or| \(|: |$)", re.MULTILINE)


def _create(stage: Stage, views: str, *more: object) -> None:
    assert "created" in stage.says("create", "new", "--views", views)
    if more:
        assert "added" in stage.says("index", "new", stage.pictures, *more)


def _no_collection(stage: Stage) -> str:
    return stage.says("index", "pictures", stage.pictures, "--no-create")


def _no_copy(stage: Stage) -> str:
    (stage.folder / "wrong.db").write_bytes(b"something else")
    return stage.says("restore", "new", stage.folder / "wrong.db")


def _unfitted(stage: Stage) -> str:
    _create(stage, "sift:words=24")
    return stage.says("search", "new", stage.picture, "--view", "sift")


def _unfitted_text(stage: Stage) -> str:
    """A caption is missing, so that fitting alone would do as well."""
    _create(stage, "color,text", "--labels", "folder")
    with stage.home.open("new") as made:
        made.items.update([ItemUpdate(item.key, text="a few words") for item in made.items()])
    return stage.says("search", "new", "--text", "words", "--view", "text")


def _no_texts(stage: Stage) -> str:
    _create(stage, "color,text", "--labels", "folder")
    return stage.says("view", "fit", "new", "--views", "text")


def _no_rows_of_text(stage: Stage) -> str:
    _create(stage, "color,text", "--labels", "folder")
    return stage.says("train", "new", "--views", "color,text")


def _no_rows_of_vectors(stage: Stage) -> str:
    _create(stage, "color,clip=vectors:dim=3", "--labels", "folder")
    return stage.says("train", "new", "--views", "color+clip")


def _few_versions(stage: Stage) -> str:
    _create(stage, "gist")
    return stage.says("changes", "new")


def _no_regions(stage: Stage) -> str:
    return stage.says("changes", "drawn")


def _no_grid(stage: Stage) -> str:
    return stage.says("changes", "drawn", "--grid", 10)


def _generation_in_use(stage: Stage) -> str:
    stage.says("train", "drawn", "--learner", "cca", "--views", "color,sift", "--dim", 2)
    return stage.says("space", "delete", "drawn", "cca", "--generation", 2, "--yes")


def _only_generation(stage: Stage) -> str:
    return stage.says("space", "delete", "drawn", "cca", "--generation", 1, "--yes")


def _raw(stage: Stage) -> str:
    stage.says("space", "delete", "drawn", "cca", "--yes")
    return stage.says("space", "delete", "drawn", "raw", "--yes")


def _only_view(stage: Stage) -> str:
    _create(stage, "color")
    return stage.says("view", "delete", "new", "color", "--yes")


def _view_in_use(stage: Stage) -> str:
    return stage.says("view", "delete", "drawn", "color", "--yes")


def _no_text_view(stage: Stage) -> str:
    stage.says("search", "drawn", "--text", "words")
    return stage.says("search", "drawn", "--text", "words", "--view", "color")


def _no_labels(stage: Stage) -> str:
    _create(stage, "color", "--captions", stage.folder / "captions.csv")
    stage.values["--from FILE.csv"] = f"--from {stage.folder / 'labels.csv'}"
    return stage.says("suggest", "new", stage.picture, "--view", "color")


def _no_labels_to_calibrate(stage: Stage) -> str:
    _no_labels(stage)
    return stage.says("calibrate", "new", "--view", "color", "--space", "raw")


def _no_labels_to_evaluate(stage: Stage) -> str:
    _no_labels(stage)
    return stage.says("evaluate", "new", "--view", "color", "--space", "raw")


def _no_view(stage: Stage) -> str:
    _create(stage, "color")
    stage.values["names=EXTRACTOR"] = "names=gist"
    return stage.says("search", "new", stage.picture, "--view", "names")


def _listed_by_attribute(stage: Stage) -> str:
    return stage.says("search", "drawn", "--sort-by", "width")


def _no_threshold(stage: Stage) -> str:
    return stage.says("verify", "drawn", stage.picture, stage.picture, "--view", "color")


def _no_threshold_across(stage: Stage) -> str:
    return stage.says("verify", "drawn", stage.picture, stage.picture, "--view", "color", "--targets", "sift")


def _pairs_without_threshold(stage: Stage) -> str:
    keys = [item.key for item in stage.home.open("drawn").items()]
    lines = [[a, b, int(a.split("/")[1] == b.split("/")[1])] for a in keys[:8] for b in keys[8:]]
    write_csv(stage.folder / "pairs.csv", [["key_a", "key_b", "similar"], *lines])
    return stage.says("evaluate", "drawn", "--view", "color", "--space", "raw", "--pairs", stage.folder / "pairs.csv")


def _earlier_learner(stage: Stage) -> str:
    """The space's learner has a setting that it has no longer."""
    with closing(sqlite3.connect(stage.home.path / "drawn" / "catalog.db")) as catalog, catalog:
        ((packed,),) = catalog.execute("SELECT state FROM generations").fetchall()
        tree = state.unpack(packed)
        tree["pipeline"]["steps"]["0"]["params"]["gone"] = 0.1
        catalog.execute("UPDATE generations SET state = ?", [state.pack(tree)])
    return stage.says("search", "drawn", stage.picture, "--view", "color", "--space", "cca")


def _nobody_compared(stage: Stage) -> str:
    return stage.says("train", "drawn", "--answers", "--views", "color")


def _nothing_to_export(stage: Stage) -> str:
    return stage.says("ask", "drawn", "--notion", "color", "--out", stage.folder / "answers.csv")


def _no_answers(stage: Stage) -> str:
    return stage.says("ask", "drawn")


def _answered(stage: Stage) -> str:
    with stage.home.open("drawn") as drawn:
        for seed in range(12):
            question = drawn.questions.next(QuestionRequest(notion="color", person="ann", seed=seed))
            kind = question.anchor.split("/")[1]
            near = [key for key in question.candidates if key.split("/")[1] == kind]
            far = tuple(key for key in question.candidates if key not in near)
            drawn.questions.answer(
                Answer(notion="color", anchor=question.anchor, near=tuple(near), far=far, person="ann")
            )
    return stage.says("ask", "drawn", "--notion", "color", "--view", "color")


def _no_such_feedback(stage: Stage) -> str:
    return stage.says("search", "drawn", "--feedback", "dots")


def _no_feedback(stage: Stage) -> str:
    return stage.says("feedback", "list", "drawn")


def _too_few_judgements(stage: Stage) -> str:
    done(
        "search",
        "drawn",
        "--like",
        f"pictures/dots/{stage.picture.name}",
        "--feedback",
        "dots",
        "--home",
        stage.home.path,
    )
    return stage.says("feedback", "remember", "drawn", "dots", "--notion", "kind")


def _remembered(stage: Stage) -> str:
    with stage.home.open("drawn") as drawn:
        dots, waves = ([item.key for item in drawn.items(f"label = {name}")] for name in ("dots", "waves"))
        drawn.feedback.judge("dots", dots, waves, person="ann")
    return stage.says("feedback", "remember", "drawn", "dots", "--notion", "kind")


def _judged_picture(stage: Stage) -> str:
    new = stage.folder / "new.jpg"
    new.write_bytes(stage.picture.read_bytes())
    return stage.says("search", "drawn", "--like", new, "--feedback", "dots")


def _missing(stage: Stage) -> str:
    """Answer the hint by an option: it asks, and so fails without a terminal."""
    stage.picture.unlink()
    said = stage.says("index", "drawn", stage.pictures, "--labels", "folder")
    return said.replace("--prune", "--prune --yes")


def _many_missing(stage: Stage) -> str:
    for file in stage.pictures.glob("*/*.jpg"):
        file.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "_FEWEST", 2)
        return stage.says("index", "drawn", stage.pictures, "--prune", "--yes")


def _missing_in_audit(stage: Stage) -> str:
    stage.picture.unlink()
    return stage.says("audit", "drawn").replace("--prune", "--prune --yes")


def _empty_in_audit(stage: Stage) -> str:
    stage.picture.write_bytes(b"")
    return stage.says("audit", "drawn")


def _copies(stage: Stage) -> str:
    (stage.pictures / "dots/copy.jpg").write_bytes(stage.picture.read_bytes())
    return stage.says("index", "drawn", stage.pictures, "--on-import", "warn")


def _similar_name(stage: Stage) -> str:
    return stage.says("index", "drawn1", stage.pictures)


def _deleted(stage: Stage) -> str:
    assert "deleted 1 items" in stage.says("item", "delete", "drawn", f"pictures/dots/{stage.picture.name}", "--yes")
    return stage.says("index", "drawn", stage.pictures, "--labels", "folder")


def _suggested_for_files(stage: Stage) -> str:
    new = stage.folder / "new picture.jpg"
    new.write_bytes(stage.picture.read_bytes())
    key = f"pictures/dots/{stage.picture.name}"
    command = ("suggest", "drawn", new, key, "--view", "color", "--space", "raw", "--min-share", 0)
    return stage.says(*command, "--out", stage.folder / "suggested.csv")


def _suggested_for_items(stage: Stage) -> str:
    key = f"pictures/dots/{stage.picture.name}"
    return stage.says("suggest", "drawn", key, "--view", "color", "--space", "raw", "--min-share", 0)


def _not_active(stage: Stage) -> str:
    return stage.says("train", "drawn", "--learner", "pca", "--views", "color", "--space", "second")


def _empty_home(stage: Stage) -> str:
    stage.says("delete", "drawn", "--yes")
    return stage.says("list")


def _taken_by_alias(stage: Stage) -> str:
    stage.says("alias", "live", "drawn")
    return stage.says("create", "live")


def _renamed_alias(stage: Stage) -> str:
    stage.says("alias", "live", "drawn")
    return stage.says("rename", "live", "new")


def _named_by_alias(stage: Stage) -> str:
    stage.says("copy", "drawn", "another")
    stage.says("alias", "live", "drawn")
    return stage.says("delete", "drawn", "--yes")


def _alias_of_nothing(stage: Stage) -> str:
    stage.says("copy", "drawn", "another")
    stage.says("alias", "live", "drawn")
    shutil.rmtree(stage.home.path / "drawn")
    return stage.says("show", "live")


def _alias_of_its_own(stage: Stage) -> str:
    return stage.says("alias", "drawn", "drawn")


def _no_alias(stage: Stage) -> str:
    return stage.says("alias", "drawn", "--delete")


def _no_aliases(stage: Stage) -> str:
    stage.says("copy", "drawn", "another")
    return stage.says("alias")


def _folder_of_pictures(stage: Stage) -> str:
    return stage.says("import", "drawn", stage.pictures)


def _no_keys(stage: Stage) -> str:
    return stage.says("key", "list")


def _known_key(stage: Stage) -> str:
    stage.says("key", "create", "website", "--scope", "read")
    return stage.says("key", "create", "website", "--scope", "write")


SCENARIOS: dict[str, tuple[Callable[[Stage], str], ...]] = {
    "create the collection with: `home.create(": (_no_collection,),
    "hint('key create'": (_no_keys,),
    "`keys.revoke(": (_known_key,),
    "make a copy with: `home.backup('NAME', 'FILE')`": (_no_copy,),
    "`collection.index(['PATH'])`": (_unfitted,),
    "`collection.index(['PATH'], IndexOptions(": (_unfitted_text, _no_texts, _no_rows_of_text),
    "`collection.items.index_vectors(": (_no_rows_of_vectors,),
    "`collection.views.fit(": (_unfitted, _unfitted_text),
    "add some with: `collection.index(": (_few_versions,),
    "add one with: `collection.views.add('regions": (_no_regions,),
    "hint('view add', collection.name, view_spec(grid)": (_no_grid,),
    "activate another one first with: `collection.spaces.activate(": (_generation_in_use,),
    "delete the whole space with: `collection.spaces.delete(": (_only_generation,),
    "delete a view with: `collection.views.delete(": (_raw,),
    "delete the collection with: `home.delete(": (_only_view,),
    "delete them first, for example with: `collection.spaces.delete(": (_view_in_use,),
    "get models by which words find pictures with: `home.models.download(": (_no_text_view,),
    "label some items with: `collection.index(": (_no_labels, _no_labels_to_calibrate, _no_labels_to_evaluate),
    "or add it with: `collection.views.add(": (_no_view,),
    "`collection.spaces.calibrate(CalibrationRequest(": (_no_threshold, _no_threshold_across, _pairs_without_threshold),
    "ask for comparisons with: `collection.questions.next(": (_nobody_compared,),
    "or delete it with: `collection.spaces.delete(": (_earlier_learner,),
    "`collection.items(sort_by=": (_listed_by_attribute,),
    "judge items first, with: `collection.feedback.judge(": (_no_such_feedback,),
    "judge more items, with: `collection.feedback.judge(": (_too_few_judgements,),
    "feedback keeps items: index it first, with: `collection.index(": (_judged_picture,),
    "hint('search', name, '--like'": (_no_feedback,),
    "hint('train', name, '--answers'": (_remembered,),
    "hint('ask', name, '--notion'": (_nothing_to_export,),
    "hint('ask', collection.name": (_no_answers,),
    "hint('train'": (_answered,),
    "again('--prune')": (_missing,),
    "hint('duplicates', name)": (_copies,),
    "hint('index', name, '--prune'": (_missing_in_audit,),
    "hint('item delete', name": (_empty_in_audit,),
    "again('--prune-limit'": (_many_missing,),
    "hint('create', name)": (_similar_name,),
    "again('--include-deleted')": (_deleted,),
    "hint('index', name, '--labels'": (_suggested_for_files,),
    "hint('annotate', name, '--from'": (_suggested_for_files,),
    "hint('annotate', name, inputs": (_suggested_for_items,),
    "hint('space activate'": (_not_active,),
    "hint('create'": (_empty_home,),
    "or delete the alias with: `home.delete_alias(": (_taken_by_alias, _renamed_alias),
    "point the alias to another collection with: `home.set_alias(": (_named_by_alias,),
    "point it to another one with: `home.set_alias(": (_alias_of_nothing,),
    "first give the collection one with: `home.rename(": (_alias_of_its_own,),
    "not an alias: delete a collection with: `home.delete(": (_no_alias,),
    "hint('alias'": (_no_aliases,),
    "index a folder of pictures with": (_folder_of_pictures,),
    **HINTS_OF_MODELS,
}
"""Commands that print a hint, by a part of its text in the sources."""

OTHER = {
    "start one with: crossview serve",  # it goes on until it is stopped: tests/server/test_processes.py
    *("crossview help all", "note: crossview {} is now: crossview {}"),  # of the help: tests/server/test_help.py
    *("hint('key grant'", "$ crossview evaluate {}"),  # test_key_grants.py, and a line of the demo
    "hint('job wait'",  # of a server: tests/server/test_jobs_command.py
    "list the collections of the key with: `home.names()`",  # of a server: tests/server/test_key_commands.py
    "crossview serves {} on {}",
    "hint(command, *collection",  # the command line for a call in Python that the engine names
    "hint('annotate', name, '--label'",  # of an audit: tests/server/test_audit.py
    "hint('item show', name",  # of an audit
    "hint('index', name, '--'",  # of an audit
    *("hint('index', name, '--view'", "hint('view delete', name, finding.view"),  # of an audit: test_audit.py
    # For programs in other languages, on the machine of the server: tests/server/test_remedies.py
    *("crossview backup", "crossview model add", "crossview model remove"),
    "run crossview model get words on its machine",  # of a server
    *("crossview alias ALIAS --delete", "crossview alias {} NAME"),  # usage
    "`collection.spaces.reindex(",  # a line of the log: tests/engine/spaces/test_live_recall.py
    "cancel them, with: `client.jobs.list()`",  # of a server: tests/server/test_aliases.py
    "crossview serve --max-megapixels N",  # it goes on until it is stopped
    "crossview serve --device {}",  # so does this command
    # Remedies of the doctor, with names that only the user knows: tests/server/test_doctor.py
    "crossview serve --print-config, after the correction",
    "crossview serve --tls-cert FILE --tls-key FILE",
    "crossview serve --port 0, or stop the other program",
    "crossview create NAME --home {}",
    "crossview import {} EXPORT",
    "crossview restore {} BACKUP",
    "crossview backup {} {}.db",
    "crossview model remove {} --yes, then crossview model add {} FOLDER",
}
"""Texts that name a command and are not hints, or that other tests run."""


@pytest.fixture
def stage(tmp_path: Path, home: Home, pictures: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A copy of the home and of its pictures, which a hint may change."""
    copied = shutil.copytree(pictures, tmp_path / "pictures")
    copy_home(home.path, tmp_path / "home")
    paths = str(pictures), str(copied)
    with closing(sqlite3.connect(tmp_path / "home" / "drawn" / "catalog.db")) as catalog, catalog:
        catalog.execute("UPDATE roots SET path = replace(path, ?, ?)", paths)
        catalog.execute("UPDATE items SET source = replace(source, ?, ?)", paths)
    offer(tmp_path / "index", monkeypatch)
    return Stage(Home(tmp_path / "home"), copied, tmp_path)


@pytest.mark.parametrize(
    "scenario", sorted({one for some in SCENARIOS.values() for one in some}, key=lambda f: f.__name__)
)
def test_hints_work_when_they_are_pasted(scenario: Callable[[Stage], str], stage: Stage) -> None:
    printed = scenario(stage)
    found = [" ".join(one.split()) for one in HINT.findall(printed)]
    assert found, printed
    for one in found:
        stage.paste(one)


def test_the_library_names_no_options() -> None:
    """A program has no command line: its messages name arguments and calls."""
    assert [f"{place}: {text}" for place, text in library_messages() if re.search(r"(?<![\w-])--[a-z]", text)] == []


def test_the_command_line_knows_every_remedy_of_the_library() -> None:
    """A remedy becomes an option or a command for a person at the command line."""
    remedies = list(library_remedies())
    assert len(remedies) > 80
    requests = ("CalibrationRequest", "IndexOptions", "QuestionRequest")  # arguments of other remedies
    unknown = [(place, remedy.name) for place, remedy in remedies if "`" in completed(Text(remedy))]
    assert [(place, name) for place, name in unknown if name not in requests] == []


def test_each_remedy_of_the_library_is_a_value() -> None:
    """No string contains Python between backticks, and no string takes the place of a remedy."""
    texts = [(place, text) for place, text in library_messages() if not place.startswith("features/errors.py")]
    assert [f"{place}: {text}" for place, text in texts if re.search(r"`[^`]+`", text)] == []
    assert list(formatted_remedies()) == []


def test_options_in_place_of_arguments_exist() -> None:
    """Each is an option of some command."""
    from typer.main import get_command

    known, groups = set[str](), [get_command(app)]
    while groups:
        for command in getattr(groups.pop(), "commands", {}).values():
            known.update(word for one in command.params for word in one.opts)
            groups.append(command)
    assert set(OPTIONS.values()) <= known


def test_every_hint_has_a_scenario() -> None:
    """A new hint comes with the commands that print it."""
    known = {*SCENARIOS, *OTHER}
    found = list(texts())
    assert [f"{place}: {text}" for place, text in found if not any(part in text for part in known)] == []
    assert {part for part in SCENARIOS if not any(part in text for _, text in found)} == set()
