"""Loads the files of one kind of plug-in as Salt's loader does.

The rules are those of Salt 3006 (salt/loader/lazy.py), as seen from a plug-in: the names that it
finds in its globals, what __virtual__ may return, and which of its functions can be called.
"""

import os
import sys
import types

from brinehost import describe

# The part of a module's name that stands for its kind: salt.loaded.ext.module.NAME.
TAGS = {"executors": "executor", "modules": "module", "returners": "returner", "tops": "top"}


class Plugin:
    """One file: either module with its functions, or the reason why it was not loaded."""

    def __init__(self, file, path):
        self.file = file
        self.path = path
        self.name = file
        self.aliases = ()
        self.module = None
        self.functions = {}
        self.reason = None  # text for the operator; "" when there is none
        self.problems = []  # what the log is told
        self.loading = False
        self.trusted = True  # False if other users could change the file


class Loader:
    """The plug-ins of a kind, loaded when they are first asked for."""

    def __init__(self, worker, kind, directories):
        self.worker = worker
        self.kind = kind
        self.directories = directories
        self.tag = TAGS.get(kind, kind)
        self.plugins = {}  # by file
        self._files = None
        self._refused = {}  # why a file is not run, by its name

    @property
    def files(self):
        """The path of each file by its name without suffix; the first directory wins."""
        if self._files is None:
            self._files = {}
            for directory in self.directories:
                try:
                    entries = sorted(os.listdir(directory))
                except OSError:
                    continue
                faults = self.worker.trust.faults(directory)
                for entry in entries:
                    name, path = self._plugin_file(directory, entry)
                    if name and name not in self._files:
                        self._files[name] = path
                        fault = faults.get("") or faults.get(entry)
                        if fault:
                            self._refused[name] = fault
        return self._files

    @staticmethod
    def _plugin_file(directory, entry):
        if entry.startswith(("_", ".")):
            return None, None
        path = os.path.join(directory, entry)
        if entry.endswith(".py"):
            return entry[:-3], path
        if os.path.isfile(os.path.join(path, "__init__.py")):
            return entry, path
        for suffix in describe.extension_suffixes():
            if entry.endswith(suffix):
                return entry[: -len(suffix)], path
        return None, None

    def forget(self):
        self.plugins.clear()
        self._files = None
        self._refused.clear()

    def plugin(self, file):
        """Return the plug-in of a file, loaded; None if there is no such file."""
        if file not in self.files:
            return None
        plugin = self.plugins.get(file)
        if plugin is None:
            plugin = self.plugins[file] = Plugin(file, self.files[file])
            self._load(plugin)
        return plugin

    def all(self):
        return [self.plugin(file) for file in sorted(self.files)]

    def find(self, name):
        """Return the function MODULE.FUNCTION of a file named MODULE, or None."""
        file, _, function = name.partition(".")
        plugin = self.plugin(file)
        if plugin is None or plugin.module is None or plugin.name != file and file not in plugin.aliases:
            return None
        return plugin.functions.get(function)

    def find_by_virtual_name(self, name):
        """Return the function of a file with another name whose plug-in calls itself MODULE, or None."""
        module, _, function = name.partition(".")
        for file, path in sorted(self.files.items()):
            if file != module and not self._is_loading(file) and describe.mentions(path, module):
                plugin = self.plugin(file)
                if plugin.module is not None and (plugin.name == module or module in plugin.aliases):
                    if function in plugin.functions:
                        return plugin.functions[function]
        return None

    def _is_loading(self, file):
        return file in self.plugins and self.plugins[file].loading

    def _load(self, plugin):
        if plugin.file in self._refused:
            plugin.trusted = False
            plugin.reason = self._refused[plugin.file]
            self.worker.refuse(self.tag, plugin.file, plugin.reason)
            return
        plugin.loading = True
        try:
            module = self._run(plugin)
        except Exception as exc:
            plugin.reason = describe.reason(exc)
            plugin.problems.append(("warning", "Failed to import %s %s: %s" % (self.tag, plugin.file, describe.traceback(exc))))
            return
        except SystemExit as exc:
            plugin.reason = str(exc)
            plugin.problems.append(("error", "Failed to import %s %s as the file called exit" % (self.tag, plugin.file)))
            return
        finally:
            plugin.loading = False
        self.worker.lend(self, module)
        init = getattr(module, "__init__", None)
        try:
            if isinstance(init, types.FunctionType):
                init(module.__opts__)
        except TypeError:
            pass  # an __init__ with other parameters is not this one
        except Exception as exc:
            plugin.reason = "__init__ failed"
            plugin.problems.append(("warning", "__init__ of %s failed: %s" % (plugin.path, describe.traceback(exc))))
            return
        if self._virtual(plugin, module):
            plugin.module = module
            plugin.aliases = tuple(getattr(module, "__virtual_aliases__", ()))
            plugin.functions = self._functions(module)

    def _run(self, plugin):
        """Return the module of a file, after its top level has run."""
        name = "salt.loaded.ext.%s.%s" % (self.tag, plugin.file)
        package = os.path.isdir(plugin.path)
        path = os.path.join(plugin.path, "__init__.py") if package else plugin.path
        near = os.path.dirname(plugin.path)
        module = types.ModuleType(name)
        module.__file__ = path
        module.__package__ = name if package else name.rpartition(".")[0]
        if package:
            module.__path__ = [plugin.path]
        if not self.worker.trust.faults(near):
            sys.path.append(near)
        old = sys.modules.get(name)
        sys.modules[name] = module
        try:
            describe.execute(module, path, self.worker)
        except BaseException:
            if old is None:
                del sys.modules[name]
            else:
                sys.modules[name] = old
            raise
        finally:
            try:
                sys.path.remove(near)
            except ValueError:
                pass
        return module

    def _virtual(self, plugin, module):
        """Set the name under which the plug-in is called, and report whether it can be."""
        own = getattr(module, "__virtualname__", plugin.file)
        ask = getattr(module, "__virtual__", None)
        if not callable(ask):
            return True
        try:
            said = ask()
        except Exception as exc:
            plugin.reason = (
                "Exception raised when processing __virtual__ function for %s. Module will not be loaded: %s"
                % (module.__name__, exc)
            )
            plugin.problems.append(("error", plugin.reason))
            return False
        reason = ""
        if isinstance(said, (tuple, list)) and said:
            if isinstance(said, list):
                plugin.problems.append(
                    ("warning", "__virtual__ of %s returned a list; it is taken for a tuple" % plugin.path)
                )
            said, reason = said[0], said[1] if len(said) > 1 else ""
        if not said:
            if said is None:
                plugin.problems.append(
                    ("warning", "%s.__virtual__() is wrongly returning `None`. It should either return `True`, `False` or a new name."
                     % module.__name__)
                )
            plugin.reason = str(reason)
            return False
        if said is True:
            plugin.name = own
            return True
        if said == plugin.file:  # whatever __virtualname__ says
            return True
        if hasattr(module, "__virtualname__"):
            if said != own:
                plugin.problems.append(
                    ("error", "The module '%s' is showing some bad usage. Its __virtualname__ attribute is set to '%s' yet the "
                     "__virtual__() function is returning '%s'." % (module.__name__, own, said))
                )
            plugin.name = own
        else:
            plugin.name = said
        return True

    def _functions(self, module):
        names = getattr(module, "__load__", None) or getattr(module, "__all__", None)
        aliases = getattr(module, "__func_alias__", {})
        kinds = types.FunctionType
        if self.kind == "utils" and "functools" in sys.modules:
            kinds = (kinds, sys.modules["functools"].partial)
        found = {}
        for name in names if isinstance(names, (list, tuple)) else dir(module):
            function = getattr(module, name, None)
            if name.startswith("_") or not isinstance(function, kinds):
                continue
            if self.kind != "utils" and not (function.__module__ or "").startswith("salt.loaded"):
                continue  # it was imported
            found[aliases.get(name, name)] = function
        if "__brine_depends__" in module.__dict__:
            from salt.utils import decorators

            decorators.enforce(module, found)
        return found
