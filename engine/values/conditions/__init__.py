"""The language of conditions, which choose items: a tree, its text, and the filters that requests have."""
