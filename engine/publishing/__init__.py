"""Publishing: what a collection learned becomes a bundle, and its items go to an engine that answers without it."""
