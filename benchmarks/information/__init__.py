"""What learners make of little, partial or wrong information."""
