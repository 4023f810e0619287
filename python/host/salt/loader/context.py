"""The classes of what plug-ins find in their globals."""

from brinehost.mappings import NamedLoaderContext  # noqa: F401
