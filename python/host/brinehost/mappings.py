"""The names that a plug-in finds in its globals: __salt__, __grains__ and their like."""

from collections.abc import MutableMapping


class NamedLoaderContext(MutableMapping):
    """A dictionary that is fetched when it is first used. Its class has the name that Salt's has."""

    def __init__(self, fetch, changed=None):
        self._fetch = fetch
        self._changed = changed
        self._values = None

    def value(self):
        if self._values is None:
            self._values = self._fetch()
        return self._values

    def __brine_value__(self):
        return self.value()

    def __getitem__(self, key):
        return self.value()[key]

    def __setitem__(self, key, value):
        self.value()[key] = value
        if self._changed:
            self._changed(key, value)

    def __delitem__(self, key):
        del self.value()[key]

    def __iter__(self):
        return iter(self.value())

    def __len__(self):
        return len(self.value())

    def __contains__(self, key):
        return key in self.value()

    def __repr__(self):
        return repr(self.value())

    def __eq__(self, other):
        return self.value() == (other.value() if isinstance(other, NamedLoaderContext) else other)

    __hash__ = None

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value(), name)

    def __deepcopy__(self, memo):
        import copy

        return copy.deepcopy(self.value(), memo)

    def copy(self):
        return dict(self.value())


class Current(NamedLoaderContext):
    """A dictionary that is looked up at each use, since a call in another scene has another."""

    def value(self):
        return self._fetch()


class Function:
    """A function of Brine's, called over the socket."""

    def __init__(self, worker, kind, name):
        self._worker = worker
        self._kind = kind
        self.__name__ = name.rpartition(".")[2]
        self.__qualname__ = name
        self.__module__ = "salt.loaded.int.%s.%s" % (kind, name.partition(".")[0])

    def __call__(self, *args, **kwargs):
        return self._worker.channel.call("invoke", self._kind, self.__qualname__, args, kwargs)

    @property
    def __doc__(self):
        return self._worker.channel.call("doc", self._kind, self.__qualname__)

    def __repr__(self):
        return "<function %s>" % self.__qualname__


class Namespace:
    """The functions of one module, as attributes: __salt__.test.ping."""

    def __init__(self, functions, name):
        self._functions = functions
        self._name = name

    def __getattr__(self, name):
        try:
            return self._functions[self._name + "." + name]
        except KeyError:
            raise AttributeError(name) from None


class Functions(NamedLoaderContext):
    """The functions of a kind by name: the own ones, and Brine's behind them."""

    # Plug-ins ask for the class by name, and Salt has one for all.

    def __init__(self, worker, kind):
        super().__init__(dict)
        self._worker = worker
        self._kind = kind
        self._known = {}
        self._values = {}

    def _find(self, name):
        if name in self._known:
            return self._known[name]
        if not isinstance(name, str) or "." not in name:
            return None
        loader = self._worker.loader(self._kind)
        function = loader.find(name)
        if function is None and self._worker.loading:
            function = loader.find_by_virtual_name(name)
        if function is None:
            where = self._worker.channel.call("find", self._kind, name)
            if where is True:
                function = Function(self._worker, self._kind, name)
            elif where:  # another file of ours, by its virtual name
                plugin = self._worker.loader(self._kind).plugin(where)
                function = plugin and plugin.functions.get(name.partition(".")[2])
        if function is not None:
            self._known[name] = function
        return function

    def __getitem__(self, name):
        if name in self._values:
            return self._values[name]
        function = self._find(name)
        if function is None:
            raise KeyError(name)
        return function

    def __contains__(self, name):
        return name in self._values or self._find(name) is not None

    def __iter__(self):
        return iter(self._worker.channel.call("names", self._kind))

    def __len__(self):
        return len(self._worker.channel.call("names", self._kind))

    def __brine_value__(self):
        return list(self)

    def __repr__(self):
        return "<functions of %s>" % self._kind

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        files = self._worker.loader(self._kind).files
        if name not in files and not self._worker.channel.call("module", self._kind, name):
            raise AttributeError(name)
        return Namespace(self, name)

    def forget(self):
        self._known.clear()


class Utils(Functions):
    """The functions of the own helpers by name, and those of the library's salt.utils: __utils__."""

    def __init__(self, worker):
        super().__init__(worker, "utils")

    def _find(self, name):
        if name not in self._known and isinstance(name, str) and "." in name:
            loader = self._worker.loader("utils")
            function = loader.find(name) or loader.find_by_virtual_name(name)
            if function is None and name.partition(".")[0] not in loader.files:
                function = self._of_library(name)
            if function is not None:
                self._known[name] = function
        return self._known.get(name)

    @staticmethod
    def _of_library(name):
        module, _, function = name.partition(".")
        try:
            found = getattr(__import__("salt.utils." + module, fromlist=["*"]), function, None)
        except ImportError:
            return None
        return found if callable(found) and function[0] != "_" else None

    def __iter__(self):
        return iter(sorted(self._names()))

    def __len__(self):
        return len(self._names())

    def _names(self):
        """The names of the own functions; those of the library are found, but not listed."""
        loaded = [plugin for plugin in self._worker.loader("utils").all() if plugin.module is not None]
        return {name + "." + function for plugin in loaded for name in (plugin.name, *plugin.aliases)
                for function in plugin.functions}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Namespace(self, name)


class Outputters(NamedLoaderContext):
    """The functions NAME.output by NAME: __salt__ of an outputter."""

    def __init__(self, functions):
        super().__init__(dict)
        self._functions = functions

    def __getitem__(self, name):
        return self._functions["%s.output" % name]

    def __contains__(self, name):
        return "%s.output" % name in self._functions

    def __iter__(self):
        return (name[: -len(".output")] for name in self._functions if name.endswith(".output"))

    def __len__(self):
        return sum(1 for _ in self)

    def __brine_value__(self):
        return list(self)

    def __repr__(self):
        return repr(list(self))


for _class in (Current, Functions, Utils):
    _class.__name__ = _class.__qualname__ = NamedLoaderContext.__name__


class Live(NamedLoaderContext):
    """A dictionary or list that is fetched at each use."""

    def value(self):
        return self._fetch()


Live.__name__ = Live.__qualname__ = NamedLoaderContext.__name__


class RunEvent:
    """The events of the runner under way: __jid_event__."""

    def __init__(self, channel):
        self._channel = channel

    def fire_event(self, data, tag):
        """Fire an event under the tag of the run, which a command also prints."""
        import datetime

        now = datetime.datetime.now(datetime.timezone.utc)
        data["_stamp"] = now.replace(tzinfo=None).isoformat()
        self._channel.call("progress", str(tag), dict(data))
