from helpers.distributions import site  # noqa: F401
