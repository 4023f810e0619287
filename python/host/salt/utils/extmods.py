"""Synchronisation of plug-ins, as salt.utils.extmods does it: by the functions saltutil.sync_*."""


def sync(opts, form, saltenv=None, extmod_whitelist=None, extmod_blacklist=None, force_local=False):
    """Fetch the plug-ins of a kind and return (changed, those of which the cache has others)."""
    from salt import _brine

    words = {"saltenv": saltenv, "extmod_whitelist": extmod_whitelist,
             "extmod_blacklist": extmod_blacklist}
    changed = _brine.functions("modules")["saltutil.sync_" + form](
        refresh=False, **{k: v for k, v in words.items() if v})
    return changed or [], bool(changed)
