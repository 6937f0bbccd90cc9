"""Texts run in processes of their model: one that takes too much time or memory harms no other text, and no caller."""

import ast
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import hostile_models as hostile
import numpy as np
import pytest
import tiny_models as tiny

import crossview
from crossview.engine.catalog.models import FOLDER, Models
from crossview.features.errors import ModelError, ModelInputError
from crossview.features.models import text_worker, towers
from crossview.features.models.session import open_session, row_of_text
from crossview.features.models.text_worker import VARIABLE
from crossview.features.models.texts import TextProcesses, heeding
from crossview.features.models.tokens import Tokenizer
from crossview.features.onnx import Onnx

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
SHORT, LONG = "0.5", "600"


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextProcesses]:
    made = TextProcesses(2)
    monkeypatch.setattr(towers, "TEXTS", made)
    with closing(made):
        yield made
    assert made.pids() == []


def view(home: Path, folder: Path) -> Onnx:
    """Return the extractor of a view by a model of texts."""
    model, _ = Models(home).add("words", folder)
    return Onnx(model="words", digest=model.digest, dim=tiny.DIM, inputs=("text",)).of(home / FOLDER)


def test_rows_are_those_of_the_model_to_the_bit(tmp_path: Path, texts: TextProcesses) -> None:
    """One process computes them, and opens the model once."""
    folder = tiny.text_folder(tmp_path / "words")
    words = view(tmp_path / "home", folder)
    tower = words.towers[0].find().manifest.towers["text"]
    session = open_session((folder / tower.file).read_bytes())
    tokenizer = Tokenizer((folder / "tokenizer.json").read_bytes(), tower.tokens)
    for text in ("red", "a green dog", "snow " * 99):
        assert np.array_equal(words.row(text), row_of_text(session, tower, tokenizer, text)), text
    assert len(texts.pids()) == 1


@pytest.mark.parametrize("endless", [hostile.endless_texts, hostile.endless_tokens])
def test_a_text_that_takes_too_long_is_an_error_and_its_process_ends(
    tmp_path: Path, texts: TextProcesses, monkeypatch: pytest.MonkeyPatch, endless
) -> None:
    """The error names the model, the limit and the way out."""
    words = view(tmp_path / "home", endless(tmp_path / "words"))
    assert words.row("red").shape == (tiny.DIM,)
    (first,) = texts.pids()
    monkeypatch.setenv(VARIABLE, SHORT)
    with pytest.raises(ModelInputError, match=rf"'words': the text takes more than 0.5 seconds: .*{VARIABLE}"):
        words.row(hostile.BAD if endless is hostile.endless_texts else "a" * 100_000)
    assert first not in texts.pids()
    monkeypatch.setenv(VARIABLE, LONG)
    assert words.row("red").shape == (tiny.DIM,)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the memory of a process")
def test_a_text_that_takes_too_much_memory_is_an_error(tmp_path: Path, texts: TextProcesses) -> None:
    words = view(tmp_path / "home", hostile.greedy_texts(tmp_path / "words", text_worker._MEMORY_BYTES))
    with pytest.raises(ModelInputError, match=r"more than the memory of the model and 1,024 MB: shorten it"):
        words.row(hostile.BAD)
    assert words.row("red").shape == (tiny.DIM,)


@pytest.mark.parametrize(
    ("write", "reason"), [(hostile.failing_texts, "not finite"), (hostile.other_lengths, r"shape \(8,\), not of 4")]
)
def test_a_text_that_a_model_fails_on_is_an_error_of_the_text(
    tmp_path: Path, texts: TextProcesses, write, reason: str
) -> None:
    words = view(tmp_path / "home", write(tmp_path / "words"))
    with pytest.raises(ModelInputError, match=reason):
        words.row(hostile.BAD)
    assert words.row("red").shape == (tiny.DIM,)
    assert len(texts.pids()) == 1


def test_other_texts_go_on_beside_one_that_never_ends(
    tmp_path: Path, texts: TextProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds for texts of the same model, too; and a caller that leaves ends its run."""
    monkeypatch.setenv(VARIABLE, LONG)
    words = view(tmp_path / "home", hostile.endless_texts(tmp_path / "words"))
    left, errors = threading.Event(), list[Exception]()

    def leave() -> None:
        if left.is_set():
            raise InterruptedError

    def call() -> None:
        try:
            with heeding(leave):
                words.row(hostile.BAD)
        except InterruptedError as error:
            errors.append(error)

    words.row("red")
    calling = threading.Thread(target=call)
    calling.start()
    for _ in range(150):
        assert words.row("red").shape == (tiny.DIM,)
    assert calling.is_alive()
    before = texts.pids()
    left.set()
    calling.join()
    assert len(errors) == 1
    until = time.monotonic() + 300
    while texts.pids() == before:  # the process of the run ends
        assert time.monotonic() < until
        time.sleep(0.01)
    assert set(texts.pids()) < set(before)


def test_a_caller_in_a_hurry_ends_no_process(tmp_path: Path, texts: TextProcesses) -> None:
    """A run that ends a moment after its caller has left keeps the process, and the open model."""
    words = view(tmp_path / "home", tiny.text_folder(tmp_path / "words"))
    words.row("red")
    before = texts.pids()

    def leave() -> None:
        raise InterruptedError

    with heeding(leave):
        words.row("red")  # it ends before the caller looks
    assert texts.pids() == before


def test_a_model_that_cannot_be_opened_states_why(tmp_path: Path, texts: TextProcesses) -> None:
    home = tmp_path / "home"
    words = view(home, tiny.text_folder(tmp_path / "words"))
    for file in (home / FOLDER / "files").iterdir():
        file.write_bytes(b"")
    with pytest.raises(ModelError, match="one of its files has changed"):
        words.row("red")
    assert texts.pids() == []


def test_the_processes_of_few_models_stay(tmp_path: Path, texts: TextProcesses) -> None:
    """Processes end in the order of their last use, the earliest first."""
    dims = range(3, 9)
    for dim in dims:
        model, _ = Models(tmp_path / "home").add(f"m{dim}", tiny.text_folder(tmp_path / str(dim), dim=dim))
        one = Onnx(model=f"m{dim}", digest=model.digest, dim=dim, inputs=("text",)).of(tmp_path / "home" / FOLDER)
        assert one.row("red").shape == (dim,)
    assert len(texts.pids()) == 4


FOREIGN = {
    "session": {"features/models/towers.py", "features/models/trial.py", "features/models/text_worker.py"},
    "tokens": {"features/models/trial.py", "features/models/text_worker.py"},
    "text_worker": {"features/models/texts.py", "features/models/towers.py"},
    "texts": {"features/models/towers.py", "engine/catalog/model_rows.py"},
}
"""The modules that may import those which run foreign code. Pictures run in the processes that read them, texts in
those of their model, and first runs in a process of their own."""


def test_nothing_else_runs_a_model_or_a_tokenizer() -> None:
    """A new caller must use the same processes."""
    found = {name: set[str]() for name in FOREIGN}
    root = Path(crossview.__file__).parent
    for top in ("engine", "features", "server"):
        for path in (root / top).rglob("*.py"):
            for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                module = one.module if isinstance(one, ast.ImportFrom) else None
                name = (module or "").removeprefix("crossview.features.models.")
                if module != name and name in FOREIGN and {each.name for each in one.names} != {"use_device"}:
                    found[name].add(str(path.relative_to(root)))
    assert found == FOREIGN
