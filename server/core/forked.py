"""The last module that the fork server imports: it freezes all objects, so that the forks keep sharing their memory.

A garbage collection writes to every object that it visits, and so copies the shared pages of a fork one by one. It
skips frozen objects.
"""

import gc

gc.collect()
gc.freeze()
