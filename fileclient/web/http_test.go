package web

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
)

// client returns a file client without a file server, with options of a minion.
func client(t *testing.T, pairs ...any) (*fileclient.Client, string) {
	t.Helper()
	dir := t.TempDir()
	return fileclient.New(fileclient.Options{CacheDir: dir, Fetchers: Fetchers(data.NewMap(pairs...))}), dir
}

func read(t *testing.T, file string) string {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestCacheFileOfAWebServer(t *testing.T) {
	hits := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits++
		if user, password, _ := r.BasicAuth(); user != "us" || password != "pa" {
			t.Errorf("user %q, password %q", user, password)
		}
		if !strings.HasPrefix(r.UserAgent(), "Salt/") || r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("headers %v", r.Header)
		}
		fmt.Fprint(w, "content ", r.URL.RawQuery)
	})
	c, dir := client(t)
	address := strings.Replace(s.URL, "http://", "http://us:pa@", 1) + "/a/b?q=1"
	want := filepath.Join(dir, "extrn_files",
		"dev", strings.ReplaceAll(strings.TrimPrefix(s.URL, "http://"), ":", ""), "a", "b-q=1")
	for range 2 {
		got, err := c.CacheFile(t.Context(), address, "dev", fileclient.Fetch{})
		if err != nil || got != want || read(t, got) != "content q=1" {
			t.Fatalf("CacheFile = %q, %v", got, err)
		}
	}
	if dest, err := c.CacheDest(address, "dev"); err != nil || dest != want ||
		c.IsCached(address, "dev") != want {
		t.Errorf("CacheDest = %q, %v; IsCached = %q", dest, err, c.IsCached(address, "dev"))
	}
	const sum = "7a0ed2a9ea7a42ccc47a47d4c28e7a6ab9c92f6ae1b53d0ed1cb8d2ca5b5c9a4"
	if _, err := c.CacheFile(t.Context(), address,
		"dev", fileclient.Fetch{SourceHash: "sha256=" + sum}); err != nil || hits != 3 {
		t.Errorf("a hash that differs: %v, %d requests", err, hits)
	}
	own, err := c.Hash(t.Context(), want, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, hash := range []string{own.Hex, "sha256=" + own.Hex} {
		if _, err := c.CacheFile(t.Context(), address,
			"dev", fileclient.Fetch{SourceHash: hash}); err != nil || hits != 3 {
			t.Errorf("the hash of the copy: %v, %d requests", err, hits)
		}
	}
}

func TestETag(t *testing.T) {
	tag, sent := `"v1"`, 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		sent++
		fmt.Fprint(w, "content ", tag)
	})
	c, _ := client(t)
	for i, tt := range []struct {
		tag  string
		use  bool
		sent int
	}{{`"v1"`, true, 1}, {`"v1"`, true, 1}, {`"v2"`, true, 2}, {`"v2"`, true, 2},
		{`"v2"`, false, 3}, {`"v2"`, true, 4}, {`"v2"`, true, 4}} {
		tag = tt.tag
		got, err := c.CacheFile(t.Context(), s.URL+"/f", "base", fileclient.Fetch{UseETag: tt.use})
		if err != nil || read(t, got) != "content "+tag || sent != tt.sent {
			t.Errorf("step %d: %q, %v, sent %d times", i, got, err, sent)
		}
	}
}

func TestErrorsOfAWebServer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/there":
			fmt.Fprint(w, "there")
		case "/cut":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "only this")
		case "/big":
			_, _ = w.Write(make([]byte, 2000))
		default:
			http.NotFound(w, r)
		}
	})
	c, dir := client(t, "http_max_body", int64(1000))
	secret := strings.Replace(s.URL, "http://", "http://us:SECRET@", 1)
	for path, want := range map[string]string{
		"/none": "Error: HTTP 404: Not Found reading /none",
		"/loop": "Error: HTTP 302: Found reading /loop",
		"/cut":  "Error: unexpected EOF reading /cut",
		"/big":  "Error: content is longer than the 1000 bytes of http_max_body reading /big",
	} {
		dest := filepath.Join(t.TempDir(), "f")
		_, err := c.GetURL(t.Context(), secret+path, dest, fileclient.GetURL{})
		var fetch *fileclient.FetchError
		if !errors.As(err, &fetch) || err.Error() != want {
			t.Errorf("GetURL(%s) = %v, want %s", path, err, want)
		}
		if _, err := c.CacheFile(t.Context(), secret+path,
			"base", fileclient.Fetch{}); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("CacheFile(%s) = %v", path, err)
		}
		if _, err := os.Lstat(dest); err == nil {
			t.Errorf("%s left a file", path)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "extrn_files", ".partial")); err != nil ||
		len(entries) > 0 {
		t.Errorf("%d partial files are left, %v", len(entries), err)
	}
	if got, err := c.CacheFile(t.Context(), s.URL+"/moved",
		"base", fileclient.Fetch{}); err != nil || read(t, got) != "there" {
		t.Errorf("a redirect: %q, %v", got, err)
	}
	s.Close()
	if _, err := c.CacheFile(t.Context(), secret+"/x", "base", fileclient.Fetch{}); err == nil ||
		err.Error() != "Error: [Errno 111] Connection refused reading /x" {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestContent(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", strings.TrimPrefix(r.URL.Path, "/"))
		fmt.Fprint(w, "body")
	})
	c, dir := client(t)
	for kind, want := range map[string]bool{"text/plain": true, "application/x": false} {
		body, isText, err := c.Content(t.Context(), s.URL+"/"+kind, "base", fileclient.Fetch{})
		if string(body) != "body" || isText != want || err != nil {
			t.Errorf("%s: %q, %v, %v", kind, body, isText, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "extrn_files")); err == nil {
		t.Error("it was cached")
	}
}

