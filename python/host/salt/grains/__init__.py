"""Grains that own grains build on."""
