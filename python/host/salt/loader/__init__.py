"""Functions by name, as salt.loader gives them: those of Brine and of plug-ins.

What a caller hands over, such as options and context, does not change them.
"""


def _functions(kind):
    from salt import _brine

    return _brine.functions(kind)


class _Chosen:
    """The functions of some modules alone."""

    def __init__(self, functions, modules):
        self._functions, self._modules = functions, modules

    def __getitem__(self, name):
        if name.partition(".")[0] not in self._modules:
            raise KeyError(name)
        return self._functions[name]

    def __contains__(self, name):
        return name.partition(".")[0] in self._modules and name in self._functions

    def __iter__(self):
        return (n for n in self._functions if n.partition(".")[0] in self._modules)

    def __len__(self):
        return sum(1 for _ in self)

    def keys(self):
        return list(self)

    def items(self):
        return [(name, self._functions[name]) for name in self]

    def values(self):
        return [self._functions[name] for name in self]

    def get(self, name, default=None):
        return self[name] if name in self else default


def _some(kind, whitelist):
    functions = _functions(kind)
    return _Chosen(functions, tuple(whitelist)) if whitelist else functions


def minion_mods(opts, context=None, utils=None, whitelist=None, initial_load=False,
                loaded_base_name=None, notify=False, static_modules=None, proxy=None):
    """Return the execution modules, __salt__."""
    return _some("modules", whitelist)


def raw_mod(opts, name, functions, mod="modules", loaded_base_name=None):
    """Return the functions of one module."""
    return dict(_Chosen(_functions(mod), (name,)).items())


def utils(opts, whitelist=None, context=None, proxy=None, pack_self=None, loaded_base_name=None):
    """Return the plug-ins of the kind utils, __utils__."""
    return _some("utils", whitelist)


def states(opts, functions, utils, serializers, whitelist=None, proxy=None, context=None,
           loaded_base_name=None):
    """Return the states, __states__."""
    return _some("states", whitelist)


def returners(opts, functions, whitelist=None, context=None, proxy=None, loaded_base_name=None):
    """Return the returners."""
    return _some("returners", whitelist)


def runner(opts, utils=None, context=None, whitelist=None, loaded_base_name=None):
    """Return the runners."""
    return _some("runners", whitelist)


def wheels(opts, whitelist=None, context=None, loaded_base_name=None):
    """Return the wheel functions."""
    return _some("wheel", whitelist)


def beacons(opts, functions, context=None, proxy=None, loaded_base_name=None):
    """Return the beacons."""
    return _functions("beacons")


def sdb(opts, functions=None, whitelist=None, utils=None, loaded_base_name=None):
    """Return the functions of sdb."""
    return _some("sdb", whitelist)


def executors(opts, functions=None, context=None, proxy=None, loaded_base_name=None):
    """Return the executors."""
    return _functions("executors")


def matchers(opts, loaded_base_name=None):
    """Return the matchers."""
    return _functions("matchers")


def serializers(opts, loaded_base_name=None):
    """Return the serializers."""
    return _functions("serializers")


def outputters(opts, loaded_base_name=None):
    """Return the outputters by name."""
    from salt import _brine

    return _brine.worker().outputters()


class _Renderers:
    """The renderers by name: each is called with a text or a file and returns what it makes."""

    def __getitem__(self, name):
        def render(template_data, saltenv="base", sls="", **kwargs):
            from salt import template

            text = template_data.read() if hasattr(template_data, "read") else template_data
            if not isinstance(text, str):
                return _functions("renderers")[name](text, saltenv, sls, **kwargs)
            return template.render_text(text, name, kwargs.pop("context", None) or kwargs,
                                        saltenv=saltenv, sls=sls)

        render.__name__ = name
        return render

    def __contains__(self, name):
        return isinstance(name, str)

    def get(self, name, default=None):
        return self[name]


def render(opts, functions, states=None, proxy=None, context=None, loaded_base_name=None):
    """Return the renderers."""
    return _Renderers()


def grains(opts, force_refresh=False, proxy=None, context=None, loaded_base_name=None):
    """Return the grains of this host. While own grains are loaded they are Brine's own."""
    from salt import _brine

    worker = _brine.worker()
    if "grains" in worker.fetched or not worker.loading:
        return dict(worker.fetch("grains"))
    return dict(_brine.call("builtin_grains"))


def grain_funcs(opts, proxy=None, context=None, loaded_base_name=None):
    """Return the functions of own grains."""
    from salt import _brine

    return {"%s.%s" % (plugin.name, name): function
            for plugin in _brine.worker().loader("grains").all()
            for name, function in plugin.functions.items()}


def call(fun, **kwargs):
    """Call an execution function: call("test.echo", args=["x"])."""
    args = kwargs.get("args", [])
    return _functions("modules")[fun](*args)


class LazyLoader:
    """Refuse: Brine loads plug-ins by itself."""

    def __init__(self, *args, **kwargs):
        from salt import WAY_OUT

        raise NotImplementedError(WAY_OUT % "salt.loader.LazyLoader")
