"""Values of sdb, as salt.utils.sdb gets them."""


def _call(name, *args):
    from salt import _brine

    return _brine.functions("modules")["sdb." + name](*args)


def sdb_get(uri, opts, utils=None, strict=False):
    """Return the value of a URI sdb://PROFILE/KEY; what is no such URI is returned."""
    return _call("get", uri) if isinstance(uri, str) and uri.startswith("sdb://") else uri


def sdb_set(uri, value, opts, utils=None):
    """Set the value of a URI."""
    return _call("set", uri, value)


def sdb_delete(uri, opts, utils=None):
    """Delete the value of a URI."""
    return _call("delete", uri)
