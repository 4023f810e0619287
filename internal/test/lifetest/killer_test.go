//go:build linux

package lifetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// A killer stops one daemon repeatedly, and starts it again.
type killer struct {
	*daemon
	site *site
	rng  *rand.Rand
	min  *minion       // nil for the master
	away time.Duration // the longest pause before it is started anew
	seen witness
	done atomic.Int64 // rounds
}

// A witness records evidence that stops interrupted something.
type witness struct {
	killed, told int      // how often the daemon was killed, and told to end
	running      []answer // jobs of a minion that ran when it was killed
	spooled      int      // returns in spools while a daemon was away
}

// aimTime is how long a killer waits for a moment in which its stop interrupts something.
const aimTime = 2 * time.Second

// aim waits for a limited time until a job runs that the end of the daemon would interrupt.
func (k *killer) aim() {
	for by := time.Now().Add(aimTime); time.Now().Before(by); time.Sleep(look) {
		for _, m := range k.touched() {
			if len(m.running()) > 0 {
				return
			}
		}
	}
}

// touched returns the minions that the end of the daemon affects.
func (k *killer) touched() []*minion {
	if k.min == nil {
		return k.site.minions
	}
	return []*minion{k.min}
}

// running returns the ids of the jobs that a minion runs, or ran when it was killed.
func (m *minion) running() []string { return entries(filepath.Join(m.cfg.CacheDir, "proc")) }

// rounds stops the daemon a number of times, each when the load has progressed far enough.
func (k *killer) rounds(ctx context.Context, n int, due func(round int) bool) error {
	for round := range n {
		for !due(round) {
			if ctx.Err() != nil {
				return nil // the load has failed
			}
			time.Sleep(look)
		}
		time.Sleep(time.Duration(k.rng.IntN(300)) * time.Millisecond)
		if k.rng.IntN(2) == 0 {
			k.aim()
		}
		if err := k.strike(); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if k.rng.IntN(2) == 0 {
			time.Sleep(time.Duration(k.rng.IntN(int(k.away))))
		}
		k.look()
		if err := k.start(); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		k.done.Add(1)
	}
	return nil
}

// strike stops the daemon in a random way.
func (k *killer) strike() error {
	return k.strikeWith([]os.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM,
		os.Interrupt}[k.rng.IntN(4)])
}

// strikeWith stops the daemon with a signal, and records what that interrupted.
func (k *killer) strikeWith(sig os.Signal) error {
	if err := k.stop(sig); err != nil {
		return err
	}
	if sig != syscall.SIGKILL {
		k.seen.told++
		return nil
	}
	k.seen.killed++
	if k.min != nil {
		for _, jid := range k.min.running() {
			k.seen.running = append(k.seen.running, answer{jid, k.min.id})
		}
	}
	return nil
}

// look counts the returns that cannot be delivered while the daemon is stopped.
func (k *killer) look() {
	for _, m := range k.touched() {
		k.seen.spooled += len(m.spooled())
	}
}

// spooled returns the names of the returns that wait for the master.
func (m *minion) spooled() []string {
	names, _ := filepath.Glob(filepath.Join(m.cfg.CacheDir, "spool", "*", "*.ret")) // the pattern is good
	return names
}
