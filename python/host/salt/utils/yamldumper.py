"""The dumpers of YAML under their older names."""

from salt.utils.yaml import (  # noqa: F401
    IndentedSafeOrderedDumper, OrderedDumper, SafeOrderedDumper, dump, get_dumper, safe_dump)
