"""The keys of a home, the check of keys around every call, and the log of changes."""
