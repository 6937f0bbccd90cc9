"""The catalog: the only truth about a collection. Everything else is derived from it."""

from engine.catalog.catalog import Catalog, Transaction
from engine.catalog.items import NewRecord, PictureRecord, Stored
from engine.catalog.rows import ViewRows
from engine.catalog.spaces import Generation
from engine.catalog.views import ViewRecord

__all__ = [
    "Catalog",
    "Generation",
    "NewRecord",
    "PictureRecord",
    "Stored",
    "Transaction",
    "ViewRecord",
    "ViewRows",
]
