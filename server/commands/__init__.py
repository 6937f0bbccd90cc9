"""The commands of ``crossview``, what they draw, and the demo; they import heavy modules late, for a quick help."""
