package minion_test

import (
	"context"
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/minion"
)

// echoes is an engine that sends one event when the minion's bus has the event ask.
func echoes(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "word"); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if h.Minions != nil || h.Opts.Text("id") != h.ID {
			return h.FireRaw(ctx, "echo/fault", data.NewMap())
		}
		if err := h.Fire(ctx, engines.Event{Tag: "echo/" + options.Text("word"), Data: data.NewMap("a",
			int64(1))}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}, nil
}

// An engine of a minion fires events on the master. One that fails until the master is there is started
// again, and an unknown one does not hold up the others.
func TestEnginesFireOnTheMaster(t *testing.T) {
	f := startFleetWith(t, func(cfg *config.Minion) {
		cfg.Engines = []any{"nothing", data.NewMap("echo", data.NewMap("word", "hi"))}
	}, func(o *minion.Options) { o.Engines = map[string]engines.Make{"echo": echoes} })
	body := f.await(t, "echo/hi")
	if sent, _ := body.Value("data").(*data.Map); body.Text("id") != "web1" || sent.Value("a") != int64(1) {
		t.Errorf("event: %s", data.Repr(body))
	}
}

// A wrong option of an engine is an error at the start.
func TestWrongEngine(t *testing.T) {
	cfg := testsalt.MinionConfig(testsalt.Dir(t), "web1", "127.0.0.1:1")
	cfg.Engines = []any{data.NewMap("echo", data.NewMap("wrd", "hi"))}
	o := testsalt.MinionOptions(t, cfg)
	o.Engines = map[string]engines.Make{"echo": echoes}
	if _, err := minion.New(t.Context(), cfg, o); err == nil || !strings.Contains(err.Error(),
		"option wrd is unknown") {
		t.Errorf("the minion starts with %v", err)
	}
}

// ownEngines is a source of users' own engines.
type ownEngines struct{ ran chan *data.Map }

func (o ownEngines) Names() []string { return []string{"feeder"} }

func (o ownEngines) Plugins(name string) []loader.Plugin {
	if name != "feeder" {
		return nil
	}
	type args struct {
		Kwargs *data.Map `kwargs:"kwargs"`
	}
	return []loader.Plugin{{Name: "feeder", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("start", func(ctx context.Context, a args) (any,
			error) {
			o.ran <- a.Kwargs
			<-ctx.Done()
			return nil, ctx.Err()
		})}}, nil
	}}}
}

// Users' own engine runs with its options.
func TestOwnEngine(t *testing.T) {
	own := ownEngines{make(chan *data.Map, 1)}
	startFleetWith(t, func(cfg *config.Minion) {
		cfg.Engines = []any{data.NewMap("feeder", data.NewMap("path", "/x"))}
	}, func(o *minion.Options) {
		o.Own = func(kind string, _ *loader.Env, _ []loader.Plugin) loader.Source {
			if kind == "engines" {
				return own
			}
			return nil
		}
	})
	if kwargs := <-own.ran; data.Repr(kwargs) != "{'path': '/x'}" {
		t.Errorf("its options are %s", data.Repr(kwargs))
	}
}
