"""Settings of the whole suite: properties are judged by their answers, not by a busy machine's clock."""

from hypothesis import HealthCheck, settings

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
