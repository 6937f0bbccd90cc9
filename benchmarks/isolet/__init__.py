"""Spoken letters of groups of speakers, after Zhang, Maji and Tomioka (2015), table 1."""
