"""Marks for the package manager, as salt.utils.pkg keeps them."""

import os


def rtag(opts):
    """Return the file that asks for the package lists to be fetched again."""
    return os.path.join(opts["cachedir"], "pkg_refresh")


def clear_rtag(opts):
    """Remove that file."""
    try:
        os.remove(rtag(opts))
    except OSError:
        pass


def write_rtag(opts):
    """Make that file."""
    if not os.path.exists(rtag(opts)):
        with open(rtag(opts), "w", encoding="ascii"):
            pass


def check_refresh(opts, refresh=None):
    """Report whether to fetch the package lists: as asked for, or if that file is there."""
    from salt.utils.data import is_true

    return bool(is_true(refresh) or os.path.isfile(rtag(opts)) and refresh is not False)


def split_comparison(version):
    """Return operator and version of a text like >=1.2; the operator may be ""."""
    import re

    operator, found = re.match(r"^(<=>|!=|>=|<=|>>|<<|<>|>|<|=)?\s?([^<>=]+)$", version).groups()
    return operator or "", found
