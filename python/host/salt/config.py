"""Options of the daemons, as salt.config reads them.

The options of the daemon that runs the plug-in are those it has; other files are read by Brine, or
where it cannot, as plain YAML with a few defaults.
"""

import os

_COMMON = {
    "conf_file": "", "root_dir": "/", "sock_dir": "/var/run/salt", "cachedir": "/var/cache/salt",
    "pki_dir": "/etc/salt/pki", "user": "root", "log_level": "warning", "file_roots":
    {"base": ["/srv/salt", "/srv/spm/salt"]}, "pillar_roots": {"base": ["/srv/pillar",
    "/srv/spm/pillar"]}, "file_client": "remote", "renderer": "jinja|yaml", "transport": "zeromq",
    "state_top": "top.sls", "test": False, "hash_type": "sha256", "ipv6": None, "master_port":
    4506, "publish_port": 4505, "saltenv": None, "pillarenv": None, "fileserver_backend":
    ["roots"], "extension_modules": "", "default_include": "", "grains": {}, "pillar": {},
    "lock_saltenv": False, "pillarenv_from_saltenv": False, "failhard": False, "verify_ssl": True,
    "decrypt_pillar_delimiter": ":", "http_request_timeout": 3600.0, "utils_dirs": [],
    "renderer_blacklist": [], "renderer_whitelist": [], "cache": "localfs", "id": "",
}
DEFAULT_MINION_OPTS = dict(
    _COMMON, conf_file="/etc/salt/minion", master="salt", id="", pidfile="/var/run/salt-minion.pid",
    cachedir="/var/cache/salt/minion", pki_dir="/etc/salt/pki/minion", log_file=
    "/var/log/salt/minion", extension_modules="/var/cache/salt/minion/extmods", default_include=
    "minion.d/*.conf", __role="minion", multiprocessing=True, mine_functions={}, startup_states="",
    sls_list=[], top_file="", grains_dirs=[], module_dirs=[], states_dirs=[], beacons={},
    schedule={}, return_retry_timer=5, master_type="str", master_alive_interval=0, auth_timeout=5,
    acceptance_wait_time=10, state_verbose=True, state_output="full", tcp_keepalive=True,
)
DEFAULT_MASTER_OPTS = dict(
    _COMMON, conf_file="/etc/salt/master", interface="0.0.0.0", ret_port=4506,
    cachedir="/var/cache/salt/master", pki_dir="/etc/salt/pki/master", log_file=
    "/var/log/salt/master", extension_modules="/var/cache/salt/master/extmods", default_include=
    "master.d/*.conf", __role="master", timeout=5, gather_job_timeout=10, keep_jobs=24,
    job_cache=True, auto_accept=False, open_mode=False, nodegroups={}, external_auth={},
    token_dir="/var/cache/salt/master/tokens", worker_threads=5, runner_dirs=[], outputter_dirs=[],
    ext_pillar=[], pidfile="/var/run/salt-master.pid", fileserver_limit_traversal=False,
)
DEFAULT_PROXY_MINION_OPTS = dict(
    DEFAULT_MINION_OPTS, conf_file="/etc/salt/proxy", log_file="/var/log/salt/proxy")
DEFAULT_API_OPTS = {"api_pidfile": "/var/run/salt-api.pid", "api_logfile": "/var/log/salt/api",
                    "rest_timeout": 300}


def _read_conf_file(path):
    """Return the options of one file; {} if it is empty."""
    from salt.exceptions import SaltConfigurationError
    from salt.utils import yaml

    with open(path, encoding="utf-8") as file:
        try:
            found = yaml.safe_load(file) or {}
        except yaml.YAMLError as exc:
            raise SaltConfigurationError(
                "Error parsing configuration file: %s - %s" % (path, exc)) from exc
    if not isinstance(found, dict):
        raise SaltConfigurationError(
            "Error parsing configuration file: %s - conf should be a document, not %s."
            % (path, type(found)))
    if "id" in found and not isinstance(found["id"], str):
        found["id"] = str(found["id"])
    return found


def load_config(path, env_var, default_path=None, exit_on_config_errors=True):
    """Return the options of a file, or of that which an environment variable names."""
    named = os.environ.get(env_var)
    if named and (path is None or path == default_path or not os.path.exists(path)):
        path = named
    path = path or default_path
    if not path or not os.path.isfile(path):
        return {}
    found = _read_conf_file(path)
    found["conf_file"] = path
    return found


def include_config(include, orig_path, verbose, exit_on_config_errors=False):
    """Return the options of the files that patterns match, relative to the file orig_path."""
    import glob

    from salt.exceptions import SaltConfigurationError

    if not include or orig_path is None:
        return {}
    found = {}
    for pattern in [include] if isinstance(include, str) else include:
        path = os.path.expanduser(pattern)
        if not os.path.isabs(path):
            path = os.path.join(os.path.dirname(orig_path), path)
        for file in sorted(glob.glob(path)):
            try:
                inner = _read_conf_file(file)
            except SaltConfigurationError:
                if exit_on_config_errors:
                    raise
                continue
            more = inner.get("include", [])
            if more:
                inner.update(include_config(more, file, verbose))
            from salt.utils import dictupdate

            dictupdate.update(found, inner, True, True)
    return found


