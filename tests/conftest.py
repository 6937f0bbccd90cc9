"""What holds for all tests: on a busy machine they take longer, and no example of Hypothesis fails for that."""

from hypothesis import HealthCheck, settings

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
