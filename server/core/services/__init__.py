"""The services: each method converts its request, calls the engine, and converts the result."""