def _running(path, roles):
    """Return a copy of the options of this daemon if path is its file, else None."""
    from salt import _brine

    if not _brine.running():
        return None
    opts = _brine.opts()
    role = opts.get("__role", "minion")
    own = opts.get("conf_file")
    same = own and path and os.path.abspath(str(path)) == os.path.abspath(str(own))
    near = path and own and os.path.basename(str(path)) == role and not os.path.exists(str(path))
    if role in roles and (path is None or same or near):
        import copy

        return copy.deepcopy(dict(opts))
    return None


def _options(role, roles, path, env_var, defaults, own_defaults):
    if defaults is None:
        found = _running(path, roles)
        if found is None:
            from salt import _brine

            if _brine.running():
                found = _brine.call("configuration", role, str(path or ""))
        if found is not None:
            return dict(found)
    import copy

    opts = copy.deepcopy(dict(own_defaults if defaults is None else defaults))
    read = load_config(path, env_var, own_defaults["conf_file"])
    from salt.utils import dictupdate

    place = read.get("conf_file") or path
    for include in (read.get("default_include", opts.get("default_include")),
                    read.get("include", [])):
        dictupdate.update(read, include_config(include, place, False), True, True)
    opts.update(read)
    opts["conf_file"] = place
    return opts


def minion_config(path, env_var="SALT_MINION_CONFIG", defaults=None, cache_minion_id=False,
                  ignore_config_errors=True, minion_id=None, role="minion"):
    """Return the options of a minion."""
    opts = _options("minion", ("minion", "proxy"), path, env_var, defaults, DEFAULT_MINION_OPTS)
    opts.setdefault("__role", role)
    if minion_id:
        opts["id"] = minion_id
    if not opts.get("id"):
        opts["id"] = get_id(opts)[0]
    return opts


def proxy_config(path, env_var="SALT_PROXY_CONFIG", defaults=None, cache_minion_id=False,
                 ignore_config_errors=True, minion_id=None):
    """Return the options of a proxy minion."""
    opts = _options("proxy", ("proxy", "minion"), path, env_var, defaults,
                    DEFAULT_PROXY_MINION_OPTS)
    if minion_id:
        opts["id"] = minion_id
    return opts


def master_config(path, env_var="SALT_MASTER_CONFIG", defaults=None,
                  exit_on_config_errors=False):
    """Return the options of a master."""
    opts = _options("master", ("master",), path, env_var, defaults, DEFAULT_MASTER_OPTS)
    opts.setdefault("__role", "master")
    return opts


def client_config(path, env_var="SALT_CLIENT_CONFIG", defaults=None):
    """Return the options of a client on the host of the master."""
    opts = _options("client", ("master",), path, env_var, defaults, DEFAULT_MASTER_OPTS)
    opts.setdefault("token_file", os.path.expanduser("~/.salt_token"))
    return opts


def syndic_config(master_config_path, minion_config_path, master_env_var="SALT_MASTER_CONFIG",
                  minion_env_var="SALT_MINION_CONFIG", minion_defaults=None,
                  master_defaults=None):
    """Return the options of a syndic."""
    opts = minion_config(minion_config_path, minion_env_var, minion_defaults)
    opts.update(master_config(master_config_path, master_env_var, master_defaults))
    return opts


def mminion_config(path, overrides, ignore_config_errors=True):
    """Return the options of a minion on the host of the master, with some of the caller's."""
    opts = minion_config(path)
    opts.update(overrides)
    return opts


def apply_minion_config(overrides=None, defaults=None, cache_minion_id=False, minion_id=None):
    """Return the default options of a minion with some of the caller's."""
    import copy

    opts = copy.deepcopy(dict(defaults or DEFAULT_MINION_OPTS))
    opts.update(overrides or {})
    if minion_id:
        opts["id"] = minion_id
    return opts


def apply_master_config(overrides=None, defaults=None):
    """Return the default options of a master with some of the caller's."""
    import copy

    opts = copy.deepcopy(dict(defaults or DEFAULT_MASTER_OPTS))
    opts.update(overrides or {})
    return opts


def prepend_root_dir(opts, path_options):
    """Put root_dir before the paths of some options."""
    root = os.path.abspath(opts["root_dir"])
    for name in path_options:
        path = opts.get(name)
        if isinstance(path, str) and path and not path.startswith(root.rstrip("/") + "/"):
            opts[name] = os.path.join(root, path.lstrip("/"))


def get_id(opts, cache_minion_id=False):
    """Return the name of the minion and whether it is an address."""
    from salt import _brine

    if opts.get("id"):
        return opts["id"], False
    if _brine.running() and _brine.opts().get("id"):
        return _brine.opts()["id"], False
    from salt.utils import network

    return network.generate_minion_id(), False


def get_cloud_config_value(name, vm_, opts, default=None, search_global=True):
    """Return an option of a machine of a cloud."""
    for source in (vm_, opts if search_global else {}):
        if source and source.get(name) is not None:
            return source[name]
    return default
