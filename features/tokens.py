"""Texts as words."""

import re
import unicodedata

MAX_WORD = 40
"""Longer runs of letters are addresses and noise; they are left out, so that a vocabulary stays small."""
_RUN = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """The words of a text, in order: runs of letters and digits of any script, lower case, without accents.

    ``Red_flower, CAFÉ-bar`` gives red, flower, cafe, bar.
    """
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    return [word for word in _RUN.findall(unicodedata.normalize("NFKC", plain)) if len(word) <= MAX_WORD]
