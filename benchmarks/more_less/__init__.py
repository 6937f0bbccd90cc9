"""More or less of an attribute than a picture has, and other attributes held."""
