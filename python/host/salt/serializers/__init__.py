"""Serializers and their exceptions."""

from salt.exceptions import SaltException


class SerializationError(SaltException, RuntimeError):
    """A value cannot be written."""


class DeserializationError(SaltException, RuntimeError):
    """A text cannot be read."""
