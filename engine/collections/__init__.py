"""The home, its collections, and the services of an open one: items, views, spaces, maps, memory and storage."""
