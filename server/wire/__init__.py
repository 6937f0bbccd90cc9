"""The wire format: table of methods, settings, names, identities, statuses, and messages to values and back."""
