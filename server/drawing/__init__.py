"""Contact sheets: search results drawn as pictures, with lettering in the fonts of the system.

Imports the engine's values and Pillow only, nothing else of ``server``.
"""
