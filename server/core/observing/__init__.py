"""The metrics and logs of a running server, and its port for administrators."""
