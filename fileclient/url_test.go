package fileclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A urlCase is a URL with the results of Salt 3006.0 (salt.utils.url, salt.fileclient.Client with
// the cachedir /var/cache/salt/minion).
type urlCase struct {
	URL                 string
	Parsed              [6]string  // urllib.parse.urlparse
	Parse, Split        [2]*string // path or URL, saltenv
	Create              string     // of the path
	Escaped             bool
	Dest_base, Dest_dev string //nolint:revive // names of the file
	Extern_base         string //nolint:revive
	Extern_dev          string //nolint:revive
}

func urlCases(t *testing.T) []urlCase {
	t.Helper()
	body, err := os.ReadFile("testdata/urls.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []urlCase
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestURLsAreParsedAsBySalt(t *testing.T) {
	for _, tt := range urlCases(t) {
		p := parse(tt.URL)
		if got := [6]string{p.scheme, p.netloc, p.path, p.params, p.query, p.fragment}; got != tt.Parsed {
			t.Errorf("parse(%q) = %q, want %q", tt.URL, got, tt.Parsed)
		}
		if path, env, _ := ParseURL(tt.URL); path != deref(tt.Parse[0]) || env != deref(tt.Parse[1]) {
			t.Errorf("ParseURL(%q) = %q, %q, want %q, %q", tt.URL, path, env, deref(tt.Parse[0]),
				deref(tt.Parse[1]))
		}
		if url, env := SplitEnv(tt.URL); url != deref(tt.Split[0]) || env != deref(tt.Split[1]) {
			t.Errorf("SplitEnv(%q) = %q, %q, want %q, %q", tt.URL, url, env, deref(tt.Split[0]),
				deref(tt.Split[1]))
		}
		path, _, _ := ParseURL(tt.URL)
		if got := SaltURL(path); got != tt.Create {
			t.Errorf("SaltURL(%q) = %q, want %q", path, got, tt.Create)
		}
		if got := escaped(path); got != tt.Escaped {
			t.Errorf("escaped(%q) = %v", path, got)
		}
	}
}

// stricter are URLs for which Salt returns the path of a directory, or of another environment.
var stricter = []string{"salt://", "http://../x"}

// ported removes the colon of a server with a port, as 3006.18 does: the cases are from 3006.0.
func ported(path string) string {
	return strings.NewReplacer("/example.com:8080/", "/example.com8080/", "/[::1]:8443/",
		"/[1]8443/").Replace(path)
}

func TestCachePathsAreSalts(t *testing.T) {
	c := New(Options{CacheDir: "/var/cache/salt/minion"})
	for _, tt := range urlCases(t) {
		for env, want := range map[string]string{"base": tt.Dest_base, "dev": tt.Dest_dev} {
			got, err := c.CacheDest(tt.URL, env)
			if err != nil {
				got = "Invalid path"
			}
			if slices.Contains(stricter, tt.URL) {
				want = "Invalid path"
			}
			if want = ported(want); got != want {
				t.Errorf("CacheDest(%q, %s) = %q (%v), want %q", tt.URL, env, got, err, want)
			}
		}
		pl, err := externPlace(tt.URL, "base")
		got := c.path(pl)
		if err != nil {
			got = "Invalid path"
		}
		if slices.Contains(stricter, tt.URL) {
			tt.Extern_base = "Invalid path"
		}
		if tt.Extern_base = ported(tt.Extern_base); got != tt.Extern_base {
			t.Errorf("externPlace(%q) = %q (%v), want %q", tt.URL, got, err, tt.Extern_base)
		}
	}
}

// FuzzCachePath checks that no URL and no environment leads out of the cache (CVE-2021-21996).
func FuzzCachePath(f *testing.F) {
	for _, url := range []string{"http://../..//x", "http://../../../etc/passwd", "salt://../../x",
		"salt://|../x?saltenv=../..", "https://h/%2e%2e/../../x",
		"http://h?../../..", "ftp://@../x", "http://h\\..\\..\\x", "salt://a/../../b?saltenv=..",
		"//../x", "|../../x", "file://../x"} {
		f.Add(url, "base")
		f.Add(url, "..")
		f.Add(url, "../../etc")
	}
	f.Fuzz(func(t *testing.T, url, env string) {
		dir := t.TempDir()
		c := New(Options{CacheDir: dir})
		places := []place{}
		file, _, _ := ParseURL(url)
		for _, get := range []func() (place, error){
			func() (place, error) { return externPlace(url, env) },
			func() (place, error) { return saltPlace(env, file) },
			func() (place, error) { return localPlace(file) },
		} {
			if pl, err := get(); err == nil {
				places = append(places, pl)
			}
		}
		for _, pl := range places {
			path := c.path(pl)
			if rel, err := filepath.Rel(filepath.Join(dir, pl.area), path); err != nil ||
				!filepath.IsLocal(rel) || rel == "." {
				t.Errorf("URL %q in env %q is cached at %q", url, env, path)
			}
			if strings.Contains(path, partialDir+"/") && strings.HasPrefix(pl.rel, partialDir) {
				t.Errorf("URL %q in env %q is cached among partial files", url, env)
			}
		}
		if dest, err := c.CacheDest(url, env); err == nil && parse(url).scheme != "" &&
			!strings.HasPrefix(dest, dir+string(filepath.Separator)) {
			t.Errorf("CacheDest(%q, %q) = %q", url, env, dest)
		}
	})
}
