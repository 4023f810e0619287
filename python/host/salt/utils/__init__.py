"""Salt's utilities. The names that salt.utils itself had before Salt 2019 are here as well."""

# The modules of today's names, each with names that salt.utils had; OLD:NEW where they differ.
_OLD = {
    "args": "arg_lookup argspec_report clean_kwargs format_call invalid_kwargs shlex_split "
            "test_mode yamlify_arg split_input",
    "data": "compare_dicts compare_lists decode_dict decode_list encode_dict "
            "exactly_n exactly_one filter_by is_dictlist is_iter is_list is_true "
            "isorted:sorted_ignorecase mysql_to_dict repack_dictlist simple_types_filter "
            "subdict_match substr_in_list "
            "traverse_dict traverse_dict_and_list",
    "doc": "parse_docstring",
    "files": "backup_minion fopen flopen fpopen human_size_to_bytes is_bin_file:is_binary is_empty "
             "is_fcntl_available istextfile:is_text list_files mkstemp normalize_mode rm_rf "
             "safe_rm safe_filename_leaf safe_filepath safe_walk set_umask st_mode_to_octal "
             "copyfile remove TEMPFILE_PREFIX",
    "functools": "namespaced_function alias_function",
    "hashutils": "get_hash sha256_digest md5_digest",
    "itertools": "fnmatch_multiple",
    "jid": "gen_jid is_jid jid_to_time",
    "json": "find_json import_json",
    "network": "gen_mac ip_bracket mac_str_to_bytes refresh_dns",
    "path": "check_or_die path_join:join readlink sanitize_win_path_string:sanitize_win_path "
            "which which_bin safe_path",
    "platform": "is_aix is_darwin is_freebsd is_linux is_netbsd is_openbsd is_proxy is_smartos "
                "is_smartos_globalzone is_smartos_zone is_sunos is_windows",
    "state": "check_state_result:check_result gen_state_tag:gen_tag get_sls_opts",
    "stringutils": "build_whitespace_split_regex camel_to_snake_case check_include_exclude "
                   "check_whitelist_blacklist contains_whitespace dequote expr_match get_context "
                   "human_to_bytes is_hex is_quoted print_cli rand_string:random rand_str:random "
                   "snake_to_camel_case str_to_num:to_num to_bytes to_none to_str to_unicode",
    "user": "chugid chugid_and_umask get_default_group get_gid get_gid_list get_group_dict "
            "get_group_list get_specific_user get_uid get_user",
    "versions": "compare_versions:compare kwargs_warn_until version_cmp warn_until",
    "decorators": "memoize timing",
    "odict": "OrderedDict",
}


def __getattr__(name):
    if name[:1] != "_":
        for module, names in _OLD.items():
            for pair in names.split():
                old, _, new = pair.partition(":")
                if old == name:
                    full = __name__ + "." + module
                    __import__(full)
                    import sys

                    value = getattr(sys.modules[full], new or old)
                    globals()[name] = value
                    return value
    from salt import missing

    return missing(__name__, name)


def required_modules_error(name, docstring):
    """Return the text that names the modules a plug-in needs, from its docstring."""
    from salt.utils import doc

    deps = doc.parse_docstring(docstring).get("deps")
    if not deps:
        return ""
    return "'%s' requires these python modules: %s" % (name, ", ".join(deps))


def option(value, default="", opts=None, pillar=None):
    """Return an option, also from the pillar, at a path like a:b."""
    from salt.utils import data

    for source in (opts or {}, (pillar or {}).get("master", {}), pillar or {}):
        found = data.traverse_dict_and_list(source, value, None)
        if found is not None:
            return found
    return default


def get_colors(use=True, theme=None):
    """Return the colours of the terminal by name; empty texts with use False."""
    names = {
        "BLACK": "30", "DARK_GRAY": "1;30", "RED": "31", "LIGHT_RED": "31;1", "GREEN": "32",
        "LIGHT_GREEN": "32;1", "YELLOW": "33", "LIGHT_YELLOW": "33;1", "BLUE": "34",
        "LIGHT_BLUE": "34;1", "MAGENTA": "35", "LIGHT_MAGENTA": "35;1", "CYAN": "36",
        "LIGHT_CYAN": "36;1", "LIGHT_GRAY": "37", "WHITE": "37;1", "DEFAULT_COLOR": "00",
        "ENDC": "0",
    }
    return {name: "\033[%sm" % code if use else "" for name, code in names.items()}


def date_cast(date):
    """Return a date and time from what stands for one: a number, text or itself."""
    import datetime

    if date is None:
        return datetime.datetime.now()
    if isinstance(date, datetime.datetime):
        return date
    try:
        return datetime.datetime.fromtimestamp(float(date))
    except ValueError:
        pass
    from salt.utils import jid

    if jid.is_jid(date):
        return datetime.datetime.strptime(date[:20], "%Y%m%d%H%M%S%f")
    return datetime.datetime.fromisoformat(date)


def date_format(date=None, format="%Y-%m-%d"):
    """Return a date and time as text."""
    return date_cast(date).strftime(format)
