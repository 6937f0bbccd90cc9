"""The option that chooses items."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

if TYPE_CHECKING:
    from crossview.engine.values.conditions.filter import Filter
    from crossview.server.commands.backend import CollectionBackend

_PAGE = 1_000


WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only items that fulfil it, such as 'year >= 2021'; repeat to add.",
    ),
]


@dataclass(frozen=True)
class FilterOptions:
    """Conditions; items must meet all of them."""

    PANEL: ClassVar[str] = "Filter"

    where: WhereOption = None

    def given(self) -> bool:
        """Return whether there is any condition."""
        return any(self.where or ())

    def filter(self, keys: tuple[str, ...] = ()) -> "Filter":
        """Return the filter of the conditions, among these keys; raise InvalidInputError for an invalid one."""
        from crossview.engine.values.conditions.filter import Filter

        return Filter(keys=keys).also(*(self.where or ()))

    def keys(self, collection: "CollectionBackend", among: tuple[str, ...] = ()) -> list[str]:
        """Return the keys of the items that fulfil the conditions, of all items or among some keys, in order."""
        keys, after, condition = list[str](), "", self.filter(among)
        while page := collection.items(condition, after=after, limit=_PAGE):
            keys += [item.key for item in page]
            after = keys[-1]
        return keys
