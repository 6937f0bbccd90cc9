"""Key files: text files with one key on each line."""

from pathlib import Path

from crossview.engine.values.errors import InvalidInputError


def read_lines(path: Path) -> tuple[str, ...]:
    """Return the lines of a text in UTF-8, empty ones too; raise InvalidInputError for other text, and OSError."""
    try:
        return tuple(path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n"))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not UTF-8 text: {error}") from error


def read_names(path: Path) -> tuple[str, ...]:
    """Return the keys or paths on the lines of a file, each once; raise InvalidInputError without any, and OSError."""
    names = tuple(dict.fromkeys(line for line in read_lines(path) if line.strip()))
    if not names:
        raise InvalidInputError(f"{path} is empty: write one key or path on each line")
    return names
