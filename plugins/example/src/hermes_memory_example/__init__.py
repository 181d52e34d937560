"""A memory provider for Hermes Memory: a notebook in a local SQLite file. The hooks stand in ``provider``."""

from hermes_memory_example.provider import ExampleProvider

__all__ = ["ExampleProvider"]
