"""Where the parts of a collection lie in its folder."""

from pathlib import Path
from urllib.parse import quote

CATALOG_FILE = "catalog.db"
LOCK_FILE = "lock"
INDEX_FOLDER = "indexes"


def catalog_url(folder: Path) -> str:
    """Return the database URL of the catalog in a collection's folder."""
    return f"sqlite:///{quote(str(folder / CATALOG_FILE))}"
