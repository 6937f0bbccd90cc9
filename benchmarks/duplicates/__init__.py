"""Duplicates among photographs: copies of twelve kinds, and the methods that find them."""
