from helpers.distributions import site  # noqa: F401
from helpers.wheels import sandbox  # noqa: F401
