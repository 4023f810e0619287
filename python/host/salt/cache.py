"""The data cache, as salt.cache has it: values by bank and key, in Brine's cache."""

import time


def factory(opts, **kwargs):
    """Return the cache of the daemon."""
    return Cache(opts, **kwargs)


class Cache:
    """Values by bank, which is a path like minions/web1, and key."""

    def __init__(self, opts, cachedir=None, **kwargs):
        self.opts, self.cachedir, self.driver = opts, cachedir, kwargs.get("driver", "localfs")

    def _call(self, operation, *args):
        from salt import _brine

        cachedir = self.cachedir or (self.opts or {}).get("cachedir")
        return _brine.call("data_" + operation, cachedir, *args)

    def cache(self, bank, key, fun, loop_fun=None, **kwargs):
        """Return a value. Where it is missing, or older than expire seconds, fun makes it."""
        expire = kwargs.pop("expire", 86400)
        stored = self.updated(bank, key)
        if stored is not None and stored > time.time() - expire:
            return self.fetch(bank, key)
        value = fun(**kwargs)
        if loop_fun is not None:
            value = [loop_fun(item) for item in value]
        self.store(bank, key, value)
        return value

    def store(self, bank, key, data):
        """Store a value."""
        self._call("set", bank, key, data)

    def fetch(self, bank, key):
        """Return a value; {} if it is not there."""
        found = self._call("get", bank, key)
        return {} if found is None else found

    def updated(self, bank, key):
        """Return when a value was stored, in seconds; None if it is not there."""
        return self._call("time", bank, key)

    def flush(self, bank, key=None):
        """Remove a value, or all of a bank."""
        self._call("flush", bank, key)

    def list(self, bank):
        """Return the keys of a bank."""
        return self._call("list", bank) or []

    def contains(self, bank, key=None):
        """Report whether a value is there, or whether a bank is."""
        if key is None:
            return bool(self.list(bank))
        return self.updated(bank, key) is not None or key in self.list(bank)


MemCache = Cache
