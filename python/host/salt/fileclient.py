"""The client of the file server, as salt.fileclient has it: over the functions cp.*."""

import os


def get_file_client(opts, pillar=False):
    """Return a client of the file server."""
    return Client(opts)


class Client:
    """Files of the file server: paths are salt://NAME, or URLs of other kinds."""

    def __init__(self, opts):
        self.opts = opts

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.destroy()

    def destroy(self):
        """End the use of the client."""

    @staticmethod
    def _cp(function, *args, **kwargs):
        from salt import _brine

        return _brine.functions("modules")["cp." + function](
            *args, **{k: v for k, v in kwargs.items() if v is not None})

    def _env(self, saltenv):
        return saltenv or (self.opts or {}).get("saltenv") or "base"

    def get_cachedir(self, cachedir=None):
        """Return the directory of cached files."""
        base = (self.opts or {}).get("cachedir", "/var/cache/salt/minion")
        if cachedir is None:
            return base
        return cachedir if os.path.isabs(cachedir) else os.path.join(base, cachedir)

    def get_file(self, path, dest="", makedirs=False, saltenv="base", gzip=None, cachedir=None):
        """Copy a file to dest, or to the cache, and return its path; "" if there is none."""
        if not dest:
            return self.cache_file(path, saltenv, cachedir)
        return self._cp("get_file", path, dest, saltenv=saltenv, makedirs=makedirs, gzip=gzip) or ""

    def get_dir(self, path, dest="", saltenv="base", gzip=None, cachedir=None):
        """Copy a directory and return the paths of its files."""
        if not dest:
            return self.cache_dir(path, saltenv, cachedir=cachedir)
        return self._cp("get_dir", path, dest, saltenv=saltenv, gzip=gzip) or []

    def get_url(self, url, dest, makedirs=False, saltenv="base", no_cache=False, cachedir=None,
                source_hash=None, verify_ssl=True, use_etag=False):
        """Copy what a URL stands for to dest; with no_cache and dest None, return its content."""
        if no_cache and dest is None:
            return self._cp("get_url", url, None, saltenv=saltenv)
        return self._cp("get_url", url, dest or "", saltenv=saltenv, makedirs=makedirs,
                        source_hash=source_hash) or ""

    def get_template(self, url, dest, template="jinja", makedirs=False, saltenv="base",
                     cachedir=None, **kwargs):
        """Render a file to dest and return its path."""
        return self._cp("get_template", url, dest, template=template, saltenv=saltenv,
                        makedirs=makedirs, **kwargs)

    def cache_file(self, path, saltenv="base", cachedir=None, source_hash=None, verify_ssl=True,
                   use_etag=False):
        """Copy a file to the cache and return its path; "" if there is none."""
        found = self._cp("cache_file", path, saltenv=self._env(saltenv), source_hash=source_hash)
        return self._moved(found, cachedir) if found else ""

    def _moved(self, found, cachedir):
        """Return the path of a cached file below another cache directory, where it is copied."""
        if not cachedir:
            return found
        import shutil

        base = (self.opts or {}).get("cachedir", "")
        relative = os.path.relpath(found, base) if base and found.startswith(base) else (
            found.lstrip("/"))
        target = os.path.join(self.get_cachedir(cachedir), relative)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(found, target)
        return target

    def cache_files(self, paths, saltenv="base", cachedir=None):
        """Copy files to the cache and return their paths."""
        paths = paths.split(",") if isinstance(paths, str) else paths
        return [self.cache_file(path, saltenv, cachedir) for path in paths]

    def cache_dir(self, path, saltenv="base", include_empty=False, include_pat=None,
                  exclude_pat=None, cachedir=None):
        """Copy a directory to the cache and return the paths of its files."""
        found = self._cp("cache_dir", path, saltenv=saltenv, include_empty=include_empty,
                         include_pat=include_pat, exclude_pat=exclude_pat) or []
        return [self._moved(one, cachedir) for one in found]

    def cache_master(self, saltenv="base", cachedir=None):
        """Copy all files to the cache and return their paths."""
        return self._cp("cache_master", saltenv=saltenv) or []

    def cache_local_file(self, path, **kwargs):
        """Copy a file of this host to the cache and return its path."""
        return self._cp("cache_local_file", path)

    def is_cached(self, path, saltenv="base", cachedir=None):
        """Return the path of a file in the cache; "" if it is not there."""
        return self._cp("is_cached", path, saltenv=saltenv) or ""

    def cache_dest(self, url, saltenv="base", cachedir=None):
        """Return the path that a file has, or would have, in the cache."""
        return self._cp("cache_dest", url, saltenv=saltenv)

    def file_list(self, saltenv="base", prefix=""):
        """Return the paths of all files."""
        return self._cp("list_master", saltenv=saltenv, prefix=prefix) or []

    def dir_list(self, saltenv="base", prefix=""):
        """Return the paths of all directories."""
        return self._cp("list_master_dirs", saltenv=saltenv, prefix=prefix) or []

    def symlink_list(self, saltenv="base", prefix=""):
        """Return where symbolic links lead, by their paths."""
        return self._cp("list_master_symlinks", saltenv=saltenv, prefix=prefix) or {}

    def file_list_emptydirs(self, saltenv="base", prefix=""):
        """Return the paths of directories without files."""
        files = self.file_list(saltenv, prefix)
        return [d for d in self.dir_list(saltenv, prefix)
                if not any(f.startswith(d + "/") for f in files)]

    def file_local_list(self, saltenv="base"):
        """Return the paths of all files in the cache."""
        return self._cp("list_minion", saltenv=saltenv) or []

    def list_states(self, saltenv):
        """Return the names of all SLS files."""
        return self._cp("list_states", saltenv=saltenv) or []

    def get_state(self, sls, saltenv, cachedir=None):
        """Cache an SLS file and return {"source": URL, "dest": path}; {} if there is none."""
        name = sls.replace(".", "/")
        for path in (name + ".sls", name + "/init.sls"):
            found = self.cache_file("salt://" + path, saltenv, cachedir)
            if found:
                return {"source": "salt://" + path, "dest": found}
        return {}

    def hash_file(self, path, saltenv="base"):
        """Return {"hsum": digest, "hash_type": ...} of a file; {} if there is none."""
        return self._cp("hash_file", path, saltenv=saltenv) or {}

    def hash_and_stat_file(self, path, saltenv="base"):
        """Return the digest of a file, and what os.stat says of it."""
        return self.hash_file(path, saltenv), self._cp("stat_file", path, saltenv=saltenv,
                                                      octal=False)

    def envs(self):
        """Return the names of the environments."""
        return self._cp("envs") or []

    def master_opts(self):
        """Return the options of the master that minions may see."""
        return dict(self.opts or {})


RemoteClient = LocalClient = FSClient = Client
