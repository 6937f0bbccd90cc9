"""The language of the wire: resource names, pages, statuses, and conversion between messages and values."""
