"""Dictionaries with an order, as salt.utils.odict has them."""

from collections import OrderedDict as _OrderedDict


class OrderedDict(_OrderedDict):
    """A dictionary that compares and prints as that of collections."""

    __hash__ = None


class DefaultOrderedDict(OrderedDict):
    """An ordered dictionary that makes the values of missing keys."""

    def __init__(self, default_factory=None, *args, **kwargs):
        if default_factory is not None and not callable(default_factory):
            raise TypeError("first argument must be callable")
        super().__init__(*args, **kwargs)
        self.default_factory = default_factory

    def __missing__(self, key):
        if self.default_factory is None:
            raise KeyError(key)
        self[key] = value = self.default_factory()
        return value

    def __reduce__(self):
        args = () if self.default_factory is None else (self.default_factory,)
        return type(self), args, None, None, iter(self.items())

    def copy(self):
        """Return a copy with the same values."""
        return self.__copy__()

    def __copy__(self):
        return type(self)(self.default_factory, self)

    def __deepcopy__(self, memo):
        import copy

        made = type(self)(self.default_factory)
        memo[id(self)] = made
        for key, value in self.items():
            made[copy.deepcopy(key, memo)] = copy.deepcopy(value, memo)
        return made

    def __repr__(self):
        return "DefaultOrderedDict(%s, %s)" % (self.default_factory, super().__repr__())
