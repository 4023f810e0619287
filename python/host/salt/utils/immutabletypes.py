"""Collections that cannot be changed, as salt.utils.immutabletypes has them."""

from collections.abc import Mapping, Sequence, Set


class _Frozen:
    __slots__ = ("_held",)

    def __init__(self, held):
        self._held = held

    def __len__(self):
        return len(self._held)

    def __iter__(self):
        return (freeze(item) for item in self._held)

    def __contains__(self, item):
        return item in self._held

    def __repr__(self):
        return "<%s %r>" % (type(self).__name__, self._held)

    def copy(self):
        """Return a copy that can be changed."""
        import copy

        return copy.deepcopy(self._held)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __brine_value__(self):
        return self._held


class ImmutableDict(_Frozen, Mapping):
    """A dictionary that cannot be changed."""

    def __iter__(self):
        return iter(self._held)

    def __getitem__(self, key):
        return freeze(self._held[key])

    __hash__ = None


class ImmutableList(_Frozen, Sequence):
    """A list that cannot be changed."""

    def __getitem__(self, key):
        return freeze(self._held[key])

    def __add__(self, other):
        return self._held + other

    def __radd__(self, other):
        return other + self._held

    def __hash__(self):
        return hash(repr(self))


class ImmutableSet(_Frozen, Set):
    """A set that cannot be changed."""

    def __hash__(self):
        return hash(repr(self))


def freeze(obj):
    """Return a dictionary, list, set or tuple that cannot be changed; other values stay."""
    if isinstance(obj, dict):
        return ImmutableDict(obj)
    if isinstance(obj, list):
        return ImmutableList(obj)
    if isinstance(obj, set):
        return ImmutableSet(obj)
    return obj
