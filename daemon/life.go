package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// oneSignal is how long after a signal to stop the same one again counts as that.
const oneSignal = 500 * time.Millisecond

// A life is one run of a Daemon: all that happens to it passes through the loop of its method run.
type life struct {
	*Daemon
	ctx        context.Context
	cancel     context.CancelFunc
	pid        *PIDFile
	notify     *notifier
	background bool // it was started by detach
	signals    chan os.Signal
	once       sync.Once
	ready      chan struct{}
	role       Role
	files      *fileWatch
	stopping   bool
	stopped    time.Time  // when that began
	stopSignal os.Signal  // by what
	reloading  chan error // gets the end of a reload under way; nil when there is none
	again      bool       // a reload was asked for that could not begin yet
}

// run starts the role and answers signals until it has ended.
func (l *life) run() int {
	started, ended := make(chan Role, 1), make(chan error, 1)
	go func() {
		role, err := l.Start(l.ctx, l.settle)
		if err == nil {
			started <- role
			err = role.Run(l.ctx, l.tellReady)
		}
		ended <- err
	}()
	err := l.attend(started, ended)
	if err == nil || l.stopping && (l.role == nil || errors.Is(err, context.Canceled)) {
		return exitOK
	}
	return l.fail(err)
}

// attend is the loop of a daemon.
func (l *life) attend(started <-chan Role, ended <-chan error) error {
	ready := l.ready
	defer l.files.close()
	alive := l.notify.watchdog()
	defer alive.Stop()
	for {
		if l.reloading == nil { // what a reload changes is not read meanwhile
			l.files.pace(l.watchEvery())
		}
		select {
		case l.role = <-started:
			l.reloadAgain()
		case <-ready:
			ready = nil
			l.isReady()
		case sig := <-l.signals:
			l.handle(sig)
		case <-l.files.tick():
			l.look()
		case err := <-l.reloading:
			l.reloaded(err)
		case <-alive.C:
			l.notify.alive(l.status())
		case err := <-ended:
			l.notify.send("STOPPING=1")
			return err
		}
	}
}

func (l *life) watchEvery() time.Duration {
	if l.WatchEvery == nil {
		return 0
	}
	return l.WatchEvery()
}

// tellReady is given to the role, which may call it from any goroutine and again.
func (l *life) tellReady() { l.once.Do(func() { close(l.ready) }) }

func (l *life) isReady() {
	l.notify.send("READY=1\nSTATUS=" + l.status())
	if l.background {
		if err := leaveTerminal(); err != nil {
			l.Log.WithError(err).Error("leave the terminal")
		}
	}
}

func (l *life) status() string {
	if l.role == nil {
		return "starting"
	}
	return l.role.Status()
}

// stop lets the role end; a second call ends the process.
func (l *life) stop(sig os.Signal) {
	if l.stopping && sig == l.stopSignal && time.Since(l.stopped) < oneSignal {
		return // the same one, which came by two ways: to the process and to its group
	}
	if l.stopping {
		l.Log.Warnf("%s: a second %s; ending at once", l.Name, signalName(sig))
		l.pid.Close()
		os.Exit(exitGeneric)
	}
	l.stopping, l.stopped, l.stopSignal = true, time.Now(), sig
	l.notify.send("STOPPING=1\nSTATUS=stopping")
	l.Log.Infof("%s: received %s, stopping", l.Name, signalName(sig))
	l.cancel()
}

// look reloads when files have changed.
func (l *life) look() {
	if l.role != nil && l.reloading == nil && l.files.changed() {
		l.Log.Info("the configuration has changed on disk")
		l.reload()
	}
}

// reload opens the log files anew and has the configuration read again, aside, so that signals are answered meanwhile. One
// that cannot begin yet, since the role starts or another one is under way, begins then.
func (l *life) reload() {
	if l.stopping {
		return
	}
	if l.role == nil || l.reloading != nil {
		l.again = true
		return
	}
	l.notify.reloading()
	l.reopen()
	l.files.begin()
	done, role := make(chan error, 1), l.role
	l.reloading = done
	go func() { done <- safely(func() error { return role.Reload(l.ctx) }) }()
}

// reloaded is told the end of a reload.
func (l *life) reloaded(err error) {
	l.reloading = nil
	if err != nil && !l.stopping {
		l.Log.Errorf("the configuration was not reloaded, the old one stays in force: %v", err)
	}
	l.files.end()
	l.notify.send("READY=1\nSTATUS=" + l.status())
	l.reloadAgain()
}

func (l *life) reloadAgain() {
	if l.again {
		l.again = false
		l.reload()
	}
}

// safely calls f and makes a panic its error.
func safely(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

func (l *life) reopen() {
	if l.Reopen == nil {
		return
	}
	if err := l.Reopen(); err != nil {
		l.Log.WithError(err).Error("open the log files again")
	}
}

// dump writes what the process does to the log.
func (l *life) dump() {
	state := "starting"
	if l.role != nil {
		state = l.role.Dump()
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	l.Log.Warnf("%s: state at %s\n%sheap: %d kB in use\n%d goroutines:\n%s", l.Name, time.Now().Format(time.RFC3339), state,
		mem.HeapInuse>>10, runtime.NumGoroutine(), stacks())
}
