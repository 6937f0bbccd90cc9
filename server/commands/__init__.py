"""The commands of ``crossview``; heavy modules are imported inside them, so that help is quick."""
