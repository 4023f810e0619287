package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// oneSignal is the time in which a repeated stop signal counts as the same one.
const oneSignal = 500 * time.Millisecond

// A life is one run of a Daemon. All events are handled in the loop of its method run.
type life struct {
	*Daemon
	ctx        context.Context
	cancel     context.CancelFunc
	pid        *PIDFile
	notify     *notifier
	background bool // started by detach
	signals    chan os.Signal
	once       sync.Once
	ready      chan struct{}
	role       Role
	files      *fileWatch
	stopping   bool
	stopped    time.Time  // time of the first stop signal
	stopSignal os.Signal  // the stop signal
	reloading  chan error // receives the result of a running reload; nil if there is none
	again      bool       // a reload is pending
}

// run starts the role and handles signals until it has ended.
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

// attend is the event loop of a daemon.
func (l *life) attend(started <-chan Role, ended <-chan error) error {
	var ready <-chan struct{} // not before the role is known here, whose status goes with it
	defer l.files.close()
	alive := l.notify.watchdog()
	defer alive.Stop()
	for {
		if l.reloading == nil { // options that a reload changes are not read during it
			l.files.pace(l.watchEvery())
		}
		select {
		case l.role = <-started:
			ready = l.ready
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

// tellReady is the role's ready function. It may be called from any goroutine and repeatedly.
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

// stop makes the role end. A second call ends the process.
func (l *life) stop(sig os.Signal) {
	if l.stopping && sig == l.stopSignal && time.Since(l.stopped) < oneSignal {
		return // the same signal, sent to both the process and its group
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

// release gives signals back to the process. After one that has ended the daemon they stay here: when
// it was sent twice, the second must not kill the program while it returns its exit code.
func (l *life) release() {
	if !l.stopping {
		signal.Stop(l.signals)
	}
}

// look reloads if files have changed.
func (l *life) look() {
	if l.role != nil && l.reloading == nil && l.files.changed() {
		l.Log.Info("the configuration has changed on disk")
		l.reload()
	}
}

// reload reopens the log files and starts to read the configuration in the background, so that
// signals are still handled. If the role is starting or another reload is running, the reload is
// started after that.
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

// reloaded handles the result of a reload.
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

// safely calls f and converts a panic to an error.
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

// dump logs the state of the process.
func (l *life) dump() {
	state := "starting"
	if l.role != nil {
		state = l.role.Dump()
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	l.Log.Warnf("%s: state at %s\n%sheap: %d kB in use\n%d goroutines:\n%s", l.Name,
		time.Now().Format(time.RFC3339), state, mem.HeapInuse>>10, runtime.NumGoroutine(), stacks())
}