func TestNamesInFolders(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "x") })
	c, _ := client(t)
	for path, want := range map[string]string{"/": "index.html", "": "index.html",
		"/a/b.rpm": "b.rpm", "/a/?q=1": "?q=1", "/a/": "index.html"} {
		dir := t.TempDir()
		got, err := c.GetURL(t.Context(), s.URL+path, dir, fileclient.GetURL{})
		if err != nil || got != filepath.Join(dir, want) || read(t, got) != "x" {
			t.Errorf("GetURL(%s) = %q, %v", path, got, err)
		}
	}
	if _, err := c.GetURL(t.Context(), s.URL+"/a", filepath.Join(t.TempDir(), "no", "a"),
		fileclient.GetURL{}); !errors.Is(err, fileclient.ErrNoFolder) {
		t.Errorf("= %v", err)
	}
}

func TestCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "safe") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(bundle, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	get := func(f fileclient.Fetch, pairs ...any) error {
		c, _ := client(t, pairs...)
		_, err := c.CacheFile(t.Context(), s.URL+"/x", "base", f)
		return err
	}
	if err := get(fileclient.Fetch{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
	if err := get(fileclient.Fetch{}, "ca_bundle", bundle); err != nil {
		t.Errorf("ca_bundle: %v", err)
	}
	if err := get(fileclient.Fetch{Insecure: true}); err != nil {
		t.Errorf("without a look: %v", err)
	}
	if err := get(fileclient.Fetch{}, "verify_ssl", false); err != nil {
		t.Errorf("verify_ssl: %v", err)
	}
	if err := get(fileclient.Fetch{}, "ca_bundle", bundle+"no"); err == nil {
		t.Error("a ca_bundle that is missing is taken")
	}
}

func TestProxy(t *testing.T) {
	proxied := ""
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		proxied = r.URL.String() + " " + r.Header.Get("Proxy-Authorization")
		fmt.Fprint(w, "from the proxy")
	})
	u, _ := url.Parse(proxy.URL)
	port, _ := strconv.Atoi(u.Port())
	c, _ := client(t, "proxy_host", u.Hostname(), "proxy_port", int64(port), "proxy_username", "u",
		"proxy_password", "p", "no_proxy", []any{"127.0.0.9"})
	got, err := c.CacheFile(t.Context(), "http://example.invalid/x", "base", fileclient.Fetch{})
	if err != nil || read(t, got) != "from the proxy" || proxied != "http://example.invalid/x Basic dTpw" {
		t.Errorf("= %q, %v; the proxy was asked %q", got, err, proxied)
	}
	proxied = ""
	if _, err := c.CacheFile(t.Context(), "http://127.0.0.9:1/x",
		"base", fileclient.Fetch{}); err == nil || proxied != "" {
		t.Errorf("no_proxy: %v, the proxy was asked %q", err, proxied)
	}
}

func TestTimeAndContext(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	c, _ := client(t, "http_request_timeout", 0.05)
	if _, err := c.CacheFile(t.Context(), s.URL+"/x", "base", fileclient.Fetch{}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("http_request_timeout: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, _ = client(t)
	if _, err := c.CacheFile(ctx, s.URL+"/x", "base", fileclient.Fetch{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a job that ends: %v", err)
	}
}

// TestCVE2021_21996 fetches URLs that would lead out of the cache.
func TestCVE2021_21996(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "evil") })
	u, _ := url.Parse(s.URL)
	port, _ := strconv.Atoi(u.Port())
	// the proxy answers for every host
	c, dir := client(t, "proxy_host", u.Hostname(), "proxy_port", int64(port))
	for _, address := range []string{"http://../..//x", "http://../x", "http://../../../../evil",
		s.URL + "/../../../../evil", "http://h/a/../../../evil",
		"http://@../x", "http://h?/../../../../evil", "ftp://../x", "http://h/a;/../../../x",
		"http://..?/x"} {
		got, err := c.CacheFile(t.Context(), address, "base", fileclient.Fetch{})
		if err == nil && !strings.HasPrefix(got, filepath.Join(dir, "extrn_files", "base")+"/") {
			t.Errorf("%s was cached at %s", address, got)
		}
	}
	for _, env := range []string{"..", "../..", "/etc", "a/../../..", ""} {
		got, err := c.CacheFile(t.Context(), s.URL+"/x", env, fileclient.Fetch{})
		if err == nil && !strings.HasPrefix(got, filepath.Join(dir, "extrn_files")+"/") {
			t.Errorf("of saltenv %q it was cached at %s", env, got)
		}
	}
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(path, filepath.Join(dir, "extrn_files")) {
			t.Errorf("%s was written", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestUnknownSchemes(t *testing.T) {
	c, _ := client(t)
	for _, address := range []string{"s3://u:SECRET@bucket/x", "swift://c/x"} {
		if _, err := c.CacheFile(t.Context(), address, "base", fileclient.Fetch{}); !errors.Is(err,
			fileclient.ErrScheme) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", address, err)
		}
	}
	var relative *fileclient.PathError
	if _, err := c.CacheFile(t.Context(), "etc/hosts", "base", fileclient.Fetch{}); !errors.As(err,
		&relative) || err.Error() != "Path 'etc/hosts' is not absolute" {
		t.Errorf("a path that does not say where it begins: %v", err)
	}
	if got, err := c.CacheFile(t.Context(), "file:///etc/hosts",
		"base", fileclient.Fetch{}); err != nil || got != "/etc/hosts" {
		t.Errorf("= %q, %v", got, err)
	}
	if err := limited(&bytes.Buffer{}, strings.NewReader("12345"), 5); err != nil {
		t.Error(err)
	}
}
