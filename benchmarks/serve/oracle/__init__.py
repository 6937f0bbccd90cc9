"""The oracle run: every answer of several servers is compared with an exact scan of the states that it can be of."""
