"""States by chains of attributes, as salt.utils.pydsl has them. The renderer pydsl uses them.

    state("nginx").pkg.installed()
    state("nginx").service.running(enable=True).require(pkg="nginx")

A declaration has an id and state modules, a module has one function, and a function has arguments.
"""

REQUISITES = frozenset((
    "listen", "require", "watch", "prereq", "use", "listen_in", "require_in", "watch_in",
    "prereq_in", "use_in", "onchanges", "onfail",
))


class PyDslError(Exception):
    """A file uses the language in a wrong way."""


class Options(dict):
    """Options of a file, also as attributes. One that is not set is None."""

    def __getattr__(self, name):
        return self.get(name)


class Sls:
    """The states of one file."""

    _stack = []  # of the files that are being rendered; one may render another

    def __init__(self, sls, saltenv, rendered_sls=None):
        self.name, self.saltenv, self.rendered_sls = sls, saltenv, rendered_sls
        self.includes, self.extends, self.funcs = [], [], []
        self.decls = {}  # by id
        self.options = Options()

    @classmethod
    def get_render_stack(cls):
        """Return the files that are being rendered; the last is the innermost."""
        return cls._stack

    def set(self, **options):
        """Set options: ordered makes each state require the one before it."""
        self.options.update(options)

    def include(self, *names, **words):
        """Include other SLS files. Their states come before those of this one."""
        saltenv = words.get("saltenv", self.saltenv)
        self.includes.extend({saltenv: name} for name in names)

    def extend(self, *functions):
        """Make states extend those of included files."""
        if self.options.ordered or self.last_func():
            raise PyDslError("Cannot extend() after the ordered option was turned on!")
        for function in functions:
            self.extends.append(self.decls.pop(function.mod._state_id))

    def state(self, id=None):
        """Return the declaration of an id; without one, a new declaration."""
        if not id:
            import uuid

            id = ".%s" % uuid.uuid4()
        if id not in self.decls:
            self.decls[id] = StateDeclaration(id)
        return self.decls[id]

    def last_func(self):
        """Return the last function of an ordered file, or None."""
        return self.funcs[-1] if self.funcs else None

    def track_func(self, function):
        """Note a function of an ordered file."""
        self.funcs.append(function)

    def to_highstate(self, module):
        """Return the data of the file. A state that does nothing names its module."""
        self.state("_slsmod_" + self.name).stateconf.set(slsmod=module)
        high = {}
        if self.includes:
            high["include"] = self.includes
        if self.extends:
            high["extend"] = {one._id: one._repr("extend") for one in self.extends}
        for id_, declaration in self.decls.items():
            high[id_] = declaration._repr()
        return high

    def load_highstate(self, high):
        """Add the states of an SLS's data."""
        for id_, modules in high.items():
            for name, args in modules.items():
                name, _, function = name.partition(".")
                args = list(args)
                if not function:
                    function = next(one for one in args if isinstance(one, str))
                    args.remove(function)
                words = {}
                for one in args:
                    if isinstance(one, dict):
                        words.update(one)
                self.state(id_)[name](function, **words)


class StateDeclaration:
    """An id with its state modules, which are its attributes."""

    def __init__(self, id):
        self._id = id
        self._mods = []

    def __getattr__(self, name):
        for module in self._mods:
            if module._name == name:
                return module
        self._mods.append(StateModule(name, self._id))
        return self._mods[-1]

    def __getitem__(self, name):
        return getattr(self, name)

    def __str__(self):
        return self._id

    def __iter__(self):
        return iter(self._mods)

    def _repr(self, context=None):
        return dict(module._repr(context) for module in self)

    def __call__(self, check=True):
        """Run the states now, and return their results as (tag, result) in their order.

        They are no longer part of the file. With check, one that fails is an error.
        """
        from salt import _brine

        self._detach(Sls.get_render_stack()[-1])
        results = _brine.functions("modules")["state.high"]({self._id: self._repr()})
        if not isinstance(results, dict):
            raise PyDslError("An error occurred while running highstate: %s" % "; ".join(results))
        results = sorted(results.items(), key=lambda one: one[1]["__run_num__"])
        for tag, result in results if check else ():
            if not result["result"]:
                import pprint

                raise PyDslError("Failed executing low state at compile time:\n%s"
                                 % pprint.pformat({tag: result}))
        return results

    def _detach(self, sls):
        """Take the states out of the file."""
        if self._id not in sls.decls:
            return
        last = sls.last_func()
        if last and self._mods[-1]._func is not last:
            raise PyDslError(
                "Cannot run state(%s: %s) that is required by a runtime state(%s: %s), at "
                "compile time." % (self._mods[-1]._name, self._id, last.mod, last.mod._state_id))
        del sls.decls[self._id]
        self._mods[0]._func._remove_auto_require()
        for module in self._mods:
            if module._func in sls.funcs:
                sls.funcs.remove(module._func)


class StateModule:
    """A state module of a declaration: its function is its attribute."""

    def __init__(self, name, parent_decl):
        self._state_id = parent_decl
        self._name = name
        self._func = None

    def __getattr__(self, name):
        requisite = name in REQUISITES
        if self._func is None:
            self._func = StateFunction(None if requisite else name, self)
        elif name != self._func.name and not requisite:
            if self._func.name:
                raise PyDslError("Multiple state functions(%s) not allowed in a state module(%s)!"
                                 % (name, self._name))
            self._func.name = name
        if requisite and name != self._func.name:
            return getattr(self._func, name)
        return self._func

    def __call__(self, _fname, *args, **kws):
        return getattr(self, _fname).configure(args, kws)

    def __str__(self):
        return self._name

    def _repr(self, context=None):
        return self._name, self._func._repr(context)


class StateFunction:
    """The function of a state module with its arguments. It has a method for each requisite."""

    def __init__(self, name, parent_mod):
        self.mod, self.name = parent_mod, name
        self.args = []
        self._required = None  # the index of the argument that an ordered file adds
        sls = Sls.get_render_stack()[-1]
        if sls.options.ordered:
            last = sls.last_func()
            if last:
                self.require(last.mod)
                self._required = len(self.args) - 1
            sls.track_func(self)

    def __getattr__(self, name):
        if name not in REQUISITES:
            raise AttributeError(name)

        def refer(*modules, **states):
            for module in modules:
                self.reference(name, module, None)
            for module, id_ in states.items():
                self.reference(name, module, id_)
            return self

        return refer

    def __call__(self, *args, **kws):
        return self.configure(args, kws)

    def configure(self, args, kws):
        """Add arguments: the first without a name is the argument name."""
        args = list(args)
        if args and callable(args[0]) and self.mod._name == "cmd" and self.name in (
                "call", "wait_call"):
            raise PyDslError("cmd.%s of a Python function is not supported; write an own state "
                             "module, or call the function where the file is rendered" % self.name)
        if args:
            args[0] = {"name": args[0]}
        self.args.extend(args)
        self.args.extend({key: value} for key, value in kws.items())
        return self

    def reference(self, req_type, mod, ref):
        """Add a requisite."""
        if isinstance(mod, StateModule):
            ref = mod._state_id
        elif not (mod and ref):
            raise PyDslError("Invalid a requisite reference declaration! %s: %s" % (mod, ref))
        self.args.append({req_type: [{str(mod): str(ref)}]})

    def _remove_auto_require(self):
        if self._required is not None:
            del self.args[self._required]
            self._required = None

    def _repr(self, context=None):
        if self.name:
            return [self.name] + self.args
        if context == "extend":
            return self.args
        raise PyDslError("No state function specified for module: %s" % self.mod._name)
