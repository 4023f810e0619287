"""Globals and dictionaries for a time, as salt.utils.context has them."""

from collections.abc import MutableMapping


class _Injected:
    def __init__(self, functions, overrides):
        self._functions, self._overrides, self._old = functions, overrides, []

    def __enter__(self):
        for function in self._functions:
            names = function.__globals__
            old = {name: names[name] for name in self._overrides if name in names}
            self._old.append((names, old))
            names.update(self._overrides)

    def __exit__(self, *_):
        for names, old in reversed(self._old):
            for name in self._overrides:
                names.pop(name, None)
            names.update(old)
        self._old = []


def func_globals_inject(func, **overrides):
    """Give a function globals for the time of a with statement."""
    functions = func if hasattr(func, "__iter__") else [func]
    return _Injected([getattr(f, "__func__", f) for f in functions], overrides)


class _Clone:
    def __init__(self, parent, made):
        self._parent, self._made = parent, made

    def __enter__(self):
        self._parent._stack.append(self._made)
        return self._made

    def __exit__(self, *_):
        self._parent._stack.pop()


class ContextDict(MutableMapping):
    """A dictionary of which clone() makes another one for the time of a with statement."""

    def __init__(self, threadsafe=False, **data):
        self.global_data = {}  # data is ignored, as in Salt
        self._stack = []
        self._threadsafe = threadsafe

    @property
    def active(self):
        """Whether there is a clone."""
        return bool(self._stack)

    def _data(self):
        return self._stack[-1]._data if self._stack else self.global_data

    def clone(self, **kwargs):
        """Return a ChildContextDict of it."""
        return ChildContextDict(parent=self, threadsafe=self._threadsafe, overrides=kwargs)

    def __setitem__(self, key, value):
        self._data()[key] = value

    def __delitem__(self, key):
        del self._data()[key]

    def __getitem__(self, key):
        return self._data()[key]

    def __len__(self):
        return len(self._data())

    def __iter__(self):
        return iter(self._data())

    def __copy__(self):
        made = type(self)(threadsafe=self._threadsafe)
        made.global_data = dict(self._data())
        return made

    def __deepcopy__(self, memo):
        import copy

        made = type(self)(threadsafe=self._threadsafe)
        made.global_data = copy.deepcopy(dict(self._data()), memo)
        return made


class ChildContextDict(MutableMapping):
    """A clone of a ContextDict, which stands for it for the time of a with statement."""

    def __init__(self, parent, overrides=None, threadsafe=False):
        self.parent = parent
        self._data = dict(parent.global_data)
        self._data.update(overrides or {})

    def __setitem__(self, key, value):
        self._data[key] = value

    def __delitem__(self, key):
        del self._data[key]

    def __getitem__(self, key):
        return self._data[key]

    def __len__(self):
        return len(self._data)

    def __iter__(self):
        return iter(self._data)

    def __enter__(self):
        self.parent._stack.append(self)
        return self

    def __exit__(self, *_):
        self.parent._stack.pop()


class NamespacedDictWrapper(MutableMapping, dict):
    """The dictionary that another one has at a key, or at a path of keys."""

    def __init__(self, d, pre_keys):
        super().__init__()
        self.__dict = d
        self.pre_keys = [pre_keys] if isinstance(pre_keys, str) else pre_keys

    def _dict(self):
        at = self.__dict
        for key in self.pre_keys:
            at = at[key]
        return at

    def __repr__(self):
        return repr(self._dict())

    def __setitem__(self, key, value):
        self._dict()[key] = value

    def __getitem__(self, key):
        return self._dict()[key]

    def __delitem__(self, key):
        del self._dict()[key]

    def __len__(self):
        return len(self._dict())

    def __iter__(self):
        return iter(self._dict())

    def __contains__(self, key):
        return key in self._dict()

    def __copy__(self):
        return type(self)(self.__dict, self.pre_keys)

    def __deepcopy__(self, memo):
        import copy

        return type(self)(copy.deepcopy(self.__dict, memo), self.pre_keys)

    def __brine_value__(self):
        return self._dict()
