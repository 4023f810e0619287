package fileclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/internal/paths"
)

// A GetURL says how to fetch the file of a URL of any scheme. Only Env and Makedirs of Get are
// used.
type GetURL struct {
	Get
	Fetch
}

// CacheFile caches the file of a URL and returns its path; a file on the disk stays where it is.
// The error wraps ErrNotFound if the file server does not have it (salt/fileclient.py,
// Client.cache_file).
func (c *Client) CacheFile(ctx context.Context, url, env string, f Fetch) (string, error) {
	f.URL = url
	return c.GetURL(ctx, url, "", GetURL{Get: Get{Env: env, Makedirs: true}, Fetch: f})
}

// GetURL fetches the file of a URL to dest, or to the cache if dest is "", and returns its path. A
// file on the disk stays where it is (salt/fileclient.py, Client.get_url).
func (c *Client) GetURL(ctx context.Context, url, dest string, g GetURL) (string, error) {
	if _, _, ok := ParseURL(url); ok {
		return c.GetFile(ctx, url, dest, g.Get)
	}
	p := parse(url)
	if file, ok := onDisk(p); ok {
		return absolute(file)
	}
	fetcher, err := c.fetcher(p.scheme, url)
	if err != nil {
		return "", err
	}
	g.URL = url
	if dest == "" {
		return c.fetchToCache(ctx, fetcher, g)
	}
	dest = inFolder(dest, lastPart(url, p))
	if err := makeFolder(dest, g.Makedirs); err != nil {
		return "", err
	}
	partial, err := c.newPartial(areaExtern)
	if err != nil {
		return "", err
	}
	if _, err := fetcher.Fetch(ctx, g.Fetch, partial.file); err != nil {
		partial.discard()
		return "", err
	}
	return dest, partial.putAt(dest)
}

// lastPart returns the name of a URL's file.
func lastPart(url string, p parts) string {
	if p.query == "" && (len(p.path) <= 1 || strings.HasSuffix(p.path, "/")) {
		return "index.html"
	}
	return sanitize(url[strings.LastIndexByte(url, '/')+1:])
}

// onDisk returns the path on the disk for a file URL, a path, or a Windows path with its drive.
func onDisk(p parts) (file string, ok bool) {
	if file = p.path; !strings.HasPrefix(file, "/") {
		file = path.Join(p.netloc, file)
	}
	file = strings.TrimRight(file, "/")
	switch {
	case len(p.scheme) == 1:
		return p.scheme + ":" + file, true
	case p.scheme == "file" || p.scheme == "":
		return file, true
	}
	return "", false
}

// A PathError reports a path on the disk that is not absolute.
type PathError struct{ Path string }

// Error returns Salt's text.
func (e *PathError) Error() string { return fmt.Sprintf("Path '%s' is not absolute", e.Path) }

// Unwrap returns ErrPath.
func (e *PathError) Unwrap() error { return ErrPath }

func absolute(file string) (string, error) {
	if !filepath.IsAbs(file) {
		return "", &PathError{file}
	}
	return file, nil
}

// fetcher returns the Fetcher of a scheme.
func (c *Client) fetcher(scheme, url string) (Fetcher, error) {
	for _, f := range c.opts.Fetchers {
		if slices.Contains(f.Schemes(), scheme) {
			return f, nil
		}
	}
	return nil, &SchemeError{url}
}

// A SchemeError reports a URL whose scheme no Fetcher supports.
type SchemeError struct{ URL string }

// Error returns the text of Salt's HTTP client, without secrets.
func (e *SchemeError) Error() string { return "Unsupported url scheme: " + Redact(e.URL) }

// Unwrap returns ErrScheme.
func (e *SchemeError) Unwrap() error { return ErrScheme }

// Redact returns a URL for logs, without its user and password. In http and https URLs a
// placeholder replaces everything before the last @, as in salt/utils/url.py,
// redact_http_basic_auth: a password may contain a slash.
func Redact(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || scheme == "salt" || scheme == "file" {
		return url
	}
	mark, end := "<redacted>@", len(rest)
	if web := strings.ToLower(scheme); web != "http" && web != "https" {
		mark = ""
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			end = i
		}
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return url
	}
	return scheme + "://" + mark + rest[at+1:]
}

