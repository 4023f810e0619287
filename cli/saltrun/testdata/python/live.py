"""A state that looks at its run."""


def seen(name):
    return {"name": name, "changes": {}, "result": True,
            "comment": "%s of %s" % (sorted(r["__id__"] for r in __running__.values()),
                                     [low["__id__"] for low in __lowstate__])}
