package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// fake is a member with a status.
type fake struct {
	status    Status
	forgotten string
	err       error
}

func (f *fake) Status(context.Context) *Status { return &f.status }
func (f *fake) Forget(_ context.Context, id string) error {
	f.forgotten = id
	return f.err
}
func (f *fake) Reseal(context.Context) (int, error) { return 7, f.err }

// call calls a function of a runner whose master has a cachedir.
func call(t *testing.T, n Needs, opts *data.Map, fun string, kwargs ...any) (any, error) {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: opts}, []loader.Plugin{Plugin(n)})
	if err != nil {
		t.Fatal(err)
	}
	return r.Invoke(t.Context(), "cluster."+fun, nil, data.NewMap(kwargs...))
}

func member(t *testing.T) *data.Map {
	return data.NewMap("cluster", data.NewMap(), "cachedir", t.TempDir())
}

// noMaster is an InMaster without a running master.
func noMaster(context.Context, string, *data.Map) (any, bool, error) { return nil, false, nil }

func TestStatusFailsWithoutAQuorum(t *testing.T) {
	f := &fake{status: Status{Name: "salt", Member: "a", Quorum: true, Leader: "b",
		Members: []Peer{{ID: "a", State: Up, Minions: 3}, {ID: "b", State: Silent}},
		NATS:    NATS{Wanted: 3, Replicas: []Replica{{"n1", "leader"}}}}}
	got, err := call(t, Needs{Member: f}, member(t), "status")
	m, _ := got.(*data.Map)
	if err != nil || m.Has("retcode") || m.Has("why") || m.Value("leader") != "b" {
		t.Fatalf("with a quorum: %v, %v", data.Repr(got), err)
	}
	for path, want := range map[string]any{"members:a:minions": int64(3), "members:a:state": "up",
		"members:b:seen": nil, "nats:replicas:n1": "leader", "nats:server": nil} {
		if v, ok := data.Lookup(m, path, ":"); !ok || v != want {
			t.Errorf("%s = %v, want %v", path, v, want)
		}
	}
	if _, ok := data.Lookup(m, "members:b:minions", ":"); ok {
		t.Error("the minions of a silent member are told")
	}
	if m.Has("unknown_keys") {
		t.Error("unknown keys are told though there are none")
	}
	f.status.UnknownKeys = []string{"cluster key 07 is unknown here"}
	got, err = call(t, Needs{Member: f}, member(t), "status")
	if m, _ := got.(*data.Map); err != nil || data.Repr(m.Value("unknown_keys")) != "['cluster key 07 is unknown here']" {
		t.Errorf("with an unknown key: %v, %v", data.Repr(got), err)
	}
	f.status.Quorum, f.status.Why = false, "NATS is away"
	got, err = call(t, Needs{Member: f}, member(t), "status")
	if m, _ := got.(*data.Map); err != nil || m.Value("retcode") != int64(1) || m.Value("why") != "NATS is away" {
		t.Errorf("without a quorum: %v, %v", data.Repr(got), err)
	}
}

func TestLeaveAndJoinNeedNoMaster(t *testing.T) {
	opts, n := member(t), Needs{Master: noMaster}
	mark := MarkIn(opts.Text("cachedir"))
	for i, step := range []struct {
		fun, want string
		left      bool
	}{
		{"join", "has not left", false},
		{"leave", "leaves its cluster. Restart it now", true},
		{"leave", "already", true},
		{"join", "joins its cluster again. Restart it now", false},
		{"join", "has not left", false},
	} {
		got, err := call(t, n, opts, step.fun)
		_, left, markErr := mark.Since()
		if text, _ := got.(string); err != nil || markErr != nil || !strings.Contains(text, step.want) || left != step.left {
			t.Errorf("step %d, %s: %v, %v; left is %v, %v", i, step.fun, got, err, left, markErr)
		}
	}
}

func TestStatusTellsWhyThereIsNoMember(t *testing.T) {
	for _, c := range []struct {
		name string
		n    Needs
		left bool
		want string
	}{
		{"no master runs", Needs{Master: noMaster}, false, "does not run"},
		{"no master runs, and it left", Needs{Master: noMaster}, true, "It is to work alone"},
		{"it left", Needs{}, true, "works alone"},
		{"it is to join", Needs{}, false, "until it is restarted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := member(t)
			if c.left {
				if err := MarkIn(opts.Text("cachedir")).Set(time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			got, err := call(t, c.n, opts, "status")
			m, _ := got.(*data.Map)
			if err != nil || m.Value("retcode") != int64(1) || !strings.Contains(m.Text("why"), c.want) {
				t.Errorf("%v, %v", data.Repr(got), err)
			}
			for _, fun := range []string{"members", "reseal"} {
				var unable *runners.UnableError
				if _, err := call(t, c.n, opts, fun); !errors.As(err, &unable) || !strings.Contains(unable.Text, c.want) {
					t.Errorf("%s: %v", fun, err)
				}
			}
		})
	}
}

func TestAMasterWithoutTheOptionSaysSo(t *testing.T) {
	opts := data.NewMap("cachedir", t.TempDir())
	for _, fun := range []string{"status", "members", "leave", "join", "reseal"} {
		var unable *runners.UnableError
		if _, err := call(t, Needs{}, opts, fun); !errors.As(err, &unable) || unable.Text != textNone {
			t.Errorf("%s: %v", fun, err)
		}
	}
	if _, set, _ := MarkIn(opts.Text("cachedir")).Since(); set {
		t.Error("it has left a cluster in which it never was")
	}
}

func TestLeaveOfAnotherMember(t *testing.T) {
	opts, f := member(t), &fake{}
	if got, err := call(t, Needs{Member: f}, opts, "leave", "member", "c"); err != nil || f.forgotten != "c" {
		t.Errorf("%v, %v, forgotten is %q", got, err, f.forgotten)
	}
	var asked *data.Map
	n := Needs{Master: func(_ context.Context, fun string, kwargs *data.Map) (any, bool, error) {
		asked = kwargs
		return fun, true, nil
	}}
	if got, err := call(t, n, opts, "leave", "member", "c"); err != nil || got != "cluster.leave" ||
		asked.Value("member") != "c" {
		t.Errorf("beside the master: %v, %v, %v", got, err, data.Repr(asked))
	}
	f.err = errors.New("it lives")
	var unable *runners.UnableError
	if _, err := call(t, Needs{Member: f}, opts, "leave", "member", "c"); !errors.As(err, &unable) {
		t.Errorf("of one that lives: %v", err)
	}
	if _, set, _ := MarkIn(opts.Text("cachedir")).Since(); set {
		t.Error("this master has left, too")
	}
}

func TestAMarkMadeByHandCounts(t *testing.T) {
	m := MarkIn(t.TempDir())
	if err := errors.Join(os.MkdirAll(filepath.Dir(m.Path()), 0o700), os.WriteFile(m.Path(), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if since, set, err := m.Since(); !set || err != nil || time.Since(since).Abs() > time.Hour {
		t.Errorf("%v, %v, %v", since, set, err)
	}
}
