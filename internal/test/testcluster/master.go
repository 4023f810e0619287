//go:build linux

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/internal/test/testnet"
	"github.com/brineproject/brine/internal/test/wrongclock"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// look is the time between two looks at what is waited for.
const look = 5 * time.Millisecond

// effect is how long an action waits for its effect.
const effect = 30 * time.Second

// A Master is one salt-master. Several goroutines may use it; actions wait for each other.
type Master struct {
	Name       string        // m1, m2 and so on, which is also its id
	Dir        string        // of its configuration, for -c, with everything that it writes below
	ClusterKey string        // file of the cluster key, or ""
	Host       *testnet.Host // nil means this one

	bin            string
	publish, reply int
	cfg            *config.Master

	acting sync.Mutex // held by actions
	mu     sync.Mutex
	now    *process // nil while it does not run

	kept bool     // guarded by acting, as ends
	ends []string // of runs that were followed by another one

	setsClock bool          // guarded by acting, as off
	off       time.Duration // of the clock
}

// A process is one run of a master.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	told atomic.Bool   // an action ends it

	clock *wrongclock.Clock // nil if it cannot be set
}

// Address returns HOST:PORT of the request port.
func (m *Master) Address() string { return net.JoinHostPort(m.ip(), strconv.Itoa(m.reply)) }

func (m *Master) ip() string {
	if m.Host == nil {
		return "127.0.0.1"
	}
	return m.Host.Address
}

// Config returns the configuration, which must not be changed.
func (m *Master) Config() *config.Master { return m.cfg }

func (m *Master) path(name string) string { return filepath.Join(m.Dir, name) }

// process returns the running process, or nil.
func (m *Master) process() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == nil {
		return nil
	}
	select {
	case <-m.now.done:
		return nil
	default:
		return m.now
	}
}

