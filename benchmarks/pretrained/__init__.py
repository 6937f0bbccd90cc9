"""Views by pretrained models: what they find as they are, and what crossview adds."""
