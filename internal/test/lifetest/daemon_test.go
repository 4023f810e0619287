//go:build linux

package lifetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/eventbus"
)

// patience is the timeout of every wait. It is generous: reaching it is a fault.
const patience = 60 * time.Second

// look is the interval of polling.
const look = 5 * time.Millisecond

// A daemon is a program that is started and stopped repeatedly.
type daemon struct {
	name    string
	program string
	conf    string
	sockets eventbus.Sockets
	said    string // file of standard error
	env     []string

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended

	mu     sync.Mutex
	starts []time.Duration // from exec until it is ready
	stops  []time.Duration // from an orderly signal until its end
}

// start starts the daemon and waits until its event bus accepts connections.
func (d *daemon) start() error {
	said, err := os.OpenFile(d.said, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	d.cmd = exec.Command(d.program, "-c", d.conf)
	d.cmd.Env, d.cmd.Stderr = append(os.Environ(), d.env...), said
	begun := time.Now()
	if err := d.cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	d.done = done
	go func() {
		_ = d.cmd.Wait() // its state is looked at
		close(done)
	}()
	if err := d.ready(); err != nil {
		return err
	}
	d.mu.Lock()
	d.starts = append(d.starts, time.Since(begun))
	d.mu.Unlock()
	return nil
}

func (d *daemon) ready() error {
	for by := time.Now().Add(patience); time.Now().Before(by); time.Sleep(look) {
		select {
		case <-d.done:
			return fmt.Errorf("%s did not start without help: it ended with %s", d.name, d.cmd.ProcessState)
		default:
		}
		bus, err := eventbus.Dial(context.Background(), d.sockets, eventbus.ClientOptions{})
		if err == nil {
			return bus.Close()
		}
	}
	return fmt.Errorf("%s is not ready after %s", d.name, patience)
}

// stop sends a signal and waits for the end. After an orderly end the exit code is 0.
func (d *daemon) stop(sig os.Signal) error {
	begun := time.Now()
	if err := d.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("%s, %s: %w", d.name, sig, err)
	}
	select {
	case <-d.done:
	case <-time.After(patience):
		return fmt.Errorf("%s does not end after %s", d.name, sig)
	}
	if sig == syscall.SIGKILL {
		return nil
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with %s after %s", d.name, d.cmd.ProcessState, sig)
	}
	d.mu.Lock()
	d.stops = append(d.stops, time.Since(begun))
	d.mu.Unlock()
	return nil
}

// times returns the durations of starts and stops.
func (d *daemon) times() string {
	return fmt.Sprintf("%s: %d starts, median %s until ready; %d orderly stops, median %s", d.name,
		len(d.starts), median(d.starts), len(d.stops), median(d.stops))
}

func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)/2].Round(time.Millisecond)
}

// await waits until a condition is true.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for by := time.Now().Add(patience); !is(); time.Sleep(look) {
		if time.Now().After(by) {
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
