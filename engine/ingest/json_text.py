"""JSON that people write into cells and options."""

import json
from collections.abc import Callable
from typing import Any

from crossview.engine.catalog.checks import MAX_DEPTH
from crossview.engine.errors import InvalidInputError

_QUOTED = 40


def json_or_text(text: str, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return the JSON value of a text, or the text itself if it is not JSON; InvalidInputError for too deep nesting.

    ``parse_constant`` returns the value of NaN and infinities, which Python reads, or raises ValueError.
    """
    try:
        return json.loads(text, parse_constant=parse_constant)
    except RecursionError:
        raise InvalidInputError(
            f"{text[:_QUOTED]}... nests lists and objects more than {MAX_DEPTH} levels deep"
        ) from None
    except ValueError:
        return text
