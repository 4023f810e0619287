"""Decorators, as salt.utils.decorators has them."""

import functools
import sys


class Depends:
    """Offers a function only where what it depends on is there.

    A dependency is the name of a variable of the plug-in's module, or True or False. With retcode
    or nonzero_retcode it is a command, which has to end with that status. Where a dependency is
    missing the function is not offered, or fallback_function in its place.
    """

    def __init__(self, *dependencies, **kwargs):
        self.dependencies = dependencies
        self.params = kwargs
        self.fallback = kwargs.get("fallback_function")

    def __call__(self, function):
        names = sys._getframe(1).f_globals  # a decorated function has those of its decorator
        names.setdefault("__brine_depends__", []).append((function, self))
        return function

    def missing(self, names):
        """Return the first dependency that a module with these names does not have, or None."""
        for dependency in self.dependencies:
            if "retcode" in self.params or "nonzero_retcode" in self.params:
                status = self.run_command(dependency)
                wanted = self.params.get("retcode")
                if wanted is not None and status != wanted or (
                        self.params.get("nonzero_retcode") and status == 0):
                    return dependency
            elif dependency is not True and (
                    not isinstance(dependency, str) or dependency not in names):
                return dependency
        return None

    @staticmethod
    def run_command(dependency, mod_name=None, func_name=None):
        """Return the exit status of a command."""
        import shlex
        import subprocess

        words = [word.format(mod_name or "", func_name or "") for word in shlex.split(dependency)]
        try:
            return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  stdin=subprocess.DEVNULL, check=False).returncode
        except OSError:
            return 127


depends = Depends


def enforce(module, functions):
    """Remove from the functions of a loaded module those whose dependencies are missing."""
    for function, dependency in module.__dict__.get("__brine_depends__", ()):
        missing = dependency.missing(module.__dict__)
        if missing is None:
            continue
        for name in [n for n, f in functions.items()
                     if f is function or getattr(f, "__wrapped__", None) is function]:
            if dependency.fallback is not None:
                functions[name] = dependency.fallback
            else:
                del functions[name]


def timing(function):
    """Log how long the calls of a function take."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        import time

        begun = time.time()
        value = function(*args, **kwargs)
        from salt import _brine

        _brine.log(1, __name__, "Function %s.%s took %.20f seconds to execute" % (
            function.__module__.split(".")[-1], function.__name__, time.time() - begun))
        return value

    return wrapper


def memoize(func):
    """Keep what a function returned for each set of arguments."""
    kept = {}

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        key = tuple(str(arg) for arg in args) + tuple(
            "%s=%s" % pair for pair in sorted(kwargs.items()))
        if key not in kept:
            kept[key] = func(*args, **kwargs)
        return kept[key]

    return wrapper


def _said(kwargs, names):
    return sum(1 for name in kwargs if name in names)


def allow_one_of(*kwarg_names):
    """Refuse calls with more than one of several keywords."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if _said(kwargs, kwarg_names) > 1:
                from salt.exceptions import SaltInvocationError

                raise SaltInvocationError(
                    "Only of the following is allowed: " + ", ".join(kwarg_names))
            return function(*args, **kwargs)

        return wrapper

    return decorate


def require_one_of(*kwarg_names):
    """Refuse calls with none or more than one of several keywords."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            said = _said(kwargs, kwarg_names)
            if said != 1:
                from salt.exceptions import SaltInvocationError

                raise SaltInvocationError((
                    "Only one of the following is allowed: " if said else
                    "One of the following must be provided: ") + ", ".join(kwarg_names))
            return function(*args, **kwargs)

        return wrapper

    return decorate


def ignores_kwargs(*kwarg_names):
    """Drop keywords before a function gets them."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **{k: v for k, v in kwargs.items() if k not in kwarg_names})

        return wrapper

    return decorate


def ensure_unicode_args(function):
    """Return the function: text is always Unicode."""
    return function


class _Deprecation:
    def __init__(self, globals, version):
        self._globals, self._version = globals, version

    def _log(self, text):
        from salt import _brine

        _brine.log(30, self._globals.get("__name__", __name__), text)


class _IsDeprecated(_Deprecation):
    """Logs that a function will be gone with a release, and what takes its place."""

    def __init__(self, globals, version, with_successor=None):
        super().__init__(globals, version)
        self._successor = with_successor

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            text = 'The function "%s" is deprecated and will expire in version "%s".' % (
                function.__name__, self._version)
            if self._successor:
                text += ' Use "%s" instead.' % self._successor
            self._log(text)
            return function(*args, **kwargs)

        return wrapper


is_deprecated = _IsDeprecated


class _WithDeprecated(_Deprecation):
    """Names an older form of a function, which the option use_deprecated keeps in use."""

    OPT_IN, OPT_OUT = 1, 2

    def __init__(self, globals, version, with_name=None, policy=OPT_OUT):
        super().__init__(globals, version)
        self._with_name, self._policy = with_name, policy

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            opts = self._globals.get("__opts__", {})
            name = "%s.%s" % (self._globals.get("__name__", "").rpartition(".")[2],
                              function.__name__)
            old = self._globals.get(self._with_name or "_" + function.__name__)
            listed = name in opts.get("use_deprecated", ()) or (
                self._policy == self.OPT_IN and name not in opts.get("use_superseded", ()))
            if listed and old is not None:
                self._log('The function "%s" is using its deprecated version and will expire in '
                          'version "%s".' % (name, self._version))
                return old(*args, **kwargs)
            return function(*args, **kwargs)

        return wrapper


with_deprecated = _WithDeprecated


def __getattr__(name):
    if name in ("which", "which_bin"):  # here until Salt 2017
        from salt.utils.decorators import path

        return getattr(path, name)
    from salt import missing

    return missing(__name__, name)
