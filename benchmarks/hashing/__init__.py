"""Binary codes across views."""
