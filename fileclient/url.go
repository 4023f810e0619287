package fileclient

import (
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

const saltScheme = "salt://"

// ParseURL returns the path of a salt:// URL and the environment that its ?saltenv= names, or "".
// ok is false for other URLs. The path may begin with |, which marks the rest as a plain path that
// is not parsed (salt/utils/url.py, parse).
func ParseURL(url string) (path, env string, ok bool) {
	path, ok = strings.CutPrefix(url, saltScheme)
	if !ok {
		return url, "", false
	}
	// ?env= is the older form of ?saltenv=; its value is ignored
	if before, _, found := strings.Cut(path, "?env="); found {
		path = before
	} else {
		path, env, _ = strings.Cut(path, "?saltenv=")
	}
	return sanitize(path), env, true
}

// SaltURL returns the salt:// URL of a path on the file server (salt/utils/url.py, create).
func SaltURL(path string) string {
	path = sanitize(strings.ReplaceAll(path, `\`, "/"))
	return saltScheme + strings.TrimPrefix(path, "/")
}

// SplitEnv splits a salt:// URL into the URL without its ?saltenv= and that environment. It returns
// other URLs unchanged (salt/utils/url.py, split_env).
func SplitEnv(url string) (bare, env string) {
	path, env, ok := ParseURL(url)
	if !ok {
		return url, ""
	}
	return SaltURL(path), env
}

// Scheme returns the scheme of a URL in lower case, or "" for a path.
func Scheme(url string) string { return parse(url).scheme }

// escaped reports whether a path begins with |, which ends the parsing of URLs.
func escaped(path string) bool { return parse(path).scheme == "" && strings.HasPrefix(path, "|") }

// sanitize replaces characters that file names on Windows cannot contain.
func sanitize(path string) string {
	if runtime.GOOS != "windows" {
		return path
	}
	return windowsSigns.Replace(path)
}

var windowsSigns = strings.NewReplacer("<", "_", ">", "_", ":", "_", "|", "_", "?", "_", "*", "_")

// isDrive reports whether what stands before the colon of a path is a drive of Windows.
func isDrive(scheme string) bool { return runtime.GOOS == "windows" && len(scheme) == 1 }

// A parts is a URL split as Python's urlparse does.
type parts struct{ scheme, netloc, path, params, query, fragment string }

var schemeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// parse splits a URL into its parts. It accepts any text.
func parse(url string) (p parts) {
	url = strings.TrimLeftFunc(url, func(r rune) bool { return r <= ' ' })
	url = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(url)
	if scheme, rest, ok := strings.Cut(url, ":"); ok && schemeForm.MatchString(scheme) &&
		!isDrive(scheme) {
		p.scheme, url = strings.ToLower(scheme), rest
	}
	if rest, ok := strings.CutPrefix(url, "//"); ok {
		i := strings.IndexAny(rest, "/?#")
		if i < 0 {
			i = len(rest)
		}
		p.netloc, url = rest[:i], rest[i:]
	}
	url, p.fragment, _ = strings.Cut(url, "#")
	p.path, p.query, _ = strings.Cut(url, "?")
	if takesParams(p.scheme) {
		p.path, p.params = splitParams(p.path)
	}
	return p
}

// takesParams reports whether a scheme has parameters after a semicolon, as far as files are
// concerned.
func takesParams(scheme string) bool {
	switch scheme {
	case "", "ftp", "http", "https", "sftp":
		return true
	}
	return false
}

// splitParams cuts a path at the first semicolon of its last part.
func splitParams(path string) (bare, params string) {
	last := strings.LastIndexByte(path, '/') + 1
	i := strings.IndexByte(path[last:], ';')
	if i < 0 {
		return path, ""
	}
	return path[:last+i], path[last+i+1:]
}

// port reports whether the server's address has a port.
func (p parts) port() bool {
	address := p.netloc[strings.LastIndexByte(p.netloc, '@')+1:]
	_, port, _ := strings.Cut(address[strings.LastIndexByte(address, ']')+1:], ":")
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// host returns the netloc without user and password.
func (p parts) host() string { return sanitize(p.netloc[strings.LastIndexByte(p.netloc, '@')+1:]) }
