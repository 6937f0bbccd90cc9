"""A tokenizer that fails is an error of the model, for any exception of its package."""

import pytest

from crossview.features.errors import ModelError
from crossview.features.models.manifest import Tokens
from crossview.features.models.tokens import Tokenizer

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
WANTED = Tokens(file="tokenizer.json", longest=8)


def test_an_expression_that_takes_for_ever_is_an_error_of_the_model() -> None:
    """The package panics, which is not an Exception and would end a server's thread."""
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"(a+)+$"), "isolated")
    slow = Tokenizer(made.to_str().encode(), WANTED)
    assert slow("a")[0] == [0]
    with pytest.raises(ModelError, match="the tokenizer of the model fails"):
        slow("a" * 40 + "b")


def test_another_file_is_not_a_tokenizer() -> None:
    with pytest.raises(ModelError, match="not a tokenizer"):
        Tokenizer(b"{}", WANTED)
