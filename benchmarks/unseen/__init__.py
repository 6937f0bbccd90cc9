"""Which learner retrieves items best that nothing was learned from."""
