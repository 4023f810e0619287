package mirror

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxAddress is in bytes.
const maxAddress = 4096

// An address is the location of a repository.
type address struct {
	scheme string // http, https, ssh, git, file
	remote string // the address for git: without a password
	show   string // the address for logs
	site   string // of http and https: the part that a password applies to
	user   string // of http and https
	secret string
}

// parseAddress parses the address of a repository. The error does not show a rejected address,
// since it may hold a password.
func parseAddress(s string) (address, error) {
	if s == "" || len(s) > maxAddress || !utf8.ValidString(s) ||
		strings.ContainsFunc(s, unicode.IsControl) {
		return address{}, errors.New("the address of a git repository is empty, too long or not plain text")
	}
	scheme, _, full := strings.Cut(s, "://")
	switch {
	case strings.HasPrefix(s, "-"):
		return address{}, errors.New("the address of a git repository begins with -, as an option does")
	case helper().MatchString(s):
		return address{}, errors.New("the address of a git repository names a helper program (NAME::), which is not run")
	case full:
		return parseURL(strings.ToLower(scheme), s)
	case filepath.IsAbs(s):
		return address{scheme: "file", remote: s, show: s}, nil
	}
	return parseSCP(s)
}

func helper() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9+.-]+::`) }

func parseURL(scheme, s string) (address, error) {
	u, err := url.Parse(s)
	if err != nil {
		// the error of package url contains the whole address
		return address{}, fmt.Errorf("the address of a git repository (%.8q…) is not a URL",
			scheme+"://")
	}
	a := address{scheme: scheme}
	host := u.Hostname()
	switch {
	case scheme == "file":
		if u.Host != "" && u.Host != "localhost" || !path.IsAbs(u.Path) || u.User != nil {
			return a, errors.New("file:// needs an absolute path and no host")
		}
		a.remote, a.show = s, s
		return a, nil
	case scheme != "http" && scheme != "https" && scheme != "ssh" && scheme != "git":
		return a, fmt.Errorf("Unsupported transport '%.20s'", scheme) //nolint:staticcheck // Salt's text
	case host == "" || strings.HasPrefix(host, "-") || strings.ContainsFunc(host, notInHostName) ||
		u.Fragment != "":
		return a, fmt.Errorf("%s:// needs a host and no fragment", scheme)
	case strings.HasPrefix(u.User.Username(), "-"):
		return a, fmt.Errorf("the user of a %s:// address begins with -", scheme)
	}
	password, _ := u.User.Password()
	if scheme == "http" || scheme == "https" {
		a.user, a.secret = u.User.Username(), password
		u.User = nil
		a.site = scheme + "://" + u.Host + "/"
	} else if password != "" {
		return a, fmt.Errorf("%s:// does not accept a password in its address", scheme)
	}
	a.remote = u.String()
	a.show = a.remote
	return a, nil
}

// notInHostName reports whether a character never occurs in a host name.
func notInHostName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".-_:", r)
}

// parseSCP parses USER@HOST:PATH.
func parseSCP(s string) (address, error) {
	before, at, ok := strings.Cut(s, ":")
	user, host, named := strings.Cut(before, "@")
	if !named {
		user, host = "", before
	}
	if !ok || host == "" || at == "" || strings.ContainsAny(before, "/\\ ") ||
		strings.HasPrefix(user, "-") || strings.HasPrefix(host, "-") ||
		strings.HasPrefix(at, "-") || strings.ContainsFunc(host, notInHostName) {
		return address{}, errors.New("not an address of a git repository (URL, USER@HOST:PATH or absolute path)")
	}
	return address{scheme: "ssh", remote: s, show: s}, nil
}

// checkAuth completes the authentication options, and rejects combinations that cannot work
// (salt/utils/gitfs.py, Pygit2.verify_auth).
func (a address) checkAuth(o *Options) error {
	switch a.scheme {
	case "http", "https":
		if a.user != "" || a.secret != "" {
			o.User, o.Password = a.user, a.secret
			return nil
		}
		if (o.User == "") != (o.Password == "") {
			return errors.New("user and password must both be set")
		}
		if o.User != "" && a.scheme == "http" && !o.InsecureAuth {
			return errors.New("a password over http can be read on the network: use https, or set insecure_auth")
		}
		if strings.ContainsAny(o.User, ":\r\n") || strings.ContainsAny(o.Password, "\r\n") {
			return errors.New("user and password must be one line each, and user must not contain a colon")
		}
	case "ssh":
		if o.PrivKey == "" {
			return nil
		}
		if !filepath.IsAbs(o.PrivKey) || strings.ContainsAny(o.PrivKey, "%\n\x00") {
			return errors.New("privkey must be an absolute path")
		}
	}
	return nil
}
