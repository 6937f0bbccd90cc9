"""The living engine beside raw FAISS, in process, and beside other vector stores, each in a process of its own."""
