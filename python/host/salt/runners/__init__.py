"""The functions of Brine's runners as modules."""
