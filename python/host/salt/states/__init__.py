"""The functions of Brine's states as modules."""