// Pid returns the process id, or 0 if the master does not run.
func (m *Master) Pid() int {
	if p := m.process(); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// running returns the process, or an error that names the action that needs it.
func (m *Master) running(action string) (*process, error) {
	if err := m.revive(); err != nil {
		return nil, err
	}
	p := m.process()
	if p == nil {
		return nil, fmt.Errorf("%s master %s: it does not run", action, m.Name)
	}
	return p, nil
}

// excuses are in the last line of the log of a master that ends by itself, and expects that its service
// manager starts it again.
var excuses = []string{"are most of the NATS servers up?", "at the next start this master joins anew"}

// revive starts a kept master that has ended by itself with an excuse. m.acting is held.
func (m *Master) revive() error {
	m.mu.Lock()
	last := m.now
	m.mu.Unlock()
	if !m.kept || last == nil || m.process() != nil || last.told.Load() || last.cmd.ProcessState.ExitCode() != 1 {
		return nil
	}
	text, err := m.endOfLog(1 << 12)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	why := lines[len(lines)-1]
	if !slices.ContainsFunc(excuses, func(excuse string) bool { return strings.Contains(why, excuse) }) {
		return nil
	}
	m.ends = append(m.ends, why)
	return m.start()
}

// Keep has a service manager keep the master from now on: a run that ends by itself with one of the
// excuses is followed by another one.
func (m *Master) Keep() {
	m.acting.Lock()
	defer m.acting.Unlock()
	m.kept = true
}

// Ends returns the last lines of the logs of the runs that the service manager has followed by another.
func (m *Master) Ends() []string {
	m.acting.Lock()
	defer m.acting.Unlock()
	return slices.Clone(m.ends)
}

// endOfLog returns up to n bytes of the end of the log.
func (m *Master) endOfLog(n int64) (string, error) {
	file, err := os.Open(m.path("log"))
	if err != nil {
		return "", err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	text := make([]byte, min(n, size))
	if _, err := file.ReadAt(text, size-int64(len(text))); err != nil {
		return "", fmt.Errorf("read the log of %s: %w", m.Name, err)
	}
	return string(text), nil
}

// Start starts the process. It does not wait until the master answers.
func (m *Master) Start() error {
	m.acting.Lock()
	defer m.acting.Unlock()
	return m.start()
}

func (m *Master) start() error {
	if m.process() != nil {
		return fmt.Errorf("start master %s: it runs", m.Name)
	}
	said, err := os.OpenFile(m.path("stderr"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	command := exec.Command
	if m.Host != nil {
		command = m.Host.Command
	}
	cmd := command(filepath.Join(m.bin, "salt-master"), "-c", m.Dir)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &process{cmd: cmd, done: make(chan struct{})}
	if m.setsClock {
		p.clock, err = wrongclock.Start(cmd, m.off)
	} else {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start master %s: %w", m.Name, err)
	}
	go func() {
		_ = cmd.Wait() // its state is looked at
		close(p.done)
		if p.told.Load() {
			return
		}
		m.acting.Lock()
		defer m.acting.Unlock()
		_ = m.revive() // whoever needs the master next tries again, and reports it
	}()
	m.mu.Lock()
	m.now = p
	m.mu.Unlock()
	return nil
}

// Wait waits until the master answers on its request port and its event bus takes connections. The
// error is that of ctx with the last reason, or says that the process has ended.
func (m *Master) Wait(ctx context.Context) error {
	for {
		p := m.process()
		if p == nil && m.acting.TryLock() { // the service manager may be about to start it
			err := m.revive()
			m.acting.Unlock()
			if err != nil {
				return err
			}
			p = m.process()
		}
		if p == nil {
			return fmt.Errorf("wait for master %s: it does not run; its log ends with:\n%s", m.Name, m.log())
		}
		err := m.answers(ctx)
		if err == nil {
			return nil
		}
		if clock.Sleep(ctx, look) != nil {
			return fmt.Errorf("wait for master %s: %w: %w", m.Name, context.Cause(ctx), err)
		}
	}
}

func (m *Master) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	bus, err := eventbus.Dial(ctx, eventbus.MasterSockets(m.cfg.SockDir), eventbus.ClientOptions{})
	if err != nil {
		return err
	}
	defer bus.Close()
	out := m.requester()
	defer out.Close()
	_, err = channel.Clear(ctx, out, data.NewMap("cmd", "ping"))
	return err
}

func (m *Master) requester() transport.Requester {
	return zeromq.NewRequester(transport.Dialer{Addr: "tcp://" + m.Address(),
		BackoffMin: 20 * time.Millisecond, BackoffMax: 100 * time.Millisecond})
}

// Kill ends the process and its children with SIGKILL. It returns when the process is gone.
func (m *Master) Kill() error {
	m.acting.Lock()
	defer m.acting.Unlock()
	p, err := m.running("kill")
	if err != nil {
		return err
	}
	return m.end(p, syscall.SIGKILL)
}

// quit ends the process with SIGQUIT, on which it writes the stacks of its goroutines into the file stderr.
func (m *Master) quit() error {
	m.acting.Lock()
	defer m.acting.Unlock()
	p, err := m.running("quit")
	if err != nil {
		return err
	}
	return m.end(p, syscall.SIGQUIT)
}

// End ends the process with SIGTERM and returns when it is gone; the error says so if its exit code is
// not 0.
func (m *Master) End() error {
	m.acting.Lock()
	defer m.acting.Unlock()
	p, err := m.running("end")
	if err != nil {
		return err
	}
	return m.terminate(p)
}

func (m *Master) terminate(p *process) error {
	if err := m.end(p, syscall.SIGTERM); err != nil {
		return err
	}
	if state := p.cmd.ProcessState; state.ExitCode() != 0 {
		return fmt.Errorf("end master %s: %s", m.Name, state)
	}
	return nil
}

// end sends a signal and waits until the process is gone.
func (m *Master) end(p *process, sig syscall.Signal) error {
	p.told.Store(true)
	pid := p.cmd.Process.Pid
	target := pid
	if sig == syscall.SIGKILL {
		target = -pid // its children too
	}
	if err := syscall.Kill(target, sig); err != nil {
		return fmt.Errorf("%s master %s: %w", sig, m.Name, err)
	}
	select {
	case <-p.done:
	case <-time.After(effect):
		return fmt.Errorf("%s master %s: process %d is there after %s", sig, m.Name, pid, effect)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%s master %s: process %d is not gone: %w", sig, m.Name, pid, err)
	}
	return nil
}

// Restart ends the process in good order if it runs, and starts it again with the same files. It
// waits until the master answers.
func (m *Master) Restart(ctx context.Context) error {
	m.acting.Lock()
	defer m.acting.Unlock()
	before := m.process()
	if before != nil {
		if err := m.terminate(before); err != nil {
			return err
		}
	}
	if err := m.start(); err != nil {
		return err
	}
	return m.Wait(ctx)
}

// Stop halts the process with SIGSTOP and returns when all its threads stand still.
func (m *Master) Stop() error { return m.halt(syscall.SIGSTOP, true) }

// Continue lets a stopped process run again, and returns when it does.
func (m *Master) Continue() error { return m.halt(syscall.SIGCONT, false) }

func (m *Master) halt(sig syscall.Signal, stopped bool) error {
	m.acting.Lock()
	defer m.acting.Unlock()
	p, err := m.running(sig.String())
	if err != nil {
		return err
	}
	pid := p.cmd.Process.Pid
	if err := syscall.Kill(-pid, sig); err != nil {
		return fmt.Errorf("%s master %s: %w", sig, m.Name, err)
	}
	for by := time.Now().Add(effect); testnats.Stopped(pid) != stopped; time.Sleep(look) {
		if time.Now().After(by) {
			return fmt.Errorf("%s master %s: no effect after %s", sig, m.Name, effect)
		}
	}
	return nil
}

// Wipe ends the process if it runs, deletes cachedir and pki_dir, and starts the process again. It
// waits until the master answers. It is an error if there was nothing to delete.
func (m *Master) Wipe(ctx context.Context) error {
	m.acting.Lock()
	defer m.acting.Unlock()
	if p := m.process(); p != nil {
		if err := m.terminate(p); err != nil {
			return err
		}
	}
	for _, dir := range []string{m.cfg.CacheDir, m.cfg.PKIDir} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) == 0 {
			return fmt.Errorf("wipe master %s: %s has %d entries: %w", m.Name, dir, len(entries), err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("wipe master %s: %w", m.Name, err)
		}
	}
	if err := m.start(); err != nil {
		return err
	}
	return m.Wait(ctx)
}

// Accept writes accepted keys of minions, by id, into the pki_dir.
func (m *Master) Accept(keys map[string]string) error {
	dir := filepath.Join(m.cfg.PKIDir, "minions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("accept keys on master %s: %w", m.Name, err)
	}
	for id, pem := range keys {
		if err := os.WriteFile(filepath.Join(dir, id), []byte(pem), 0o644); err != nil {
			return fmt.Errorf("accept keys on master %s: %w", m.Name, err)
		}
	}
	return nil
}

// log returns the end of the log, and of what the program said.
func (m *Master) log() string {
	var all []string
	for _, name := range []string{"stderr", "log"} {
		text, _ := os.ReadFile(m.path(name)) // it may not have been written
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		all = append(all, lines[max(0, len(lines)-60):]...)
	}
	return strings.Join(all, "\n")
}
