package fileclient

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/internal/paths"
)

// Directories of the cachedir.
const (
	areaFiles  = "files"
	areaExtern = "extrn_files"
	areaLocal  = "localfiles"
	// partialDir is the directory for incomplete files in each of these directories.
	partialDir = ".partial"
)

// maxName is the length in letters from which the path of a URL is replaced by its hash.
const maxName = 255

// A place is the location of a file in the cache: a directory of the cachedir and the path below
// it, with slashes.
type place struct{ area, rel string }

// saltPlace returns the place of a file of the file server.
func saltPlace(env, file string) (place, error) {
	return newPlace(areaFiles, env, strings.TrimLeft(file, "|/"))
}

// externPlace returns the place of the file of a URL (salt/fileclient.py, Client._extrn_path).
func externPlace(url, env string) (place, error) {
	p := parse(url)
	host, name := p.host(), p.path
	if p.port() {
		host = strings.ReplaceAll(host, ":", "") // as 3006.18 does; 3006.0 keeps it
	}
	if p.query != "" {
		name += "-" + p.query
	}
	pl, err := newPlace(areaExtern, env, path.Join(host, strings.TrimLeft(name, "/")))
	if dir := path.Join(env, host); err != nil || pl.rel != dir && !below(pl.rel, dir) {
		return place{}, fmt.Errorf("%w: %q", ErrPath, url)
	}
	if len([]rune(name)) > maxName {
		sum := sha256.Sum256([]byte(name))
		return newPlace(areaExtern, env, path.Join(host, hex.EncodeToString(sum[:])))
	}
	return pl, nil
}

// newPlace joins an environment and a path. The environment may have several parts, as branches do.
// Neither may lead out of its directory.
func newPlace(area, env, rel string) (place, error) {
	env, rel = path.Clean(env), path.Clean(rel)
	whole := path.Join(env, rel)
	if !localName(env) || !localName(rel) || !below(whole, env) {
		return place{}, fmt.Errorf("%w: %q in saltenv %q", ErrPath, rel, env)
	}
	return place{area, whole}, nil
}

// localName reports whether a clean relative path stays inside its directory.
func localName(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return name != "." && first != partialDir && !strings.ContainsRune(name, 0) &&
		filepath.IsLocal(filepath.FromSlash(name))
}

// below reports whether a clean path lies below a directory.
func below(name, folder string) bool { return strings.HasPrefix(name, folder+"/") }

// path returns the path of a place in the file system.
func (c *Client) path(p place) string {
	return filepath.Join(c.opts.CacheDir, p.area, filepath.FromSlash(p.rel))
}

// CacheDest returns the path where the file of a URL is, or would be, cached. A path that is not a
// URL is returned unchanged. The error wraps ErrPath (salt/fileclient.py, Client.cache_dest).
func (c *Client) CacheDest(url, env string) (string, error) {
	var pl place
	var err error
	switch parse(url).scheme {
	case "":
		return url, nil
	case "salt":
		file, own, _ := ParseURL(url)
		if own != "" {
			env = own
		}
		pl, err = saltPlace(env, file)
	default:
		pl, err = externPlace(url, env)
	}
	if err != nil {
		return "", err
	}
	return c.path(pl), nil
}

// IsCached returns the path where the file of a URL, or of a path, is cached, or "" if it is not
// cached (salt/fileclient.py, Client.is_cached).
func (c *Client) IsCached(url, env string) string {
	file, own, _ := ParseURL(url)
	if own != "" {
		env = own
	}
	sign := ""
	if escaped(file) {
		sign = "|"
	}
	bare := strings.TrimLeft(file, "|/")
	if pl, err := newPlace(areaFiles, env, bare); err == nil && paths.Exists(c.path(pl)) {
		return sign + c.path(pl)
	}
	if pl, err := localPlace(bare); err == nil && paths.Exists(c.path(pl)) {
		return sign + c.path(pl)
	}
	if pl, err := externPlace(file, env); err == nil && paths.Exists(c.path(pl)) {
		return c.path(pl)
	}
	return ""
}

// localPlace returns the place of a copy of the minion's own file.
func localPlace(file string) (place, error) {
	rel := path.Clean(strings.TrimLeft(filepath.ToSlash(file), "/"))
	if !localName(rel) {
		return place{}, fmt.Errorf("%w: %q", ErrPath, file)
	}
	return place{areaLocal, rel}, nil
}
