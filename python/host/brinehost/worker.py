"""A worker: one process that runs the plug-ins of one job.

Brine's calls are the methods of Worker whose names begin with do_. What a worker asks Brine for:

    opts, grains, pillar          the dictionaries of these names, once each
    find KIND NAME                True for a function of Brine's, the file of an own one, or None
    module KIND NAME              whether there is a module of that name
    names KIND                    the names of all functions
    invoke KIND NAME ARGS KWARGS  the result of a function
    doc KIND NAME                 its documentation
    grain KEY VALUE               sets a grain for this job
    renderer NAME                 whether there is a renderer of that name
    render PIPE VALUE PATH SALTENV SLS VARIABLES   what renderers make of a text, or of data
    running, lowstate             __running__ and __lowstate__ of the state under way
    progress SUFFIX DATA          fires an event of the runner under way

The package salt asks for more, see salt/_brine.py.
"""

import os
import sys

from brinehost import describe, renderers, trust, wire
from brinehost.loader import Loader
from brinehost.mappings import Current, Functions, Live, NamedLoaderContext, Outputters, RunEvent, Utils

try:
    from salt import _brine
except ImportError:  # Salt's own library is in use
    _brine = None

# What plug-ins of a kind find in their globals, beside __opts__, __context__ and __loader__. See
# salt/loader/__init__.py.
LENT = {
    "modules": ("__salt__", "__grains__", "__pillar__", "__utils__", "__proxy__"),
    "states": ("__salt__", "__states__", "__grains__", "__pillar__", "__utils__", "__proxy__", "__serializers__",
               "__running__", "__instance_id__", "__lowstate__", "__env__", "__low__"),
    "utils": ("__salt__", "__grains__", "__pillar__", "__proxy__"),
    "grains": ("__grains__", "__pillar__", "__utils__", "__proxy__"),
    "executors": ("__salt__", "__executors__", "__grains__", "__pillar__", "__proxy__"),
    "matchers": ("__grains__", "__pillar__"),
    "output": ("__salt__", "__grains__", "__pillar__"),
    "returners": ("__salt__", "__grains__", "__pillar__", "__proxy__"),
    "sdb": ("__salt__", "__grains__", "__pillar__", "__utils__"),
    "serializers": ("__grains__", "__pillar__"),
    "runners": ("__salt__", "__grains__", "__pillar__", "__utils__"),
    "wheel": (),
    "tops": ("__grains__", "__pillar__"),
    "auth": ("__salt__", "__grains__", "__pillar__"),
    "beacons": ("__salt__", "__grains__", "__pillar__", "__proxy__"),
    "engines": ("__salt__", "__grains__", "__pillar__", "__utils__", "__runners__", "__proxy__"),
    "pillar": ("__salt__", "__grains__", "__pillar__", "__utils__"),
    "renderers": ("__salt__", "__states__", "__grains__", "__pillar__", "__proxy__"),
}
ANY = ("__salt__", "__grains__", "__pillar__", "__utils__", "__proxy__")

# The functions behind __salt__ for plug-ins of a kind.
SALT = {"runners": "runners"}

# The kinds that share the __context__ of another one.
CONTEXT = {"executors": "modules", "returners": "modules"}
# The kinds whose plug-ins all find the names of a call, not only the one that is called.
SHARED = ("runners", "wheel")


