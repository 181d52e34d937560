"""Where the server is: checking an address, telling private networks from the internet. No network here."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit, urlunsplit

CLOUD = "https://api.honcho.dev"
LOCAL = "http://localhost:8000"
_SHARED = ipaddress.ip_network("100.64.0.0/10")


def checked_url(url: str) -> str:
    """The address without a trailing ``/v3`` (the SDK adds it itself; doubled, every call is a 404).

    Raises:
        ValueError: It has no scheme, no host, or carries a password.
    """
    url = url.strip().rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address such as http://localhost:8000 or https://honcho.example")
    if parts.username or parts.password:
        raise ValueError("an address without user and password; the key belongs in HONCHO_API_KEY")
    path = re.sub(r"/v\d+$", "", parts.path.rstrip("/"))
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def is_private(url: str) -> bool:
    """True for loopback and private networks, whose servers usually take no key."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if address.is_loopback or address.is_private or address.is_link_local:
        return True
    return address.version == 4 and address in _SHARED
