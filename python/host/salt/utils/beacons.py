"""Configurations of beacons."""


def list_to_dict(config):
    """Return a list of dictionaries as one."""
    made = {}
    for item in config:
        made.update(item)
    return made


def remove_hidden_options(config, whitelist):
    """Return a list of dictionaries without those whose keys begin with _, but for whitelist."""
    return [
        item for item in config
        if not (isinstance(item, dict)
                and any(str(k).startswith("_") and k not in whitelist for k in item))
    ]
