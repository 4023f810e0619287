"""Options of returners, as salt.returners finds them. Its modules are Brine's returners."""


def get_returner_options(virtualname=None, ret=None, attrs=None, **kwargs):
    """Return the options of a returner: {name: value} for attrs, which is {name: option}.

    They are VIRTUALNAME.OPTION of the configuration, or ALTERNATIVE.VIRTUALNAME.OPTION if the job
    was sent with --return_config ALTERNATIVE, then those of --return_kwargs. What is empty is not
    returned, unless defaults has it. Keywords: __salt__, __opts__, defaults, profile_attr,
    profile_attrs.
    """
    ret, attrs, defaults = ret or {}, attrs or {}, kwargs.get("defaults") or {}
    salt, opts = kwargs.get("__salt__", {}), kwargs.get("__opts__", {})
    ask = salt.get("config.option", None) if hasattr(salt, "get") else None
    get = ask if callable(ask) else opts.get
    chosen = str(ret.get("ret_config") or "")
    found = {}
    for name, option in attrs.items():
        value = _option(get, virtualname, option, chosen)
        if value:
            found[name] = value
        elif name in defaults:
            found[name] = defaults[name]
    profile = found.get(kwargs.get("profile_attr"))
    if profile:
        section = get(profile)
        if isinstance(section, dict):
            for name, option in (kwargs.get("profile_attrs") or {}).items():
                found[name] = section.get("%s.%s" % (virtualname, option))
    found.update(ret.get("ret_kwargs") or {})
    return found


def _option(get, virtualname, option, chosen):
    """Return an option of a returner, or None."""
    for prefix in ([chosen + "."] if chosen else []) + [""]:
        section = get("%s%s" % (prefix, virtualname))
        if isinstance(section, dict) and option in section:
            return section[option]
        value = get("%s%s.%s" % (prefix, virtualname, option))
        if value:
            return value
    return None
