"""What the core does with a conversation once it is saved: names for it. Asks no provider and delivers nothing."""
