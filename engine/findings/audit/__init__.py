"""Audits: what in a collection makes searches worse, or figures of evaluations too good."""
