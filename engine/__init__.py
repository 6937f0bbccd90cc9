"""The engine, in nine rooms: each imports the rooms before it, in the order of ARCHITECTURE.md, and none after it."""
