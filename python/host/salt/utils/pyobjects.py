"""States as objects, as salt.utils.pyobjects has them. The renderer pyobjects makes data of them."""

REQUISITES = tuple(
    name + end for end in ("", "_in")
    for name in ("listen", "onchanges", "onfail", "require", "watch", "use"))


class StateException(Exception):
    """A state that cannot be added."""


class DuplicateState(StateException):
    """A second state of the same id and function."""


class InvalidFunction(StateException):
    """A function that the state module does not have."""


class _Registry:
    """Collects the states of the file that is rendered, in their order."""

    def __init__(self):
        self.enabled = True
        self.empty()

    def empty(self):
        """Forget all states."""
        self.states, self.extends = {}, {}  # {id: {function: arguments}}
        self.includes, self.requisites = [], []

    def apart(self):
        """Return a context manager: within it the registry is empty, and afterwards as before."""
        return _Apart(self)

    def include(self, *names):
        """Include other SLS files."""
        if self.enabled:
            self.includes.extend(names)

    def make_extend(self, name):
        """Return an id under which a state extends one of another file."""
        return StateExtend(name)

    def add(self, id_, state, extend=False):
        """Add a state with the requisites of the with statements around it."""
        if not self.enabled:
            return
        known = (self.extends if extend else self.states).setdefault(id_, {})
        if state.full_func in known:
            raise DuplicateState(
                "A state with id ''%s'', type ''%s'' exists" % (id_, state.full_func))
        for requisite in self.requisites:
            state.kwargs.setdefault(requisite.requisite, []).append(requisite())
        known.update(state())

    def extend(self, id_, state):
        """Add a state that extends one of another file."""
        self.add(id_, state, extend=True)

    def push_requisite(self, requisite):
        """Begin a with statement."""
        if self.enabled:
            self.requisites.append(requisite)

    def pop_requisite(self):
        """End a with statement."""
        if self.enabled:
            self.requisites.pop()

    def salt_data(self):
        """Return the states as the data of an SLS, and forget them."""
        data = dict(self.states)
        if self.includes:
            data["include"] = self.includes
        if self.extends:
            data["extend"] = self.extends
        self.empty()
        return data


class _Apart:
    def __init__(self, registry):
        self.registry = registry

    def __enter__(self):
        self.before = self.registry.__dict__
        self.registry.__dict__ = {}
        self.registry.__init__()

    def __exit__(self, *_):
        self.registry.__dict__ = self.before


Registry = _Registry()


class StateExtend:
    """The id of a state that extends one of another file."""

    def __init__(self, name):
        self.name = name


class StateRequisite:
    """A reference to a state: an argument of another one, or the head of a with statement."""

    def __init__(self, requisite, module, id_):
        self.requisite, self.module, self.id_ = requisite, module, id_

    def __call__(self):
        return {self.module: self.id_}

    def __enter__(self):
        Registry.push_requisite(self)

    def __exit__(self, *_):
        Registry.pop_requisite()


class StateFactory:
    """A state module: File.managed(id, ...) makes a state, and File(id) refers to one."""

    def __init__(self, module, valid_funcs=None):
        self.module = module
        self.valid_funcs = valid_funcs if valid_funcs is not None else []

    def __getattr__(self, func):
        if self.valid_funcs and func not in self.valid_funcs:
            raise InvalidFunction(
                "The function '%s' does not exist in the StateFactory for '%s'"
                % (func, self.module))

        def make_state(id_, **kwargs):
            return State(id_, self.module, func, **kwargs)

        return make_state

    def __call__(self, id_, requisite="require"):
        return StateRequisite(requisite, self.module, id_)


class State:
    """A state. It is registered when it is made, and is also the head of a with statement."""

    def __init__(self, id_, module, func, **kwargs):
        self.id_, self.module, self.func, self.kwargs = id_, module, func, kwargs
        for name in REQUISITES:
            if name in kwargs and not hasattr(type(kwargs[name]), "__iter__"):
                kwargs[name] = [kwargs[name]]
        if isinstance(id_, StateExtend):
            self.id_ = id_.name
            Registry.extend(self.id_, self)
        else:
            Registry.add(id_, self)
        self.requisite = StateRequisite("require", module, self.id_)

    @property
    def full_func(self):
        """Its function, such as file.managed."""
        return "%s.%s" % (self.module, self.func)

    @property
    def attrs(self):
        """Its arguments by name, as an SLS lists them."""
        for name in REQUISITES:
            if name in self.kwargs:
                self.kwargs[name] = [
                    one() if isinstance(one, StateRequisite) else one for one in self.kwargs[name]]
        return [{name: self.kwargs[name]} for name in sorted(self.kwargs)]

    def __str__(self):
        return "%s = %s:%s" % (self.id_, self.full_func, self.attrs)

    __repr__ = __str__

    def __call__(self):
        return {self.full_func: self.attrs}

    def __enter__(self):
        Registry.push_requisite(self.requisite)

    def __exit__(self, *_):
        Registry.pop_requisite()


class SaltObject:
    """The execution modules as attributes: salt.cmd.run("date")."""

    def __init__(self, salt):
        self._salt = salt

    def __getattr__(self, module):
        return _Module(self._salt, module)


class _Module:
    def __init__(self, salt, name):
        self._salt, self._name = salt, name

    def __getattr__(self, function):
        full = "%s.%s" % (self._name, function)
        try:
            return self._salt[full]
        except KeyError:
            raise AttributeError("'%s' is not available." % full) from None


class MapMeta(type):
    """Gives a class the attributes of those of its inner classes whose grain matches."""

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        for key, value in cls._chosen(namespace).items():
            setattr(cls, key, value)

    def _chosen(cls, namespace):
        filters = cls._ordered([
            (getattr(one, "__grain__", "os_family"), getattr(one, "__match__", name), one)
            for name, one in namespace.items() if name[0] != "_" and isinstance(one, type)])
        found = {}
        if filters:
            grains = Map.__salt__["grains.item"](*{grain for grain, _, _ in filters})
            for grain, match, one in filters:
                if grain in grains and grains[grain] == match:
                    found.update((k, v) for k, v in vars(one).items() if k[0] != "_")
        if hasattr(cls, "merge"):
            found.update(Map.__salt__["pillar.get"](cls.merge) or {})
        return found

    def _ordered(cls, filters):
        """Return filters with the grains that the attribute priority names first, in its order."""
        priority = getattr(cls, "priority", ())
        if not hasattr(priority, "__iter__"):
            import logging

            logging.getLogger(__name__).error("pyobjects: priority must be an iterable")
            return filters
        first = list(priority)
        return sorted(filters, key=lambda one: first.index(one[0]) if one[0] in first else len(first))


class _Functions:
    """The execution modules, for classes that are made outside of a rendering."""

    def __getitem__(self, name):
        from salt import _brine

        return _brine.functions("modules")[name]


class Map(metaclass=MapMeta):
    """The base of classes that hold values by grains and pillar."""

    __salt__ = _Functions()
