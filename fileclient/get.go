package fileclient

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/crypto"
)

// A Get says how to fetch a file from the file server.
type Get struct {
	Env      string // environment, unless the URL names one; "" means base
	Makedirs bool   // make the directory of the destination
	Gzip     int    // compression level of the server from 1 to 9; 0 means none
}

// GetFile fetches the file of a salt:// URL to dest and returns its path. If dest is a directory or
// ends in a slash, the file goes into it under its own name. If dest is "", the file goes to its
// place in the cache. A file that is there already, by its hash, is not fetched. The error wraps
// ErrNotFound, ErrNoFolder, ErrPath, ErrHash or ErrScheme (salt/fileclient.py,
// RemoteClient.get_file).
func (c *Client) GetFile(ctx context.Context, url, dest string, g Get) (string, error) {
	file, env, ok := ParseURL(url)
	if !ok {
		return "", fmt.Errorf("%w: %s", ErrScheme, url)
	}
	if env == "" {
		env = g.env()
	}
	pl, err := saltPlace(env, file)
	if err != nil {
		// a file server reports such a path as not found
		return "", fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	s := &saltFile{c: c, env: env, path: file, gzip: g.Gzip}
	if err := s.requestInfo(ctx); err != nil {
		return "", err
	}
	if dest == "" {
		return c.path(pl), s.cache(ctx, pl)
	}
	dest = inFolder(dest, path.Base(pl.rel))
	return dest, s.fetchTo(ctx, dest, g.Makedirs)
}

func (g Get) env() string {
	if g.Env == "" {
		return "base"
	}
	return g.Env
}

// inFolder returns the path of name in dest if dest is a directory or ends like one, and dest
// otherwise.
func inFolder(dest, name string) string {
	if info, err := os.Stat(dest); err == nil && info.IsDir() || strings.HasSuffix(dest, "/") ||
		strings.HasSuffix(dest, `\`) {
		return filepath.Join(dest, name)
	}
	return dest
}

// makeFolder makes the directory of a destination, or returns ErrNoFolder if it is missing and may
// not be made.
func makeFolder(dest string, mayMake bool) error {
	dir := filepath.Dir(dest)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if !mayMake {
		return fmt.Errorf("%w: %s", ErrNoFolder, dir)
	}
	return os.MkdirAll(dir, 0o777) // the umask applies
}

// A saltFile is a file of the file server that is being fetched.
type saltFile struct {
	c         *Client
	env, path string
	gzip      int
	sum       Sum
	size      int64
}

// requestInfo requests hash and size.
func (s *saltFile) requestInfo(ctx context.Context) error {
	stats := make(chan Stat, 1)
	go func() {
		st, err := s.c.opts.Source.Stat(ctx, s.env, s.path)
		if err != nil {
			st.Size = -1 // the download works without
		}
		stats <- st
	}()
	var err error
	s.sum, err = s.c.opts.Source.Hash(ctx, s.env, s.path)
	s.size = (<-stats).Size
	return err
}

// cache brings the file to its place in the cache.
func (s *saltFile) cache(ctx context.Context, pl place) error {
	if s.same(s.c.path(pl)) {
		return nil
	}
	p, err := s.fetch(ctx)
	if err != nil {
		return err
	}
	return p.put(pl)
}

// fetchTo brings the file to a destination chosen by the caller.
func (s *saltFile) fetchTo(ctx context.Context, dest string, makedirs bool) error {
	if s.same(dest) {
		return nil
	}
	if err := makeFolder(dest, makedirs); err != nil {
		return err
	}
	p, err := s.fetch(ctx)
	if err != nil {
		return err
	}
	return p.putAt(dest)
}

// same reports whether a file on the disk has the content that the server has.
func (s *saltFile) same(file string) bool {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || s.size >= 0 && info.Size() != s.size {
		return false
	}
	have, err := hashOf(file, s.sum.Type)
	return err == nil && have == s.sum
}

// fetch downloads the file. It retries if the file changed on the server meanwhile, or did not
// arrive complete.
func (s *saltFile) fetch(ctx context.Context) (*partial, error) {
	for left := 3; ; left-- {
		p, err := s.download(ctx)
		if left == 1 || !errors.Is(err, ErrHash) {
			return p, err
		}
		s.c.opts.Log.WithError(err).Warnf("Download of salt://%s was incomplete; retrying", s.path)
		if err := s.requestInfo(ctx); err != nil {
			return nil, err
		}
	}
}

func (s *saltFile) download(ctx context.Context) (*partial, error) {
	h, err := crypto.NewHash(s.sum.Type)
	if err != nil {
		return nil, fmt.Errorf("salt://%s: %w", s.path, err)
	}
	p, err := s.open()
	if err != nil {
		return nil, err
	}
	at, err := io.Copy(h, p.file) // the part that was downloaded before
	if err != nil {
		p.discard()
		return nil, err
	}
	if at > 0 {
		s.c.opts.Log.Infof("Download of salt://%s resumes at byte %d of %d", s.path, at, s.size)
	}
	d := &download{c: s.c, env: s.env, path: s.path, gzip: s.gzip, size: s.size, at: at,
		to: io.MultiWriter(p.file, h)}
	if err := d.run(ctx); err != nil {
		s.abort(p, d.at, err)
		return nil, err
	}
	if err := s.check(h); err != nil {
		p.discard()
		return nil, err
	}
	return p, nil
}

// open opens the file to download to.
func (s *saltFile) open() (*partial, error) {
	if s.size < resumeFrom {
		return s.c.newPartial(areaFiles)
	}
	return s.c.resume(areaFiles, s.env, s.path, s.sum.Type, s.sum.Hex)
}

// abort ends a failed download. The received part is kept, unless the content itself was wrong.
func (s *saltFile) abort(p *partial, size int64, err error) {
	if errors.Is(err, ErrHash) || errors.Is(err, ErrReply) || errors.Is(err, ErrNotFound) {
		p.discard()
		return
	}
	p.suspend(size)
}

func (s *saltFile) check(h hash.Hash) error {
	if got := hex.EncodeToString(h.Sum(nil)); got != s.sum.Hex {
		return fmt.Errorf("salt://%s in saltenv %s: %w: %s %s in place of %s", s.path, s.env,
			ErrHash, s.sum.Type, got, s.sum.Hex)
	}
	return nil
}
