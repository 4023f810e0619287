//go:build unix

package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testroot"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/states"
)

// A hooked function calls another function first.
type hooked struct {
	loader.Func

	before func()
}

func (h hooked) Call(ctx context.Context, b *loader.Bound) (any, error) {
	h.before()
	return h.Func.Call(ctx, b)
}

// racing returns states during which another user does something right before the first file is
// changed.
func racing(t *testing.T, action func()) *loader.Registry {
	t.Helper()
	var once sync.Once
	plugins := modules.Plugins(modules.Brought())
	for i, p := range plugins {
		if p.Name != "file" {
			continue
		}
		plugins[i].New = func(env *loader.Env) (*loader.Module, error) {
			m, err := p.New(env)
			if err != nil {
				return nil, err
			}
			for i, f := range m.Funcs {
				if name := f.Spec().Name; name == "check_perms" || name == "remove" {
					m.Funcs[i] = hooked{f, func() { once.Do(action) }}
				}
			}
			return m, nil
		}
	}
	funcs, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1")}, plugins)
	if err != nil {
		t.Fatal(err)
	}
	env := *funcs.Env()
	shelf, err := loader.NewRegistry(&env, states.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	return shelf
}

// The owner of a directory may replace a subdirectory by a link after the state has checked it.
// Files outside must not be touched.
func TestNothingOutsideIsTouched(t *testing.T) {
	for _, c := range []struct {
		fun   string
		words []any
	}{
		{"file.directory", []any{"file_mode", "0600", "recurse", []any{"mode"}}},
		{"file.directory", []any{"clean", true}},
		{"file.tidied", []any{"age", int64(0), "rmdirs", true}},
	} {
		t.Run(strings.Join([]string{c.fun, data.Str(c.words[0])}, " "), func(t *testing.T) {
			dir := t.TempDir()
			top, sub, outside := filepath.Join(dir, "top"), filepath.Join(dir, "top", "sub"),
				filepath.Join(dir, "outside")
			err := errors.Join(os.MkdirAll(sub, 0o755), os.Mkdir(outside, 0o755),
				os.WriteFile(filepath.Join(sub, "x"), nil, 0o644),
				os.WriteFile(filepath.Join(outside, "x"), nil, 0o644))
			done := false
			shelf := racing(t, func() {
				err = errors.Join(err, os.Rename(sub, filepath.Join(dir, "away")), os.Symlink(outside, sub))
				done = true
			})
			ret, callErr := shelf.Invoke(t.Context(), c.fun, nil,
				data.NewMap(append([]any{"name", top}, c.words...)...))
			if err != nil || !done {
				t.Fatal(done, err)
			}
			if m, ok := ret.(*data.Map); callErr == nil && (!ok || m.Value("result") != false) {
				t.Errorf("the state says %s", data.Repr(ret))
			}
			info, err := os.Lstat(filepath.Join(outside, "x"))
			if err != nil || info.Mode() != 0o644 {
				t.Errorf("the file outside: %v, %v", info, err)
			}
		})
	}
}

// A state does not follow a link that a user placed in a path, unless it leads to a path of that
// user. Links of root are followed.
func TestLinksOfOthersAreNotFollowed(t *testing.T) {
	need.Root(t, "to give files to others")
	const bob = 65533
	for _, fun := range []string{"file.directory", "file.recurse", "file.tidied"} {
		for _, c := range []struct {
			link, target int
			at           os.FileMode // of the directory with the link
			good         bool
		}{{bob, 0, 0o777, false}, {bob, 0, 0o775, false}, {bob, 0, 0o755, true},
			{bob, bob, 0o777, true}, {0, bob, 0o777, true}, {0, 0, 0o777, true}} {
			r := testroot.Plain(t)
			r.Write(t, "srv/salt/d/x", "new")
			r.Write(t, "outside/sub/x", "old")
			err := errors.Join(os.Chmod(r.Path(""), c.at),
				os.Symlink(r.Path("outside"), r.Path("link")), os.Lchown(r.Path("link"), c.link,
					-1), os.Chown(r.Path("outside"), c.target, -1))
			if err != nil {
				t.Fatal(err)
			}
			words := map[string]*data.Map{
				"file.directory": data.NewMap("file_mode", "0600", "recurse", []any{"mode"}),
				"file.recurse":   data.NewMap("source", "salt://d"),
				"file.tidied":    data.NewMap("age", int64(0)),
			}[fun]
			words.Set("name", r.Path("link/sub"))
			for _, test := range []bool{true, false} {
				got := r.Apply(t, test, fun, words)
				info, err := os.Lstat(r.Path("outside/sub/x"))
				same := err == nil && info.Mode() == 0o644 && r.Read(t, "outside/sub/x") == "old"
				if failed := got.Value("result") == false; failed == c.good ||
					same != (test || !c.good) || !c.good &&
					!strings.Contains(got.Text("comment"), "leads through link") {
					t.Errorf("%s by a link of %d to a directory of %d: %s, the same: %t", fun,
						c.link, c.target, data.Repr(got), same)
				}
			}
		}
	}
}
