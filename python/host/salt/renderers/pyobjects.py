"""The renderer pyobjects: SLS files in Python whose states are calls, File.managed("/etc/motd").

    #!pyobjects

    from salt://web/map.sls import Web

    with Pkg.installed(Web.package):
        Service.running(Web.service, enable=True)
"""

import os
import re

from salt.utils.pyobjects import Map, Registry, SaltObject, StateFactory

_IMPORT = re.compile(r"^(\s*)import\s+(salt://.*)$")
_FROM = re.compile(r"^(\s*)from\s+(salt://.*)\s+import (.*)$")
_AS = re.compile(r"^(.*) as (.*)$")


class PyobjectsModule:
    """What import salt://NAME.sls gives: the names of that file."""

    __slots__ = ("__pyobjects_name__", "__dict__")  # __dict__ is that of the file

    def __init__(self, name, attrs):
        self.__pyobjects_name__ = name
        self.__dict__ = attrs

    def __repr__(self):
        return "<module '%s' (pyobjects)>" % self.__pyobjects_name__


def render(template, saltenv="base", sls="", salt_data=True, context=None, **kwargs):
    """Return the states of a file; without salt_data, the names that it would find."""
    names = _names(sls, context or {})
    if not salt_data:
        return names
    with Registry.apart():
        Registry.enabled = False  # imported files give names, no states
        text, names = _Imports(names, saltenv).resolve(template.read())
        Registry.enabled = True
        exec(text, names)
        return Registry.salt_data()


def _names(sls, context):
    """Return the names that a file finds."""
    Map.__salt__ = __salt__
    names = {camel(module): StateFactory(module, functions)
             for module, functions in _states().items()}
    names.update({
        "include": Registry.include, "extend": Registry.make_extend, "Map": Map,
        "salt": SaltObject(__salt__), "pillar": __salt__["pillar.get"],
        "grains": __salt__["grains.get"], "mine": __salt__["mine.get"],
        "config": __salt__["config.get"], "__salt__": __salt__, "__pillar__": __pillar__,
        "__grains__": __grains__, "__opts__": __opts__, "__sls__": sls,
    })
    names.update(context)
    return names


def _states():
    """Return the functions of each state module. They are listed once for a job."""
    if "pyobjects_states" not in __context__:
        from salt import _brine

        found = __context__["pyobjects_states"] = {}
        for name in _brine.call("names", "states"):
            module, _, function = name.partition(".")
            found.setdefault(module, []).append(function)
    return __context__["pyobjects_states"]


def camel(module):
    """Return the name that the states of a module have: PostgresUser for postgres_user."""
    return "".join(part.capitalize() for part in module.split("_"))


class _Imports:
    """The import statements of files of the file server."""

    def __init__(self, names, saltenv):
        self.names, self.saltenv = names, saltenv

    def resolve(self, text):
        """Return a text with pass in place of its imports, and the names that it then finds."""
        names, lines = dict(self.names), []
        for line in text.splitlines():
            found = _IMPORT.match(line) or _FROM.match(line)
            if found is None:
                lines.append(line)
                continue
            lines.append(found.group(1) + "pass")
            path, given = self._run(found.group(2).strip())
            if found.re is _IMPORT:
                name = os.path.splitext(os.path.basename(path))[0]
                names[name] = PyobjectsModule(name, given)
                continue
            for name in found.group(3).split(","):
                name = alias = name.strip()
                renamed = _AS.match(name)
                if renamed is not None:
                    name, alias = (part.strip() for part in renamed.groups())
                if name not in given:
                    raise ImportError("'%s' was not found in '%s'" % (name, found.group(2).strip()))
                names[alias] = given[name]
        return "\n".join(lines), names

    def _run(self, url):
        """Return the path of an imported file and the names that it has after it ran."""
        from salt import _brine

        path = _brine.call("template_file", url, self.saltenv)
        if not path:
            raise ImportError("Could not find the file '%s'" % url)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if "logging" in text:
            _brine.worker().follow_logging()
        text, names = self.resolve(text)
        exec(text, names)
        return path, names
