// Package s3 is Salt's external pillar of that name: the pillar files in a bucket of S3
// (salt/pillar/s3.py).
//
//	ext_pillar:
//	  - s3:
//	      bucket: my-pillar
//	      keyid: KEYID            # without keyid and key: the role of the instance
//	      key: SECRET
//	      prefix: ''              # directory in the bucket
//	      multiple_env: False     # directories of the bucket are environments
//	      environment: base
//	      service_url: s3.amazonaws.com
//	      location: eu-central-1  # also verify_ssl, path_style, https_enable
//	      s3_cache_expire: 30     # seconds for which a list of the bucket is kept
//	      s3_sync_on_update: True
//
// The bucket is copied into pillar_s3fs in the cachedir. Differences: the list is kept in memory.
// Files that the bucket no longer has are removed from the copy. If the store does not answer, the
// copy is used, which the log reports; without a copy that is an error. kms_keyid has no effect, as
// in Salt, which sends it with uploads only. A key with a part .. is left out.
package s3

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/s3"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
)

// maxFile is the limit of a pillar file, in bytes.
const maxFile = 16 << 20

// A Source is the external pillar s3. It keeps the lists of buckets.
type Source struct {
	mu      sync.Mutex
	buckets map[string]*copied
	now     func() time.Time
}

// New returns the source.
func New() *Source { return &Source{buckets: map[string]*copied{}, now: time.Now} }

var (
	_ pillar.Checker         = (*Source)(nil)
	_ pillar.OnDemandChecker = (*Source)(nil)
)

// Name implements pillar.Source.
func (*Source) Name() string { return "s3" }

// CheckOnDemand implements pillar.OnDemandChecker: minions must not choose a bucket.
func (*Source) CheckOnDemand(any, *data.Map) error {
	return errors.New("a minion may not choose a bucket that the master reads")
}

// An entry holds the arguments of an entry.
type entry struct {
	config      s3.Config
	environment string
	prefix      string
	multiple    bool
	expire      time.Duration
}

func read(argument any) (*entry, error) {
	args, err := pillar.Bind(argument, 1, "bucket", "key", "keyid", "verify_ssl", "location",
		"multiple_env", "environment", "prefix", "service_url", "kms_keyid", "s3_cache_expire",
		"s3_sync_on_update", "path_style", "https_enable")
	if err != nil {
		return nil, err
	}
	e := &entry{environment: "base", multiple: data.Truth(args.Value("multiple_env")),
		prefix: strings.Trim(text(args, "prefix"), "/"), expire: 30 * time.Second,
		config: s3.Config{Bucket: text(args, "bucket"), KeyID: text(args, "keyid"),
			Key: text(args, "key"), ServiceURL: text(args, "service_url"),
			Location: text(args, "location"), PathStyle: data.Truth(args.Value("path_style")),
			HTTP: args.Has("https_enable") && !data.Truth(args.Value("https_enable")), MaxFile: maxFile}}
	if name := text(args, "environment"); name != "" {
		e.environment = name
	}
	if strings.ContainsAny(e.environment, "/\\\x00") || strings.HasPrefix(e.environment, ".") {
		return nil, errors.New("environment: expected the name of an environment")
	}
	if hasDots(e.prefix) {
		return nil, errors.New("prefix: . or .. is a part of it")
	}
	if v, set := args.Get("verify_ssl"); set {
		if e.config.CA, _ = v.(string); e.config.CA == "" {
			e.config.Insecure = !data.Truth(v)
		}
	}
	if v, set := args.Get("s3_cache_expire"); set {
		n, err := loader.Float(v)
		if err != nil || n < 0 || n > 1e9 {
			return nil, errors.New("s3_cache_expire: expected seconds")
		}
		e.expire = time.Duration(n * float64(time.Second))
	}
	b, err := s3.Open(e.config)
	if err != nil {
		return nil, err
	}
	b.Close()
	return e, nil
}

func text(args *data.Map, name string) string {
	if v := args.Value(name); v != nil {
		return data.Str(v)
	}
	return ""
}

