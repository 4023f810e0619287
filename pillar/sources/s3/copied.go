package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/brineproject/brine/internal/s3"
)

// copied is the copy of the files of one entry. Its directory has these names:
//
//	whole             the name of the last whole copy, written last
//	copy-NAME/files   a copy, which may still be unfinished
//	copy-NAME/etags   what the bucket said of each of its files
//
// Several programs may share the directory: each makes copies of its own, and uses the one that the
// file whole names.
type copied struct {
	entry                *entry
	bucket               *s3.Bucket
	dir                  string
	now                  func() time.Time
	firstWait, otherWait time.Duration

	mu      sync.Mutex
	at      time.Time // when the last comparison with the bucket began
	attempt *attempt  // the one under way
	staged  *version  // an unfinished copy; only the attempt under way uses it
}

// An attempt is a comparison with the bucket. err is set once done is closed.
type attempt struct {
	done chan struct{}
	err  error
}

var (
	errSlow    = errors.New("another request is still copying the bucket")
	errGivenUp = errors.New("the request that copied the bucket was given up")
)

// dir returns the directory for the copies of an entry. Entries that read the same files share it.
func (e *entry) dir(cachedir string) string {
	c := &e.config
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %t %t", c.ServiceURL, c.Location, e.prefix, c.HTTP,
		c.PathStyle))
	return filepath.Join(cachedir, "pillar_s3fs", e.environment, c.Bucket, hex.EncodeToString(sum[:8]))
}

// current returns the directory with the files of the last whole copy. If it is time, the copy is
// compared with the bucket first: by this request, or by another for which this one waits. An error
// of that is returned together with the directory, which is "" if there is no whole copy.
func (c *copied) current(ctx context.Context) (dir string, err error) {
	for {
		a, mine := c.enter()
		switch {
		case a == nil:
			return c.files(), nil
		case mine:
			err = c.run(ctx, a)
		default:
			if err = c.await(ctx, a); errors.Is(err, errGivenUp) && ctx.Err() == nil {
				continue
			}
		}
		return c.files(), err
	}
}

// enter returns the attempt under way, or a new one, which is the caller's. It returns nil if it is
// not time yet.
func (c *copied) enter() (a *attempt, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.attempt != nil:
		return c.attempt, false
	case !c.at.IsZero() && c.now().Sub(c.at) < c.entry.expire && c.files() != "":
		return nil, false
	}
	c.attempt = &attempt{done: make(chan struct{})}
	return c.attempt, true
}

// run carries out an attempt.
func (c *copied) run(ctx context.Context, a *attempt) (err error) {
	began := c.now()
	err = errGivenUp // if the comparison panics
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = errGivenUp
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if a.err, c.attempt = err, nil; !errors.Is(err, errGivenUp) {
			c.at = began
		}
		close(a.done)
	}()
	return c.update(ctx)
}

// await waits for an attempt of another request.
func (c *copied) await(ctx context.Context, a *attempt) error {
	limit := c.firstWait
	if c.files() != "" {
		limit = c.otherWait
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-a.done:
		return a.err
	case <-late.C:
		return errSlow
	case <-ctx.Done():
		return ctx.Err()
	}
}

var versionName = regexp.MustCompile(`\Acopy-[0-9a-f]{16}\z`)

// wholeName returns the name of the last whole copy, or "".
func (c *copied) wholeName() string {
	text, err := os.ReadFile(filepath.Join(c.dir, wholeFile))
	if name := string(text); err == nil && versionName.MatchString(name) {
		return name
	}
	return ""
}

// files returns the directory with the files of the last whole copy, or "".
func (c *copied) files() string {
	name := c.wholeName()
	if name == "" {
		return ""
	}
	dir := filepath.Join(c.dir, name, filesDir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}
