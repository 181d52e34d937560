"""Reference providers: a local one, an HTTP one, a deliberately bad one. Written only against the public spec."""
