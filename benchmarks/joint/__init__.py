"""Notions of similarity from triplets, after Zhang, Maji and Tomioka (2015), and active questions."""
