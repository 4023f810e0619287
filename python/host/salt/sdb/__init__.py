"""The functions of Brine's sdb as modules."""
