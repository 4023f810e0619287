"""The classes of functions and of their loader."""

from brinehost.mappings import Function as LoadedFunc  # noqa: F401
from salt.loader import LazyLoader  # noqa: F401

LOADED_BASE_NAME = "salt.loaded"
