"""Honcho as a provider of Hermes Memory. The hooks stand in ``provider``; the SDK is imported on first use."""

from hermes_memory_honcho.provider import HonchoProvider

__all__ = ["HonchoProvider"]
