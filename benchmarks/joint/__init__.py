"""Several notions of similarity, after Zhang, Maji and Tomioka (2015): synthetic objects, hidden notions, speed."""
