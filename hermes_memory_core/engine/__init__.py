"""How a hook is called: when, how long it may take, how much it may say. Knows no provider by name."""
