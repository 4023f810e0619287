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
// The files below prefix are copied into pillar_s3fs in the cachedir, each bucket and prefix for
// itself. A copy counts once it is whole, and is replaced as a whole: one request makes the new one,
// and others wait for it, but no longer than ten seconds if there is a copy to use. If the store does
// not answer, the copy is used, which the log reports; without a copy that is an error.
//
// Differences: files that the bucket no longer has are not in the copy. kms_keyid has no effect, as
// in Salt, which sends it with uploads only. A key with a part .. is left out.
package s3

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/s3"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
)

// Limits of a pillar file in bytes, of the making of a copy, and of the wait for one that another
// request makes: if there is no copy yet, and if there is one.
const (
	maxFile     = 16 << 20
	updateLimit = 10 * time.Minute
	firstWait   = time.Minute
	otherWait   = 10 * time.Second
)

// A Source is the external pillar s3. It knows when each copy was last compared with its bucket.
type Source struct {
	mu                   sync.Mutex
	copies               map[string]*copied
	now                  func() time.Time
	firstWait, otherWait time.Duration
}

// New returns the source.
func New() *Source {
	return &Source{copies: map[string]*copied{}, now: time.Now, firstWait: firstWait, otherWait: otherWait}
}

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
	if c, ok := s.copies[key]; ok {
		return c, nil
	}
	bucket, err := s3.Open(e.config)
	if err != nil {
		return nil, err
	}
	c := &copied{entry: e, bucket: bucket, now: s.now, firstWait: s.firstWait, otherWait: s.otherWait,
		dir: e.dir(cachedir)}
	s.copies[key] = c
	return c, nil
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	c, err := s.copied(q)
	if err != nil {
		return nil, err
	}
	dir, err := c.current(ctx)
	if err != nil {
		q.Log.Errorf("ext_pillar s3 for %s: %s", q.ID, err)
		if dir == "" {
			return nil, errors.New("the bucket could not be read yet; please see the master's log")
		}
	}
	e := c.entry
	dir = filepath.Join(dir, filepath.FromSlash(e.prefix))
	if e.multiple {
		dir = filepath.Join(dir, e.environment)
	}
	opts := q.Opts.Clone()
	opts.Set("pillar_roots", data.NewMap(e.environment, []any{dir}))
	return q.Compile(ctx, e.environment, pillar.Roots(opts)(e.environment))
}
