package s3

import (
	"context"
	"crypto/md5"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/pillar"
)

// store serves the objects of a bucket; nil fails.
func store(t *testing.T, objects *map[string]string) *fakeweb.Server {
	t.Helper()
	return fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		if *objects == nil {
			return &fakeweb.Answer{Status: 500, Body: "hunter2"}
		}
		if r.Path == "/pillar/" {
			body := ""
			for _, key := range slices.Sorted(maps.Keys(*objects)) {
				body += fmt.Sprintf("<Contents><Key>%s</Key><ETag>&quot;%x&quot;</ETag></Contents>", key,
					md5.Sum([]byte((*objects)[key])))
			}
			return &fakeweb.Answer{Body: "<ListBucketResult>" + body + "</ListBucketResult>"}
		}
		return &fakeweb.Answer{Body: (*objects)[strings.TrimPrefix(r.Path, "/pillar/")]}
	})
}

// asked returns a query whose compilation lists the environment's files with their content.
func asked(t *testing.T, cachedir, at string, more ...any) pillar.Query {
	t.Helper()
	log, _ := logtest.NewNullLogger()
	argument := data.NewMap("bucket", "pillar", "keyid", "ID", "key", "hunter2", "location", "x",
		"service_url", strings.TrimPrefix(at, "http://"), "path_style", true, "https_enable", false)
	argument.Update(data.NewMap(more...))
	return pillar.Query{ID: "web1", Argument: argument, Log: log, Opts: data.NewMap("cachedir", cachedir),
		Compile: func(ctx context.Context, env string, files pillar.Files) (*data.Map, error) {
			out := data.NewMap("env", env)
			names, err := files.List(ctx, env)
			for _, name := range names {
				f, err := files.Get(ctx, name, env)
				if err != nil {
					return nil, err
				}
				b, err := f.Read()
				if err != nil {
					return nil, err
				}
				out.Set(name, string(b))
			}
			return out, err
		}}
}

func TestBucketIsCopied(t *testing.T) {
	objects := map[string]string{"top.sls": "one", "d/a.sls": "two", "d/": "", "../evil": "x", "d/../../evil": "x"}
	s := store(t, &objects)
	dir := t.TempDir()
	source, now := New(), time.Unix(1e9, 0)
	source.now = func() time.Time { return now }
	check := func(want string, requests int, more ...any) {
		t.Helper()
		got, err := source.Pillar(t.Context(), asked(t, dir, s.URL, more...))
		if err != nil || data.Repr(got) != want {
			t.Errorf("%s, %v, want %s", data.Repr(got), err, want)
		}
		if n := len(s.Take()); n != requests {
			t.Errorf("%d requests, want %d", n, requests)
		}
	}
	const first = "{'env': 'base', 'd/a.sls': 'two', 'top.sls': 'one'}"
	check(first, 3)
	check(first, 0) // the list is kept
	now = now.Add(time.Minute)
	check(first, 1) // nothing has changed
	objects = map[string]string{"top.sls": "three"}
	now = now.Add(time.Minute)
	check("{'env': 'base', 'top.sls': 'three'}", 2)
	objects = nil
	now = now.Add(time.Minute)
	check("{'env': 'base', 'top.sls': 'three'}", 1) // the copy serves while the store fails
	if found, _ := filepath.Glob(filepath.Join(dir, "evil")); len(found) > 0 {
		t.Error("a key led outside of the copy")
	}
	if _, err := New().Pillar(t.Context(), asked(t, t.TempDir(), s.URL)); err == nil ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("without a copy: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "pillar_s3fs/base/pillar/*/copy-*/files/top.sls"))
	if err != nil || len(files) == 0 {
		t.Errorf("the copy has %q, %v", files, err)
	}
	for _, at := range files {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
}

func TestEnvironmentsAndPrefix(t *testing.T) {
	objects := map[string]string{"p/base/top.sls": "one", "p/dev/top.sls": "two"}
	s := store(t, &objects)
	for env, want := range map[string]string{"base": "one", "dev": "two"} {
		got, err := New().Pillar(t.Context(), asked(t, t.TempDir(), s.URL, "prefix", "p", "multiple_env", true,
			"environment", env))
		if err != nil || data.Repr(got) != "{'env': '"+env+"', 'top.sls': '"+want+"'}" {
			t.Errorf("%s: %s, %v", env, data.Repr(got), err)
		}
	}
}

func TestEntriesAreChecked(t *testing.T) {
	for want, a := range map[string]any{
		"missing 1 required positional argument: 'bucket'": data.NewMap("key", "x"),
		"unexpected keyword argument 'buckets'":            data.NewMap("buckets", "x"),
		"bucket: expected":                                 data.NewMap("bucket", "a/b"),
		"prefix: . or .. is a part of it":                  data.NewMap("bucket", "a", "prefix", "../x"),
		"environment: expected":                            data.NewMap("bucket", "a", "environment", "../x"),
		"s3_cache_expire: expected":                        data.NewMap("bucket", "a", "s3_cache_expire", "x"),
		"service_url: expected":                            data.NewMap("bucket", "a", "service_url", "http://x"),
	} {
		if err := New().Check(a, data.NewMap()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", data.Repr(a), err, want)
		}
	}
}
