package process_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/teststate"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/process"
)

type anyArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// ps simulates the module ps with these processes, and records the calls.
type ps struct {
	found  []any
	called []any
}

func (p *ps) plugin() loader.Plugin {
	f := func(name string, result func() any) loader.Func {
		return loader.F(name, func(_ context.Context, a anyArgs) (any, error) {
			p.called = append(p.called, []any{"ps." + name, a.Args[0], a.Kwargs})
			if len(p.found) == 0 {
				return nil, nil
			}
			return result(), nil
		})
	}
	return loader.Plugin{Name: "ps", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			f("pgrep", func() any { return p.found }),
			f("pkill", func() any { return data.NewMap("killed", p.found) }),
		}}, nil
	}}
}

// TestRuns replays process.absent with the calls and results of Salt 3006.18.
func TestRuns(t *testing.T) {
	src, err := os.ReadFile("testdata/runs.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("kwargs", "test", "found", "called", "return")
		host := &ps{found: c.List("found")}
		functions, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{host.plugin()})
		if err != nil {
			t.Fatal(err)
		}
		r, err := loader.NewRegistry(&loader.Env{Functions: functions, Call: functions.Invoke},
			[]loader.Plugin{process.Plugin()})
		if err != nil {
			t.Fatal(err)
		}
		call := *change.CallOf(t.Context())
		call.Test = c.Bool("test")
		ret, err := r.Invoke(change.WithCall(t.Context(), &call), "process.absent", []any{"httpd"},
			c.Object("kwargs"))
		if err != nil || !data.Equal(ret, c.Value("return")) {
			t.Errorf("%s: got %s, %v, want %s", c.Name, data.Repr(ret), err, data.Repr(c.Value("return")))
		}
		if !data.Equal(host.called, c.Value("called")) {
			t.Errorf("%s: called %s, want %s", c.Name, data.Repr(host.called), data.Repr(c.Value("called")))
		}
	}
}

// TestAbsentEndsAProcess ends a real process. Test mode does not, and a second run finds none.
func TestAbsentEndsAProcess(t *testing.T) {
	shelf := teststate.NewShelf(t, &data.Map{})
	name := filepath.Base(t.TempDir()) + "-brine-process-absent-" + filepath.Base(filepath.Dir(t.TempDir()))
	cmd := exec.Command("sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do read line || exit 3; done", name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan int, 1)
	go func() { _ = cmd.Wait(); ended <- cmd.ProcessState.ExitCode() }()

	if ret := shelf.Run(t, true, "process.absent", name, &data.Map{}); ret.Value("result") != nil {
		t.Errorf("test mode: %s", data.Repr(ret))
	}
	select {
	case <-ended:
		t.Fatal("test mode ends the process")
	default:
	}
	want := change.New(name, true, data.NewMap("killed", []any{int64(cmd.Process.Pid)}), "Killed 1 processes")
	if ret := shelf.Run(t, false, "process.absent", name, &data.Map{}); !data.Equal(ret, want) {
		t.Errorf("got %s, want %s", data.Repr(ret), data.Repr(want))
		in.Close()
	}
	if code := <-ended; code != 7 {
		t.Errorf("the process ends with %d, want its handler's 7", code)
	}
	if ret, none := shelf.Run(t, false, "process.absent", name, &data.Map{}), change.Unchanged(name,
		"No matching processes running"); !data.Equal(ret, none) {
		t.Errorf("the second run: %s", data.Repr(ret))
	}
}
