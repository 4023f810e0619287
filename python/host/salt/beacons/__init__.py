"""The functions of Brine's beacons as modules."""
