"""Learners of papers, one folder for each, and the losses, solvers and samplers that they share."""
