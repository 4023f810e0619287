//go:build unix

package minion

import (
	"context"
	"errors"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/config"
)

// waits tells when a minion says that it waits for another.
type waits chan struct{}

func (w waits) Levels() []logrus.Level { return []logrus.Level{logrus.WarnLevel} }

func (w waits) Fire(*logrus.Entry) error {
	close(w)
	return nil
}

func TestSecondMinionWaitsForTheEndOfTheFirst(t *testing.T) {
	cfg := config.DefaultMinion()
	cfg.CacheDir = t.TempDir()
	first := &Minion{cfg: cfg, log: quiet()}
	if err := first.lockCacheDir(t.Context()); err != nil {
		t.Fatal(err)
	}
	log, _ := test.NewNullLogger()
	waiting := make(waits)
	log.AddHook(waiting)
	second, took := &Minion{cfg: cfg, log: log}, make(chan error)
	go func() { took <- second.lockCacheDir(t.Context()) }()
	select {
	case err := <-took:
		t.Fatalf("two minions have one cachedir (%v)", err)
	case <-waiting:
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	if err := <-took; err != nil {
		t.Errorf("occupy = %v after the first has ended", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.lockCacheDir(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("occupy = %v, want the end of waiting", err)
	}
	if err := second.close(); err != nil {
		t.Error(err)
	}
}
