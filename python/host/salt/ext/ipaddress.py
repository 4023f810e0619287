"""The module ipaddress of Python."""

from ipaddress import *  # noqa: F401,F403
