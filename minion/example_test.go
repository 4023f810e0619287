package minion_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/minion"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// exampleConfig returns the configuration of a minion without a master that keeps its files in dir.
func exampleConfig(dir string) *config.Minion {
	cfg := config.DefaultMinion()
	cfg.ID, cfg.MasterType, cfg.KeySize = "web1", "disable", 2048
	cfg.PKIDir, cfg.CacheDir = filepath.Join(dir, "pki"), filepath.Join(dir, "cache")
	cfg.SockDir, cfg.PillarRoots = filepath.Join(dir, "run"), data.NewMap("base", []any{})
	return cfg
}

// A minion with one module runs until its context ends.
func Example() {
	dir, err := os.MkdirTemp("", "minion")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ping := func(context.Context, loader.NoArgs) (any, error) { return true, nil }
	test := loader.Plugin{Name: "test", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("ping", ping)}}, nil
	}}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	m, err := minion.New(ctx, exampleConfig(dir), minion.Options{
		Ports: minion.Ports{
			Request: func(d transport.Dialer) transport.Requester { return zeromq.NewRequester(d) },
			Subscribe: func(d transport.Dialer, topics ...string) transport.Subscriber {
				return zeromq.NewSubscriber(d, topics...)
			},
		},
		Plugins: []loader.Plugin{test},
		Grains: func(context.Context) (*data.Map, error) {
			return data.NewMap("os", "Debian"), nil
		},
		Log: logging.Discard(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = m.Run(ctx, func() {
		fmt.Println("ready")
		stop()
	})
	fmt.Println("ended:", err)
	// Output:
	// ready
	// ended: <nil>
}
