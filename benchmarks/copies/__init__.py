"""Pictures that are found by changed copies of their files."""
