package master_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cli/saltmaster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/master"
	"github.com/brineproject/brine/returners/opener"
)

// Example runs a master with a directory of its own on free ports, and stops it once it serves.
func Example() {
	dir, err := os.MkdirTemp("", "master")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cfg := config.DefaultMaster()
	cfg.PKIDir = filepath.Join(dir, "pki")
	cfg.CacheDir = filepath.Join(dir, "cache")
	cfg.SockDir = filepath.Join(dir, "run")
	cfg.Interface, cfg.RetPort, cfg.PublishPort = "127.0.0.1", 0, 0
	log := logrus.New()
	log.SetOutput(io.Discard)
	ports, err := saltmaster.Ports(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	m, err := master.New(ctx, cfg, master.Options{
		Ports: ports, Jobs: opener.JobCache(cfg, log), Log: log,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = m.Run(ctx, func() {
		fmt.Println("the master serves")
		stop()
	})
	fmt.Println(err)
	// Output:
	// the master serves
	// <nil>
}
