"""Dictionaries that load their values, as salt.utils.lazy has them."""

from collections.abc import MutableMapping


def verify_fun(lazy_obj, fun):
    """Raise SaltException unless fun is a key of an object."""
    from salt.exceptions import SaltException, SaltInvocationError

    if not fun:
        raise SaltInvocationError("Must specify a function to run!\nex: manage.up")
    if fun not in lazy_obj:
        raise SaltException("'%s' is not available." % fun)


class LazyDict(MutableMapping):
    """A dictionary whose subclass says in _load how a key is loaded."""

    def __init__(self):
        self.clear()

    def clear(self):
        """Forget all that was loaded."""
        self.missing_modules, self._dict, self.loaded = {}, {}, False

    def __bool__(self):
        return bool(self._dict) or not self.loaded

    def _load(self, key):
        raise NotImplementedError

    def _load_all(self):
        raise NotImplementedError

    def _missing(self, key):
        return False

    def missing_fun_string(self, function_name):
        """Return the text for a function that is not there."""
        return "'%s' is not available." % function_name

    def __setitem__(self, key, value):
        self._dict[key] = value

    def __delitem__(self, key):
        del self._dict[key]

    def __getitem__(self, key):
        if key not in self._dict and not self.loaded and not self._missing(key):
            if not self._load(key):
                raise KeyError(key)
        return self._dict[key]

    def __len__(self):
        self._all()
        return len(self._dict)

    def __iter__(self):
        self._all()
        return iter(self._dict)

    def _all(self):
        if not self.loaded:
            self._load_all()
            self.loaded = True
