"""Fusion of several views in one list: how good each way is beside the views alone, and how fast."""
