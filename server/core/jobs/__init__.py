"""Jobs: long work in separate processes, as operations; their records, their queue, and the processes."""
