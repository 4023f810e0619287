"""Plug-ins of an installed Salt, loaded by Salt's own loader: the last shelf behind Brine's."""

import copy
import types

from brinehost import describe


class Installed:
    """The loaders of an installed Salt, made when they are first asked for."""

    def __init__(self, worker):
        self.worker = worker
        self.loaders = {}
        self._opts = None
        self._utils = None

    @property
    def opts(self):
        if self._opts is None:
            import salt.config

            master = self.worker.fetch("opts").get("__role") == "master"
            defaults = salt.config.DEFAULT_MASTER_OPTS if master else salt.config.DEFAULT_MINION_OPTS
            self._opts = copy.deepcopy(dict(defaults))
            self._opts.update(self.worker.fetch("opts"))
            self._opts["grains"] = dict(self.worker.fetch("grains"))
            self._opts["pillar"] = dict(self.worker.fetch("pillar"))
        return self._opts

    @property
    def utils(self):
        if self._utils is None:
            import salt.loader

            self._utils = salt.loader.utils(self.opts)
        return self._utils

    def loader(self, kind):
        if kind not in self.loaders:
            self.worker.follow_logging()
            import warnings

            import salt.loader

            warnings.simplefilter("ignore")  # the library turns some of its own on

            if kind == "modules":
                made = salt.loader.minion_mods(self.opts, context={}, utils=self.utils)
            elif kind == "states":
                made = salt.loader.states(
                    self.opts, self.loader("modules"), self.utils, salt.loader.serializers(self.opts), context={}
                )
            else:
                made = salt.loader.runner(self.opts, utils=self.utils, context={})
            self.loaders[kind] = made
        return self.loaders[kind]

    def load(self, kind, name):
        """Return the description of a module by its virtual name, with the reason where it was refused.

        It is None when there is no such module.
        """
        loader = self.loader(kind)
        files = [f for f, found in loader.file_mapping.items() if f == name or describe.mentions(found[0], name)]
        for file in files:
            if file not in loader.loaded_files:
                loader._load_module(file)
        functions = {key: value for key, value in loader._dict.items() if key.startswith(name + ".") and salts(value)}
        if functions:
            return self._describe(kind, functions)
        for missing in [name] + files:
            if missing in loader.missing_modules:
                return {"reason": str(loader.missing_modules[missing] or ""), "functions": []}
        return None

    def scan(self, kind, skip):
        """Return the descriptions of all modules by name, but for some names."""
        loader = self.loader(kind)
        loader._load_all()
        modules = {}
        for key, value in loader._dict.items():
            module = key.partition(".")[0]
            if module not in skip and salts(value):
                modules.setdefault(module, {})[key] = value
        return {module: self._describe(kind, functions) for module, functions in modules.items()}

    def call(self, kind, module, name, args, kwargs, extra, lent):
        """Call a function. lent gives a module globals for the time of a call."""
        loader = self.loader(kind)
        test = extra.pop("__test__", None)
        if test is not None:
            self.opts["test"] = loader.opts["test"] = test
            loader.pack.get("__opts__", {})["test"] = test
        function = loader[module + "." + name]
        plain = raw(getattr(function, "func", function))
        args = self.worker._arguments(plain, args)
        with lent(plain.__globals__, extra):
            value = function(*args, **kwargs)
            if hasattr(value, "__next__"):
                value = list(value)
        context = loader.pack.get("__context__")
        if isinstance(context, dict) and "retcode" in context:
            self.worker.channel.notes["retcode"] = context["retcode"]
        return value

    @staticmethod
    def _describe(kind, functions):
        import salt.version

        note = "\n\n    From Salt %s, which is installed beside Brine (python_salt)." % salt.version.__version__
        said, doc = [], None
        for key in sorted(functions):
            function = raw(getattr(functions[key], "func", functions[key]))
            if function is None:
                continue
            one = describe.function(key.partition(".")[2], function)
            one["doc"] = (one["doc"] or "").rstrip() + note
            said.append(one)
            doc = doc or getattr(functions[key], "__globals__", function.__globals__).get("__doc__")
        return {"doc": doc, "functions": said}


def salts(function):
    """Report whether a function is Salt's: its loader knows users' own files as well."""
    function = raw(getattr(function, "func", function))
    return function is not None and not function.__module__.startswith("salt.loaded.ext.")


def raw(function):
    """Return the plain function behind its decorators, None when there is none."""
    seen = 0
    while hasattr(function, "__wrapped__") and seen < 50:
        function, seen = function.__wrapped__, seen + 1
    return function if isinstance(function, types.FunctionType) else None
