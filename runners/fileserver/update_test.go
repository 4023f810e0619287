package fileserver

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/loader"
)

// repositories is a backend of two sources.
type repositories struct {
	fileserver.Backend
	updated []string
}

func (r *repositories) Name() string                        { return "gitfs" }
func (r *repositories) Intervals() map[string]time.Duration { return nil }
func (r *repositories) Update(ctx context.Context) (fileserver.Change, error) {
	return r.UpdateRemotes(ctx, []string{"one", "two"})
}

func (r *repositories) UpdateRemotes(_ context.Context, names []string) (fileserver.Change, error) {
	fresh := len(r.updated) == 0
	r.updated = names
	return fileserver.Change{Changed: fresh}, nil
}

func TestUpdateTellsWhatItFound(t *testing.T) {
	for _, c := range []struct {
		kwargs *data.Map
		want   []string
		wanted bool // fileserver_events
	}{
		{data.NewMap(), []string{"one", "two"}, true},
		{data.NewMap("remotes", "a,b"), []string{"a", "b"}, true},
		{data.NewMap("remote", "a"), []string{"a"}, true},
		{data.NewMap(), []string{"one", "two"}, false},
	} {
		var events []string
		env := &loader.Env{Opts: data.NewMap("fileserver_events", c.wanted)}
		env.Host.FireMaster = func(_ context.Context, tag string, body *data.Map) error {
			events = append(events, fmt.Sprint(tag, " ", body.Value("changed"), " ", body.Value("backend")))
			return nil
		}
		b := &repositories{}
		m := &module{env: env, files: fileserver.New(fileserver.Options{Backends: []fileserver.Backend{b}})}
		for range 2 {
			if ret, err := m.update(t.Context(),
				updateArgs{Backend: "git", Kwargs: c.kwargs}); ret != true || err != nil {
				t.Fatalf("update %v: %v, %v", c.kwargs, ret, err)
			}
		}
		want := []string{"salt/fileserver/gitfs/update true gitfs",
			"salt/fileserver/gitfs/update false gitfs"}
		if !c.wanted {
			want = nil
		}
		if !slices.Equal(b.updated, c.want) || !slices.Equal(events, want) {
			t.Errorf("update %v: %v, events %q", c.kwargs, b.updated, events)
		}
	}
}

// An unknown backend is ignored, as in Salt, and logged.
func TestUpdateTellsOfBackendsThatAreNone(t *testing.T) {
	for backend, want := range map[string]int{"gitf": 1, "git,gitf,-x": 2, "git": 0, "-git": 0, "": 0} {
		log, hook := test.NewNullLogger()
		env := &loader.Env{Opts: &data.Map{}, Log: log}
		m := &module{env: env, files: fileserver.New(fileserver.Options{Backends: []fileserver.Backend{&repositories{}}})}
		ret, err := m.update(t.Context(), updateArgs{Backend: backend, Kwargs: &data.Map{}})
		if got := len(hook.AllEntries()); ret != true || err != nil || got != want {
			t.Errorf("update of %q: %v, %v, %d warnings, want %d", backend, ret, err, got, want)
		}
	}
}
