"""The renderer mako: templates of Mako, a library that the host's Python must have."""

import io


def render(template_file, saltenv="base", sls="", context=None, tmplpath=None, **kws):
    """Return what a template renders to, as a file."""
    made = _made(template_file, saltenv=saltenv, sls=sls, context=context, tmplpath=tmplpath, **kws)
    return io.StringIO(made)


def render_file(template_file, saltenv="base", context=None, tmplpath=None):
    """Return the text of a file that is no SLS."""
    return _made(template_file, saltenv=saltenv, context=context)


def _made(template_file, **words):
    from salt.exceptions import SaltRenderError
    from salt.utils import templates

    made = templates.MAKO(template_file, to_str=True, salt=__salt__, grains=__grains__,
                          opts=__opts__, pillar=__pillar__, **words)
    if not made.get("result", False):
        raise SaltRenderError(made.get("data", "Unknown render error in mako renderer"))
    return made["data"]
