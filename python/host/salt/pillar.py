"""The pillar, as salt.pillar compiles it: by Brine."""


def get_pillar(opts, grains, minion_id, saltenv=None, ext=None, funcs=None, pillar_override=None,
               pillarenv=None, extra_minion_data=None, clean_cache=False):
    """Return an object whose compile_pillar() returns the pillar of a minion."""
    return Pillar(opts, grains, minion_id, saltenv, ext, funcs, pillar_override, pillarenv,
                  extra_minion_data)


class Pillar:
    """The pillar of a minion."""

    def __init__(self, opts, grains, minion_id, saltenv=None, ext=None, functions=None,
                 pillar_override=None, pillarenv=None, extra_minion_data=None):
        self.opts, self.grains, self.minion_id = opts, grains, minion_id
        self.saltenv, self.pillarenv = saltenv, pillarenv
        self.pillar_override = pillar_override

    def compile_pillar(self, ext=True):
        """Return the pillar, made anew."""
        from salt import _brine

        own = _brine.opts().get("id")
        same = self.minion_id in (None, "", own)
        return _brine.call("compile_pillar", "" if same else self.minion_id, self.saltenv,
                           self.pillarenv, self.pillar_override,
                           None if same else dict(self.grains or {}))

    def destroy(self):
        """End the use of the object."""


RemotePillar = Pillar


def get_async_pillar(*args, **kwargs):
    """Refuse: there is no loop for it."""
    from salt import WAY_OUT

    raise NotImplementedError(WAY_OUT % "salt.pillar.get_async_pillar")
