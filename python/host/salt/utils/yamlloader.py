"""The loader of YAML under its older name."""

from salt.utils.yaml import SaltYamlSafeLoader, load, safe_load  # noqa: F401
