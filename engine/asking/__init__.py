"""Asking people: the next question about items in a notion of similarity, what was answered, and who disagreed."""
