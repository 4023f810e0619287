"""The part of Salt's library that plug-ins import, as Brine offers it to them.

A module is loaded when it is first used, also where only its package was imported. What is not
here raises an ImportError or an AttributeError that names it. salt.modules.NAME and its like stand
for Brine's functions.
"""

import sys

from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import PathFinder, SourceFileLoader

WAY_OUT = "%s is not part of Brine's library; install Salt's and set python_salt: auto"

# Packages whose modules stand for functions of Brine's: their kind.
MIRRORED = {
    "salt.modules": "modules", "salt.states": "states", "salt.runners": "runners",
    "salt.returners": "returners", "salt.beacons": "beacons", "salt.renderers": "renderers",
    "salt.sdb": "sdb",
}


def missing(module, name):
    """Return what a module has under a name that its own top level does not define.

    That is one of its submodules, or an exception or OrderedDict, which Salt's modules import, or
    an AttributeError.
    """
    full = module + "." + name
    if name[:2] == "__":
        raise AttributeError("module %r has no attribute %r" % (module, name))
    path = sys.modules[module].__path__
    if path and PathFinder.find_spec(full, path) or module in MIRRORED:
        try:
            __import__(full)
        except ModuleNotFoundError as exc:
            if WAY_OUT % full != str(exc):
                raise
        else:
            return sys.modules[full]
    if module != "salt" and name[0].isupper():
        from salt import exceptions

        if name in vars(exceptions):
            return vars(exceptions)[name]
        if name == "OrderedDict":
            from salt.utils import odict

            return odict.OrderedDict
    raise AttributeError(WAY_OUT % full)


class _Source(SourceFileLoader):
    def exec_module(self, module):
        super().exec_module(module)
        name = module.__name__
        module.__dict__.setdefault("__getattr__", lambda attribute: missing(name, attribute))


class _Mirror:
    """Makes the module that stands for Brine's functions of a name."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        from salt import _mirror

        _mirror.fill(module)


class _Moved:
    """Makes a module below salt.ext.six.moves, with what Python's own module has."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        from salt.ext.six import moves

        found = moves.real(module.__name__[len(moves.__name__) + 1 :])
        for name, value in found.__dict__.items():
            if name[:2] != "__" or name in ("__doc__", "__all__"):
                module.__dict__[name] = value


class _Finder:
    """Finds the modules below salt."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name[:5] != "salt." or name[:11] == "salt.loaded":
            return None
        spec = PathFinder.find_spec(name, path) if path else None
        if spec is not None:
            if isinstance(spec.loader, SourceFileLoader):
                spec.loader = _Source(name, spec.loader.path)
            if spec.submodule_search_locations is None:
                # An import from it asks this finder, which says more than Python would.
                spec.submodule_search_locations = []
            return spec
        parent = name.rpartition(".")[0]
        if parent in MIRRORED:
            from salt import _mirror

            if _mirror.exists(name):
                return ModuleSpec(name, _Mirror, origin="Brine", is_package=True)
        if name[:19] == "salt.ext.six.moves.":
            from salt.ext.six import moves

            if moves.real(name[19:]) is not None:
                return ModuleSpec(name, _Moved, origin="Python", is_package=True)
        # Without the name in the exception, "from salt.x import y" raises it as it is.
        raise ModuleNotFoundError(WAY_OUT % name)


def __getattr__(name):
    return missing("salt", name)


if not any(finder.__class__.__name__ == "_Finder" for finder in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
