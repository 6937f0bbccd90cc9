"""Time, memory and disk."""
