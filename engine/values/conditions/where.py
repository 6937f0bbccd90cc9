"""The text of conditions: ``parse`` reads it as a tree.

The syntax follows AIP-160 where that fits. ``and`` binds tighter than ``or``, as in SQL and Python; AIP-160 has it the
other way around.
"""

import re
import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lark import Lark, Token, Transformer, UnexpectedInput
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from crossview.engine.values.conditions.dates import DATE, Date
from crossview.engine.values.conditions.tree import (
    KEYWORDS,
    KINDS,
    TEXTS,
    Condition,
    Field,
    FieldTest,
    Not,
    Value,
    all_of,
    any_of,
)
from crossview.engine.values.errors import InvalidInputError

MAX_CHARACTERS = 100_000
"""Maximum length of a text; ``Filter(keys=...)`` takes longer lists."""
_AROUND = 30
"""Number of characters that an error shows on each side of its place."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_HINTS = {"==": "write = for equality", "&&": "write and", "||": "write or", "=>": "write >=", "=<": "write <="}
_EXPECTED = {
    "NAME": "a field",
    "COMPARISON": "an operator (= != < <= > >= in prefix contains like between exists)",
    "WORD": "a value",
    "LSQB": "[",
    "COMMA": ",",
    "RSQB": "]",
    "CLOSED": ")",
    "AND": "'and'",
    "OR": "'or'",
    "$END": "the end",
}

_GRAMMAR = r"""
?start: either
?either: every (_OR every)*             -> either
?every: unary (_AND unary)*             -> every
?unary: _NOT unary                      -> negated
      | "(" either _CLOSED
      | test
test: field COMPARISON value            -> compare
    | field OF_TEXT value               -> of_text
    | field _IN values                    -> among
    | field _NOT _IN values               -> not_among
    | field _BETWEEN value _AND value   -> between
    | field EXISTS                      -> exists
field: name ("." name)*
name: NAME | QUOTED
values: "[" [value ("," value)*] "]"
value: WORD | QUOTED