func hasDots(path string) bool {
	parts := strings.Split(path, "/")
	return slices.Contains(parts, ".") || slices.Contains(parts, "..")
}

// Check implements pillar.Checker.
func (*Source) Check(argument any, _ *data.Map) error {
	_, err := read(argument)
	return err
}

// copied is the copy of one bucket.
type copied struct {
	mu      sync.Mutex // held while the copy is brought up to date
	at      time.Time  // when that began last
	dir     string
	entry   *entry
	bucket  *s3.Bucket
	present bool // there is a whole copy
}

// copied returns the copy for an entry; the same arguments yield the same copy.
func (s *Source) copied(q pillar.Query) (*copied, error) {
	e, err := read(q.Argument)
	if err != nil {
		return nil, err
	}
	cachedir := q.Opts.Text("cachedir")
	key := cachedir + "\x00" + data.Repr(q.Argument)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.buckets[key]; ok {
		return c, nil
	}
	bucket, err := s3.Open(e.config)
	if err != nil {
		return nil, err
	}
	c := &copied{entry: e, bucket: bucket,
		dir: filepath.Join(cachedir, "pillar_s3fs", e.environment, e.config.Bucket)}
	if _, err := os.Stat(c.dir); err == nil {
		c.present = true
	}
	s.buckets[key] = c
	return c, nil
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	c, err := s.copied(q)
	if err != nil {
		return nil, err
	}
	if err := c.refresh(ctx, s.now); err != nil {
		q.Log.Errorf("ext_pillar s3 for %s: %s", q.ID, err)
		if !c.usable() {
			return nil, errors.New("the bucket could not be read yet; please see the master's log")
		}
	}
	e := c.entry
	dir := filepath.Join(c.dir, filepath.FromSlash(e.prefix))
	if e.multiple {
		dir = filepath.Join(dir, e.environment)
	}
	opts := q.Opts.Clone()
	opts.Set("pillar_roots", data.NewMap(e.environment, []any{dir}))
	return q.Compile(ctx, e.environment, pillar.Roots(opts)(e.environment))
}

func (c *copied) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present
}

// refresh brings the copy up to date, unless that was done a short time ago.
func (c *copied) refresh(ctx context.Context, now func() time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.present && !c.at.IsZero() && now().Sub(c.at) < c.entry.expire {
		return nil
	}
	c.at = now()
	if err := c.update(ctx); err != nil {
		return err
	}
	c.present = true
	return nil
}

func (c *copied) update(ctx context.Context) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("make the copy of a bucket: %w", err)
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return fmt.Errorf("make the copy of a bucket: %w", err)
	}
	defer root.Close()
	objects, err := c.bucket.List(ctx, c.entry.prefix)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, o := range objects {
		name := filepath.FromSlash(strings.Trim(o.Key, "/"))
		if strings.HasSuffix(o.Key, "/") || name == "" || hasDots(o.Key) || !filepath.IsLocal(name) {
			continue
		}
		keep[name] = true
		if err := c.file(ctx, root, name, o); err != nil {
			return fmt.Errorf("copy %s of bucket %s: %w", o.Key, c.entry.config.Bucket, err)
		}
	}
	return c.prune(keep)
}

// file copies one object, unless the copy has its content.
func (c *copied) file(ctx context.Context, root *os.Root, name string, o s3.Object) error {
	if sum, err := sumOf(root, name); err == nil && sum == o.ETag {
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	var content strings.Builder
	if err := c.bucket.Get(ctx, o.Key, &content); err != nil {
		return err
	}
	return atomicfile.WriteIn(root, name, []byte(content.String()), atomicfile.Options{})
}

func sumOf(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := md5.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// prune removes the files that the bucket no longer has.
func (c *copied) prune(keep map[string]bool) error {
	return filepath.WalkDir(c.dir, func(at string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(c.dir, at)
		if err == nil && !keep[name] {
			err = os.Remove(at)
		}
		return err
	})
}
