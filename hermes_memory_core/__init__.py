"""Lasting memory for any Python agent (filled by the public names below)."""
