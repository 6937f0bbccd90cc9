"""Pretrained models: their value for collections, and that of crossview on top of their rows."""
