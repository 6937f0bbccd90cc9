"""Jobs: long work in processes of its own, as operations: their records, their queue, and the processes."""
