"""Modules of Python's under the names that Salt gave them."""

import ipaddress  # noqa: F401


def __getattr__(name):
    if name == "ElementTree":
        import xml.etree.ElementTree

        return xml.etree.ElementTree
    if name == "subprocess":  # until Salt 2014
        import subprocess

        return subprocess
    if name == "importlib_metadata":
        import importlib.metadata

        return importlib.metadata
    from salt import missing

    return missing(__name__, name)