COMPARISON: "<=" | ">=" | "!=" | "=" | "<" | ">"
OF_TEXT: /(prefix|contains|like)(?![\w-])/i
EXISTS: /exists(?![\w-])/i
_IN: /in(?![\w-])/i
_BETWEEN: /between(?![\w-])/i
_AND.2: /and(?![\w-])/i
_OR.2: /or(?![\w-])/i
_NOT.2: /not(?![\w-])/i
_CLOSED: ")"
NAME: /[^\W\d][\w-]*/
QUOTED: /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/s
WORD: /[^\s()\[\],=<>!"']+/
%ignore /\s+/
"""


def parse(text: str) -> Condition:
    """Return the condition that a text states.

    Raises InvalidInputError, with the place, for a text that is not a condition.
    """
    if len(text) > MAX_CHARACTERS:
        raise InvalidInputError(f"a condition may have at most {MAX_CHARACTERS:,} characters, not {len(text):,}")
    if not text.strip():
        raise InvalidInputError("a condition is empty: write one, such as year >= 2021, or leave it out")
    with _reading:
        _tree.at = 0
        try:
            result: Any = _parser.parse(text)
        except UnexpectedInput as error:
            at = len(text) if _is_end(error) else min(error.pos_in_stream or 0, len(text))
            raise _unreadable(text, at, _wanted(text, at, error)) from None
        except InvalidInputError as error:
            raise _unreadable(text, _tree.at, str(error)) from None
    condition: Condition = result
    return condition


class _Given(NamedTuple):
    """A value as it is given: fields of texts take its text, so that 2021 is a label without quotes, too."""

    value: Value
    text: str

    def of(self, field: Field) -> Value:
        return self.text if field.kind in TEXTS else self.value


class _Tree(Transformer[Token, Any]):
    """Makes the tree of conditions while the parser reads."""

    at = 0
    """The place of the last name or value."""

    def either(self, parts: list[Condition]) -> Condition:
        return any_of(parts)

    def every(self, parts: list[Condition]) -> Condition:
        return all_of(parts)

    def negated(self, parts: list[Condition]) -> Condition:
        return Not(parts[0])

    def compare(self, children: list[Any]) -> Condition:
        field, operator, value = children
        if operator in ("=", "!="):
            return self._one_of(field, [value], negated=operator == "!=")
        return FieldTest(field, str(operator), (value.of(field),))

    def of_text(self, children: list[Any]) -> Condition:
        field, operator, value = children
        return FieldTest(field, operator.lower(), (value.text,))

    def among(self, children: list[Any]) -> Condition:
        return self._one_of(children[0], children[1])

    def not_among(self, children: list[Any]) -> Condition:
        return self._one_of(children[0], children[1], negated=True)

    def between(self, children: list[Any]) -> Condition:
        field, least, most = children
        return all_of((FieldTest(field, ">=", (least.of(field),)), FieldTest(field, "<=", (most.of(field),))))

    @staticmethod
    def _one_of(field: Field, values: Sequence["_Given"], negated: bool = False) -> Condition:
        test = FieldTest(field, "in", tuple(value.of(field) for value in values))
        return Not(test) if negated else test

    def exists(self, children: list[Any]) -> Condition:
        return FieldTest(children[0], "exists")

    def field(self, names: list[tuple[str, bool]]) -> Field:
        (first, quoted), rest = names[0], tuple(name for name, _ in names[1:])
        if quoted or first not in KINDS:
            return Field("attribute", (first, *rest))
        return Field(first, rest)

    def name(self, children: list[Token]) -> tuple[str, bool]:
        """Return a name and whether it is quoted: a quoted name is always that of an attribute."""
        token = self._token(children)
        return (_unquoted(token), True) if token.type == "QUOTED" else (str(token), False)

    def values(self, children: list["_Given"]) -> list["_Given"]:
        return children

    def value(self, children: list[Token]) -> "_Given":
        token = self._token(children)
        if token.type == "QUOTED":
            return _Given(text := _unquoted(token), text)
        return _Given(_value_of(str(token)), str(token))

    def _token(self, children: list[Token]) -> Token:
        self.at = children[0].start_pos or 0
        return children[0]


_tree = _Tree()
_parser = Lark(_GRAMMAR, parser="lalr", transformer=_tree, maybe_placeholders=False)
_reading = threading.Lock()
"""Held while the parser, which keeps its place, reads a text."""


def _value_of(word: str) -> Value:
    """Return the value of a word without quotes: a number, a date, true, false, null, or text."""
    if _NUMBER.fullmatch(word):
        return int(word) if word.lstrip("+-").isdecimal() and len(word) < 20 else float(word)
    if DATE.fullmatch(word):
        return Date(word)
    if word.casefold() in KEYWORDS:
        raise InvalidInputError(f"{word!r} is a word of conditions: where it is a value, write it in quotes")
    return _WORDS.get(word, word)


def _unquoted(token: str) -> str:
    text = _ESCAPED.sub(lambda match: _escaped(match[1]), token[1:-1])
    # A pair of surrogates, as JSON writes characters beyond 16 bits, is one character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if "\\u" in token else text


def _escaped(code: str) -> str:
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)


def _unreadable(text: str, at: int, problem: str) -> InvalidInputError:
    """Return the error of a text that is not a condition, with its place."""
    marked = f"{'...' if at > _AROUND else ''}{text[max(0, at - _AROUND) : at]}→{text[at : at + _AROUND]}"
    return InvalidInputError(f"a condition cannot be read at character {at + 1}, marked →: {problem}: {marked}")


def _is_end(error: UnexpectedInput) -> bool:
    return isinstance(error, UnexpectedToken) and error.token.type == "$END"


def _wanted(text: str, at: int, error: UnexpectedInput) -> str:
    """Return what could stand at the place of an error."""
    if hint := next((hint for wrong, hint in _HINTS.items() if wrong in text[max(0, at - 1) : at + 2]), ""):
        return hint
    names = {name.strip("_") for name in _accepted(error)}
    parts = [words for name, words in _EXPECTED.items() if name in names]
    return f"expected {', '.join(parts[:-1])}{' or ' if parts[1:] else ''}{parts[-1]}" if parts else "unexpected"


def _accepted(error: UnexpectedInput) -> Iterable[str]:
    if isinstance(error, UnexpectedToken):
        return error.accepts or error.expected
    return (error.allowed if isinstance(error, UnexpectedCharacters) else None) or ()