// fetchToCache fetches a file to its place in the cache, unless the copy there is acceptable.
func (c *Client) fetchToCache(ctx context.Context, fetcher Fetcher, g GetURL) (string, error) {
	pl, err := externPlace(g.URL, g.env())
	if err != nil {
		return "", err
	}
	dest := c.path(pl)
	if hasHash(dest, g.SourceHash) {
		return dest, nil
	}
	partial, err := c.newPartial(areaExtern)
	if err != nil {
		return "", err
	}
	if g.UseETag && paths.Exists(dest) {
		g.ETag = c.eTag(partial.root, pl)
	}
	got, err := fetcher.Fetch(ctx, g.Fetch, partial.file)
	if err != nil || got.Unchanged {
		partial.discard()
		return dest, err
	}
	if err := partial.put(pl); err != nil {
		return "", err
	}
	return dest, c.keepETag(pl, got.ETag, g.UseETag)
}

// hasHash reports whether a file has a hash, which may be prefixed with its algorithm and a =.
func hasHash(file, hash string) bool {
	hash = hash[strings.LastIndexByte(hash, '=')+1:]
	have, err := hashOf(file, typeOf(len(hash)))
	return err == nil && strings.EqualFold(have.Hex, hash)
}

// maxETag is the maximum length of a stored ETag, in bytes.
const maxETag = 4 << 10

// eTag returns the ETag of a cached file, which is stored beside it.
func (c *Client) eTag(root *os.Root, pl place) string {
	f, err := root.Open(pl.rel + ".etag")
	if err != nil {
		return ""
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxETag))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(body), "\n", ""))
}

// keepETag stores the ETag of a cached file, and removes an older one.
func (c *Client) keepETag(pl place, tag string, wanted bool) error {
	beside := place{pl.area, pl.rel + ".etag"}
	if !wanted || tag == "" || len(tag) > maxETag {
		if err := os.Remove(c.path(beside)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	partial, err := c.newPartial(pl.area)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(partial.file, tag); err != nil {
		partial.discard()
		return err
	}
	return partial.put(beside)
}

// maxContent is the most that Content returns, in bytes.
const maxContent = 100 << 20

// Content returns the content of a URL's file, and whether a web server declares it as text.
// Content from a web server is not cached (salt/fileclient.py, Client.get_url with no_cache).
func (c *Client) Content(
	ctx context.Context, url, env string, f Fetch,
) (body []byte, isText bool, err error) {
	p := parse(url)
	_, _, salt := ParseURL(url)
	if _, disk := onDisk(p); salt || disk {
		file, err := c.CacheFile(ctx, url, env, f)
		if err != nil {
			return nil, false, err
		}
		body, err = readBounded(file)
		return body, false, err
	}
	fetcher, err := c.fetcher(p.scheme, url)
	if err != nil {
		return nil, false, err
	}
	f.URL = url
	to := &bounded{most: maxContent}
	got, err := fetcher.Fetch(ctx, f, to)
	return to.Bytes(), got.Text, err
}

func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	to := &bounded{most: maxContent}
	_, err = io.Copy(to, f)
	return to.Bytes(), err
}

// A bounded buffer accepts a limited number of bytes.
type bounded struct {
	bytes.Buffer
	most int
}

// Write accepts p, or nothing of it if that would exceed the limit.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, fmt.Errorf("content is longer than %d bytes", b.most)
	}
	return b.Buffer.Write(p)
}

// ReadFrom is Write for io.Copy.
func (b *bounded) ReadFrom(r io.Reader) (int64, error) {
	n, err := b.Buffer.ReadFrom(io.LimitReader(r, int64(b.most-b.Len()+1)))
	if err == nil && b.Len() > b.most {
		err = fmt.Errorf("content is longer than %d bytes", b.most)
	}
	return n, err
}

// CacheLocal copies a file of the minion to the cache and returns the path of the copy
// (salt/fileclient.py, Client.cache_local_file).
func (c *Client) CacheLocal(file string) (string, error) {
	pl, err := localPlace(file)
	if err != nil {
		return "", err
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	partial, err := c.newPartial(areaLocal)
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(partial.file, f); err != nil {
		partial.discard()
		return "", err
	}
	return c.path(pl), partial.put(pl)
}
