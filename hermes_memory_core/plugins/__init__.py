"""Finding, loading and installing plugins. Never calls a hook; that is the engine's work."""
