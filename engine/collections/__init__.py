"""The home, its collections, and what an open one offers: items, views, spaces, maps, duplicates, memory, storage."""
