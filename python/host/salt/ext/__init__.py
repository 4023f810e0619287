"""Libraries that Salt brought with it."""
