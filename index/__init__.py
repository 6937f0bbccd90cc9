"""Indexes: rows (versions, deltas, snapshots) under searchers of several kinds, and the exact twins that check them."""