class Worker:
    def __init__(self, fd):
        self.channel = wire.Channel(fd, self._answer, describe.raised, describe.build)
        self.loaders = {}
        self.roots = {}  # directories by kind
        self.directories = ()
        self.kinds = {}  # the functions of a kind by name: what __salt__ and __states__ are
        self.contexts = {}
        self.scene = 0
        self.opts_scene = 0  # whose options the plug-ins have
        self.scenes = {}  # the dictionaries of each scene by their names: opts, grains, pillar
        self.shared = {}  # names of the call under way, by kind
        self.test = None
        self.logging = False
        self.level = 0
        self.daemon = False  # results go to a master, which gets the elements of a generator
        self.loading = False  # Brine knows no own plug-ins yet
        self.trust = trust.Trust()
        self._installed = None  # the loaders of an installed Salt
        if _brine is not None:
            _brine.set_worker(self)

    def serve(self):
        os.register_at_fork(after_in_child=self.channel.leave)
        self.channel.serve()

    def _answer(self, operation, arguments):
        try:
            return getattr(self, "do_" + operation)(*arguments)
        finally:
            try:
                sys.stdout.flush()  # what is printed comes before the result
            except Exception:  # a plug-in may have closed or replaced it
                pass

    # What Brine asks for.

    def do_open(self, settings):
        """Take the directories by kind, and the level of the log."""
        self.roots = settings["directories"]
        self.directories = tuple(d for list_ in self.roots.values() for d in list_)
        self.level = settings.get("level", 0)
        self.daemon = settings.get("daemon", False)
        for directory in reversed(self.roots.get("utils", ())):
            for fault in sorted(self.trust.faults(directory).values()):
                self.refuse("utils", directory, fault)
                break
            else:
                if directory not in sys.path:
                    sys.path.insert(1, directory)

    def do_forget(self):
        """Have the files loaded anew when they are next asked for."""
        for loader in self.loaders.values():
            loader.forget()
        for functions in self.kinds.values():
            functions.forget()
        self.scenes.clear()
        self.trust.forget()
        self._installed = None

    def do_within(self, scene, dropped, operation, *arguments):
        """Perform an operation whose plug-ins find the dictionaries of a scene.

        dropped is the number of a scene that is not used any more, or 0.
        """
        self.scenes.pop(dropped, None)
        before, self.scene = self.scene, scene
        self._renew_opts()
        try:
            return self._answer(operation, arguments)
        finally:
            self.scene = before
            if before:
                self._renew_opts()

    def do_load(self, kind, file):
        """Return the description of a plug-in, or None when there is no such file."""
        self.loading = True
        try:
            plugin = self.loader(kind).plugin(file)
        finally:
            self.loading = False
        return plugin and self._describe(plugin)

    def do_scan(self, kind):
        """Return the descriptions of all plug-ins of a kind."""
        return [self._describe(plugin) for plugin in self.loader(kind).all()]

    def do_call(self, kind, file, name, args, kwargs, extra):
        """Call a function. extra is a dictionary of globals that it finds for the time of the call."""
        plugin = self.loader(kind).plugin(file)
        if plugin is None or name not in plugin.functions:
            raise KeyError("%s.%s" % (file, name))
        function = plugin.functions[name]
        lent = dict(extra)
        if kind == "executors":
            args = [self._function(v) for v in args]
        self._set_test(lent.pop("__test__", None))
        names = Shared(self, kind, lent) if kind in SHARED else Lent(function.__globals__, lent)
        with names:
            if kind == "renderers" and name == "render":
                return renderers.call(self, function, args, kwargs)
            value = function(*args, **kwargs)
            if (self.daemon or kind in ("runners", "wheel")) and hasattr(value, "__next__"):
                value = list(value)
        self._note_retcode(kind)
        return value

    def do_salt_load(self, kind, name):
        """Return the description of a module of the installed Salt, or None when there is no such module."""
        return self.installed().load(kind, name)

    def do_salt_scan(self, kind, skip):
        """Return the descriptions of all modules of the installed Salt by name, but for some names."""
        return self.installed().scan(kind, frozenset(skip))

    def do_salt_call(self, kind, module, name, args, kwargs, extra):
        """Call a function of the installed Salt."""
        return self.installed().call(kind, module, name, args, kwargs, dict(extra), Lent)

    def do_attribute(self, kind, file, name):
        """Return a variable of a plug-in's module; None when it has none."""
        plugin = self.loader(kind).plugin(file)
        return getattr(plugin.module, name, None) if plugin and plugin.module else None

    def do_grains(self, known):
        """Return the grains of all files as (grains, problems), which the caller merges in their order."""
        found, problems = [], []
        core = self.fetched["grains"] = dict(known)
        loader = self.loader("grains")
        for plugin in loader.all():
            problems += [(level, text) for level, text in plugin.problems]
            for name in sorted(plugin.functions):
                function = plugin.functions[name]
                words = {}
                parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
                if "grains" in parameters:
                    words["grains"] = core
                if "proxy" in parameters:
                    words["proxy"] = None
                try:
                    grains = function(**words)
                except Exception as exc:
                    problems.append(
                        ("critical", "Failed to load grains defined in grain file %s.%s in function %s, error:\n%s"
                         % (plugin.file, name, function, describe.traceback(exc)))
                    )
                    continue
                if isinstance(grains, dict):
                    found.append(grains)
                    core.update(grains)
        return found, problems

    def do_execute(self, path, text, names, function, keywords):
        """Run a file that is no plug-in, such as an SLS in Python.

        Return True and what its function returns, or False and the traceback of its exception.
        """
        import types

        module = types.ModuleType(os.path.basename(path).partition(".")[0] or "script")
        module.__file__ = path
        if path:
            with open(path, "rb") as file:
                text = file.read()
        if "logging" in str(text):
            self.follow_logging()
        code = compile(text, path or "<script>", "exec")
        exec(code, module.__dict__)
        values = {
            "__salt__": self.functions("modules"), "salt": self.functions("modules"),
            "__grains__": self.fetch("grains"), "grains": self.fetch("grains"),
            "__pillar__": self.fetch("pillar"), "pillar": self.fetch("pillar"),
            "__opts__": self.fetch("opts"), "opts": self.fetch("opts"),
        }
        values.update(names)
        module.__dict__.update(values)
        try:
            return True, getattr(module, function)(**keywords)
        except Exception as exc:
            trace = describe.traceback(exc)
            if not trace.startswith("Traceback"):  # no frame is the file's
                trace = "Traceback (most recent call last):\n" + trace
            return False, trace + "\n"

    def do_render(self, renderer, function, text, keywords):
        """Return what a renderer of the package salt.renderers makes of a text: text or data."""
        import importlib
        import io

        if "logging" in text:
            self.follow_logging()
        module = importlib.import_module("salt.renderers." + renderer)
        lent = {
            "__salt__": self.functions("modules"), "__opts__": self.fetch("opts"),
            "__grains__": NamedLoaderContext(lambda: self.fetch("grains")),
            "__pillar__": NamedLoaderContext(lambda: self.fetch("pillar")),
            "__context__": self._context("renderers"),
        }
        with Lent(module.__dict__, lent):
            made = getattr(module, function)(io.StringIO(text), **keywords)
        return made.read() if hasattr(made, "read") else made

    # What the parts of a worker ask each other for.

    def loader(self, kind):
        if kind not in self.loaders:
            self.loaders[kind] = Loader(self, kind, self.roots.get(kind, ()))
        return self.loaders[kind]

    def installed(self):
        if self._installed is None:
            from brinehost.installed import Installed

            self._installed = Installed(self)
        return self._installed

    def functions(self, kind):
        if kind not in self.kinds:
            functions = self.kinds[kind] = Utils(self) if kind == "utils" else Functions(self, kind)
            if kind == "executors" and "direct_call" not in self.loader(kind).files:
                functions["direct_call.execute"] = direct_call
        return self.kinds[kind]

    def outputters(self):
        """Return the outputters by name, without the name of their function."""
        return Outputters(self.functions("output"))

    @property
    def fetched(self):
        """The dictionaries of the current scene that were fetched, by their names."""
        return self.scenes.setdefault(self.scene, {})

    def fetch(self, name):
        """Return opts, grains or pillar."""
        if name not in self.fetched:
            opts = self.fetched.get("opts", {})  # has the grains and the pillar of a minion
            self.fetched[name] = opts[name] if name in opts else self.channel.call(name)
        return self.fetched[name]

    def refuse(self, tag, name, fault):
        """Have Brine log that a file or directory is not used."""
        text = "Failed to load %s %s: %s" % (tag, name, fault)
        self.channel.notes.setdefault("refused", []).append(text)

    def lend(self, loader, module):
        """Give a module the names that its kind finds in its globals."""
        own = getattr(module, "__opts__", None)
        opts = dict(own) if isinstance(own, dict) else {}
        opts.update(self.fetch("opts"))
        if self.test is not None:
            opts["test"] = self.test
        module.__opts__ = opts
        module.__context__ = self._context(loader.kind)
        module.__loader__ = loader
        module.__dict__.update(self.shared.get(loader.kind, {}))
        for name in LENT.get(loader.kind, ANY):
            if name in ("__env__", "__low__", "__instance_id__"):
                continue  # for the time of a call
            module.__dict__[name] = self._lent(loader.kind, name)

    def _context(self, kind):
        kind = CONTEXT.get(kind, kind)
        if kind not in self.contexts:
            values = {}
            self.contexts[kind] = NamedLoaderContext(lambda: values)
        return self.contexts[kind]

    def _lent(self, kind, name):
        if name == "__salt__" and kind == "output":
            return self.outputters()
        if name == "__salt__":
            return self.functions(SALT.get(kind, "modules"))
        if name in ("__executors__", "__runners__", "__serializers__", "__states__", "__utils__"):
            return self.functions(name.strip("_"))
        if name in ("__running__", "__lowstate__"):
            return Live(lambda: self.channel.call(name.strip("_")))
        if name == "__grains__":
            return Current(lambda: self.fetch("grains"), lambda k, v: self.channel.call("grain", k, v))
        if name == "__pillar__":
            return Current(lambda: self.fetch("pillar"))
        return NamedLoaderContext(dict)

    def follow_logging(self):
        """Send what plug-ins log to Brine."""
        if self.logging:
            return
        self.logging = True
        from brinehost import log

        log.install(self.channel, self.level)

    def _describe(self, plugin):
        problems, plugin.problems = plugin.problems, []
        module = plugin.module
        outputters = getattr(module, "__outputter__", {}) if module else {}
        functions = []
        for name in sorted(plugin.functions):
            one = describe.function(name, plugin.functions[name])
            one["out"] = outputters.get(name) if isinstance(outputters, dict) else None
            functions.append(one)
        return {
            "file": plugin.file, "name": plugin.name, "aliases": list(plugin.aliases),
            "doc": module.__doc__ if module else None, "reason": None if module else plugin.reason or "",
            "functions": functions, "problems": problems, "safe": plugin.trusted,
        }

    def _renew_opts(self):
        """Give the plug-ins, which have options of their own, those of the current scene."""
        if self.opts_scene == self.scene:
            return
        self.opts_scene = self.scene
        for loader in self.loaders.values():
            for plugin in loader.plugins.values():
                if plugin.module is not None and isinstance(plugin.module.__opts__, dict):
                    plugin.module.__opts__.update(self.fetch("opts"))
                    if self.test is not None:
                        plugin.module.__opts__["test"] = self.test

    def _function(self, value):
        """Return the function that a value names (wire.py), or the value."""
        if type(value) is tuple and len(value) == 3 and value[0] is ... and value[1] == "function":
            kind, name = value[2]
            return self.functions(kind)[name]
        return value

    def _set_test(self, test):
        if test is None or test == self.test:
            return
        self.test = test
        for loader in self.loaders.values():
            for plugin in loader.plugins.values():
                if plugin.module is not None:
                    plugin.module.__opts__["test"] = test

    def _note_retcode(self, kind):
        context = self.contexts.get(CONTEXT.get(kind, kind))
        if context is not None and "retcode" in context:
            self.channel.notes["retcode"] = context["retcode"]


def direct_call(opts, data, func, args, kwargs):
    """The executor that calls the function."""
    return func(*args, **kwargs)


class Lent:
    """Gives a module globals for the time of a call."""

    def __init__(self, globals_, lent):
        self.globals = globals_
        self.lent = lent

    def __enter__(self):
        self.old = {name: self.globals[name] for name in self.lent if name in self.globals}
        self.globals.update(self.lent)

    def __exit__(self, *_):
        for name in self.lent:
            self.globals.pop(name, None)
        self.globals.update(self.old)


class Shared:
    """Gives all plug-ins of a kind globals for the time of a call."""

    def __init__(self, worker, kind, lent):
        self.worker = worker
        self.kind = kind
        self.lent = dict(lent, __jid_event__=RunEvent(worker.channel))

    def __enter__(self):
        self.old = self.worker.shared.get(self.kind, {})
        self._set(self.lent)

    def __exit__(self, *_):
        self._set(self.old)

    def _set(self, names):
        self.worker.shared[self.kind] = names
        for plugin in self.worker.loader(self.kind).plugins.values():
            if plugin.module is not None:
                plugin.module.__dict__.update(names)
