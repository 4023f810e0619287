"""The renderer pydsl: SLS files in Python whose states are chains of attributes.

    #!pydsl

    state("/etc/motd").file.managed(contents="Welcome")

An included file is one of the data's: include returns no module of it.
"""

import types

from salt.exceptions import SaltRenderError
from salt.utils.pydsl import PyDslError, Sls


def render(template, saltenv="base", sls="", tmplpath=None, rendered_sls=None, **kws):
    """Return the states of a file."""
    states = Sls(sls, saltenv, rendered_sls)
    module = types.ModuleType(sls)
    module.__dict__.update(
        __pydsl__=states, include=_innermost("include"), extend=_innermost("extend"),
        state=_innermost("state"), __salt__=__salt__, __grains__=__grains__, __opts__=__opts__,
        __pillar__=__pillar__, __env__=saltenv, __sls__=sls, __file__=tmplpath, **kws)
    stack = Sls.get_render_stack()
    stack.append(states)
    try:
        exec(template.read(), module.__dict__)
        return states.to_highstate(repr(module))  # Salt keeps the module itself in the data
    finally:
        stack.pop()


def _innermost(name):
    """Return a method of the file that is being rendered."""

    def call(*args, **kws):
        try:
            return getattr(Sls.get_render_stack()[-1], name)(*args, **kws)
        except PyDslError as exc:
            raise SaltRenderError(exc) from exc

    return call
