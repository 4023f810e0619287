"""The functions of Brine's renderers as modules."""
