package http

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/internal/atomicfile"
)

// A cookie is a cookie stored in a file.
type cookie struct {
	name, value  string
	domain, path string // a domain with a leading dot includes its hosts
	dotted       bool   // the server sent the leading dot
	pathGiven    bool
	secure       bool
	httpOnly     bool
	expires      int64  // in seconds since 1970; 0 for session cookies
	more         []pair // further attributes in lwp format
}

type pair struct {
	name  string
	value string
	bare  bool // it has no value
}

const (
	maxCookies = 3000
	maxJar     = 10 << 20 // bytes of a file
)

// A jar is a file of cookies. It implements http.CookieJar.
type jar struct {
	path    string
	mozilla bool // the format: Netscape's, otherwise libwww-perl's
	all     []cookie
	now     func() time.Time
}

var _ http.CookieJar = (*jar)(nil)

// openJar reads a cookie file. It creates the file if it does not exist.
func openJar(path string, mozilla bool) (*jar, error) {
	j := &jar{path: path, mozilla: mozilla, now: time.Now}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, j.save()
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := readAll(f, maxJar)
	if err != nil {
		return nil, fmt.Errorf("read cookies from %s: %w", path, err)
	}
	parse := parseLWP
	if mozilla {
		parse = parseMozilla
	}
	if j.all, err = parse(string(src)); err != nil {
		return nil, fmt.Errorf("read cookies from %s: %w", path, err)
	}
	return j, nil
}

// save writes the persistent cookies. Only the owner can read the file.
func (j *jar) save() error {
	now := j.now().Unix()
	lasting := slices.DeleteFunc(slices.Clone(j.all),
		func(c cookie) bool { return c.expires <= now })
	text := lwp(lasting)
	if j.mozilla {
		text = mozilla(lasting)
	}
	return atomicfile.Write(j.path, []byte(text), atomicfile.Options{Mode: 0o600, Keep: true})
}

// SetCookies stores the cookies of a response that its host may set.
func (j *jar) SetCookies(u *url.URL, set []*http.Cookie) {
	for _, one := range set {
		c, ok := j.accept(u, one)
		if !ok {
			continue
		}
		at := slices.IndexFunc(j.all, func(old cookie) bool { return old.name == c.name && old.domain == c.domain && old.path == c.path })
		switch gone := c.expires != 0 && c.expires <= j.now().Unix(); {
		case at >= 0 && gone:
			j.all = slices.Delete(j.all, at, at+1)
		case at >= 0:
			j.all[at] = c
		case !gone && len(j.all) < maxCookies:
			j.all = append(j.all, c)
		}
	}
}

// accept converts a cookie of a response, and reports whether it may be set.
func (j *jar) accept(u *url.URL, one *http.Cookie) (cookie, bool) {
	host := strings.ToLower(u.Hostname())
	c := cookie{name: one.Name, value: one.Value, domain: effective(host), path: one.Path,
		pathGiven: one.Path != "", secure: one.Secure, httpOnly: one.HttpOnly}
	if one.Domain != "" {
		bare := strings.ToLower(strings.TrimPrefix(one.Domain, "."))
		c.domain, c.dotted = "."+bare, strings.HasPrefix(one.Domain, ".")
		if net.ParseIP(host) != nil || !strings.Contains(bare, ".") || !belongs(host, c.domain) {
			return c, false
		}
	}
	if c.path == "" {
		c.path = "/"
		if i := strings.LastIndexByte(u.EscapedPath(), '/'); i > 0 {
			c.path = u.EscapedPath()[:i]
		}
	}
	switch {
	case one.MaxAge > 0:
		c.expires = j.now().Unix() + int64(one.MaxAge)
	case one.MaxAge < 0:
		c.expires = 1
	case !one.Expires.IsZero():
		c.expires = max(one.Expires.Unix(), 1)
	}
	return c, true
}

// effective returns the name of a host for cookies: .local is appended to a name without a dot.
func effective(host string) string {
	if strings.Contains(host, ".") || net.ParseIP(host) != nil {
		return host
	}
	return host + ".local"
}

// belongs reports whether a cookie of a domain applies to a host.
func belongs(host, domain string) bool {
	if strings.HasPrefix(domain, ".") {
		return host == domain[1:] || strings.HasSuffix(host, domain)
	}
	return effective(host) == domain
}

// Cookies returns the cookies for a request, those with the longest paths first.
func (j *jar) Cookies(u *url.URL) []*http.Cookie {
	host, path, now := strings.ToLower(u.Hostname()), cmp.Or(u.EscapedPath(), "/"), j.now().Unix()
	var fit []cookie
	for _, c := range j.all {
		below := path == c.path || strings.HasPrefix(path, strings.TrimSuffix(c.path, "/")+"/")
		if belongs(host, c.domain) && below && (c.expires == 0 || c.expires > now) &&
			(!c.secure || u.Scheme == "https") {
			fit = append(fit, c)
		}
	}
	slices.SortStableFunc(fit, func(a, b cookie) int { return cmp.Compare(len(b.path), len(a.path)) })
	out := make([]*http.Cookie, len(fit))
	for i, c := range fit {
		out[i] = &http.Cookie{Name: c.name, Value: c.value}
	}
	return out
}
