"""The wire format: resource names, pages, statuses, and conversion between messages and values of the engine."""
