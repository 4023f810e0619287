"""Results of states, as salt.utils.state handles them."""

_DEFAULT = object()


def gen_tag(low):
    """Return the key of a state's result."""
    return "_|-".join([low["state"], low["__id__"], low["name"], low["fun"]])


def search_onfail_requisites(sid, highstate):
    """Return the onfail requisites of a state as (id, requisite)."""
    found = []
    if "_|-" in sid:
        kind, name, _, function = sid.split("_|-")
    else:
        kind, name, function = None, sid, None
    body = highstate.get(name, {}) if isinstance(highstate, dict) else {}
    for states in ([body.get(kind)] if kind else body.values()):
        for item in states if isinstance(states, list) else ():
            if isinstance(item, dict) and "onfail" in item:
                found += [(name, one) for one in item["onfail"]]
    return found


def check_onfail_requisites(state_id, state_result, running, highstate):
    """Report whether the onfail requisites of a failed state all succeeded; None without any."""
    if not highstate or state_result.get("result"):
        return None
    handled = None
    for other, body in highstate.items():
        if not isinstance(body, dict):
            continue
        for states in body.values():
            for item in states if isinstance(states, list) else ():
                for one in item.get("onfail", ()) if isinstance(item, dict) else ():
                    if isinstance(one, dict) and state_id.split("_|-")[1] in one.values():
                        results = [r.get("result") for tag, r in running.items()
                                   if tag.split("_|-")[1:2] == [other]]
                        handled = bool(results) and all(results)
                        if not handled:
                            return False
    return handled


def check_result(running, recurse=False, highstate=None):
    """Report whether no state of a run failed."""
    if not isinstance(running, dict) or not running:
        return False
    good = True
    for tag, result in running.items():
        if not recurse and not isinstance(result, dict):
            good = False
        if good and isinstance(result, dict):
            value = result.get("result", _DEFAULT)
            if value is False:
                good = False
            elif value is _DEFAULT:
                good = check_result(result, True, highstate)
        if not good and highstate and isinstance(result, dict):
            handled = check_onfail_requisites(tag, result, running, highstate)
            if handled is not None:
                good = handled
        if not good:
            return False
    return good


def merge_subreturn(original_return, sub_return, subkey=None):
    """Merge the result of a state into that of another one, which is returned."""
    if not subkey:
        subkey = sub_return["name"]
    if sub_return["result"] is False:
        original_return["result"] = False
    text, comment = original_return["comment"], sub_return["comment"]
    if isinstance(text, list):
        original_return["comment"] = text + (comment if isinstance(comment, list) else [comment])
    else:
        if isinstance(comment, list):
            comment = "\n".join(comment)
        original_return["comment"] = "\n".join([text, comment]) if text else comment
    if sub_return["changes"]:
        original_return.setdefault("changes", {})[subkey] = sub_return["changes"]
    if sub_return.get("pchanges"):
        original_return.setdefault("pchanges", {})[subkey] = sub_return["pchanges"]
    return original_return


def get_sls_opts(opts, **kwargs):
    """Return a copy of the options with saltenv and pillarenv of a state run."""
    import copy

    made = copy.deepcopy(dict(opts))
    if "localconfig" in kwargs:
        from salt import config

        return config.minion_config(kwargs["localconfig"], defaults=made)
    if "saltenv" in kwargs:
        env = kwargs["saltenv"]
        if env is not None:
            if not isinstance(env, str):
                env = str(env)
            if made.get("lock_saltenv") and env != made.get("saltenv"):
                from salt.exceptions import CommandExecutionError

                raise CommandExecutionError("lock_saltenv is enabled, saltenv cannot be changed")
            made["saltenv"] = env
    pillarenv = None
    if kwargs.get("pillarenv") or made.get("pillarenv"):
        pillarenv = kwargs.get("pillarenv") or made.get("pillarenv")
    if pillarenv is None and made.get("pillarenv_from_saltenv"):
        made["pillarenv"] = made["saltenv"]
    elif pillarenv is not None or "pillarenv" in kwargs:
        made["pillarenv"] = pillarenv
    return made
