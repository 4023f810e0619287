package python

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
)

// maxMessage is the most bytes that one message may have, in either direction.
const maxMessage = 1 << 28

// ErrEnded is wrapped by the error of a call whose worker ended before it answered.
var ErrEnded = errors.New("the Python process ended")

// A session is the workers of one job. It has one, unless goroutines of the job call Python side by
// side.
type session struct {
	host *Host

	extra    bool       // it does not count as a job, since a job may wait for it
	entry    sync.Mutex // held while the job waits to be admitted
	admitted bool

	mu     sync.Mutex
	idle   []*worker
	all    []*worker
	closed bool
}

// Close ends the workers.
func (s *session) Close() error {
	s.mu.Lock()
	all := s.all
	s.all, s.idle, s.closed = nil, nil, true
	s.mu.Unlock()
	var errs []error
	for _, w := range all {
		errs = append(errs, w.close())
	}
	s.entry.Lock()
	defer s.entry.Unlock()
	if s.admitted {
		s.admitted = false
		<-s.host.jobs
	}
	return errors.Join(errs...)
}

// admit waits until there are few enough jobs with workers. More workers of a job that has one are
// always admitted, because its calls may wait for them.
func (s *session) admit(ctx context.Context) error {
	if s.extra || !s.host.o.Daemon {
		return nil
	}
	s.entry.Lock()
	defer s.entry.Unlock()
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return loader.ErrScopeClosed
	}
	if s.admitted {
		return nil
	}
	select {
	case s.host.jobs <- struct{}{}:
		s.admitted = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take returns a worker that is idle, or a new one.
func (s *session) take(ctx context.Context) (*worker, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, loader.ErrScopeClosed
	}
	for len(s.idle) > 0 {
		w := s.idle[0]
		s.idle = s.idle[1:]
		if !w.broken.Load() { // by the end of the call's context, after it was given back
			s.mu.Unlock()
			return w, nil
		}
		s.drop(w)
	}
	s.mu.Unlock()
	if err := s.admit(ctx); err != nil {
		return nil, fmt.Errorf("wait for other jobs in Python: %w", err)
	}
	w, err := s.host.start()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(loader.ErrScopeClosed, w.close())
	}
	s.all = append(s.all, w)
	return w, nil
}

// give returns a worker to the session. A broken one is ended.
func (s *session) give(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed: // Close ends it
	case w.broken.Load():
		s.drop(w)
	default:
		s.idle = append(s.idle, w)
	}
}

// drop ends a broken worker. s.mu is held.
func (s *session) drop(w *worker) {
	s.all = slices.DeleteFunc(s.all, func(one *worker) bool { return one == w })
	if err := w.close(); err != nil {
		s.host.o.Log.WithError(err).Debug("end a broken Python process")
	}
}

// A worker is a Python process with the socket to it.
type worker struct {
	host     *Host
	conn     *net.UnixConn
	in       *bufio.Reader
	pid      int
	template *template     // that forked it
	cmd      *exec.Cmd     // of a command, which has no template
	ended    chan struct{} // closed when cmd has ended

	broken atomic.Bool // the process has ended or was killed, or the stack of calls is lost
	opened bool
	seen   int64   // generation of the files that it has loaded
	scenes []scene // those of its calls; Python knows them by their numbers, from 1

	mu    sync.Mutex
	buses map[eventbus.Sockets]*eventbus.Client // subscriptions to events
}

func newWorker(h *Host, conn *net.UnixConn, pid int) *worker {
	return &worker{host: h, conn: conn, in: bufio.NewReader(conn), pid: pid}
}

// maxCalls is how deep calls between Go and Python may nest. Python's own limit, which a plug-in can
// raise, comes first otherwise.
const maxCalls = 1000

// holding marks a context of a call that Python made, so that a call back goes to the same worker.
type holding struct {
	w     *worker
	depth int
	mu    sync.Mutex // one call at a time goes on top of the stack
}

type holdingKey struct{}

// Answers performs the calls that Python makes. See brinehost/worker.py.
type Answers func(ctx context.Context, operation string, args []any) (any, error)

// call calls an operation of a worker of the job that ctx belongs to.
func (h *Host) call(ctx context.Context, answers Answers, operation string, args ...any) (reply, error) {
	return h.use(ctx, answers, func(w *worker) (reply, error) {
		return w.call(ctx, answers, operation, args)
	})
}

// use calls do with a worker of the job that ctx belongs to.
func (h *Host) use(
	ctx context.Context, answers Answers, do func(w *worker) (reply, error),
) (reply, error) {
	if above, ok := ctx.Value(holdingKey{}).(*holding); ok && above.w.host == h {
		if above.depth >= maxCalls {
			return reply{}, &loader.Error{Kind: loader.KindException, Class: "RecursionError",
				Text: fmt.Sprintf("calls between Salt and Python nest deeper than %d", maxCalls)}
		}
		above.mu.Lock()
		defer above.mu.Unlock()
		return do(above.w)
	}
	s, done, err := h.session(ctx)
	if err != nil {
		return reply{}, err
	}
	defer done()
	w, err := s.take(ctx)
	if err != nil {
		return reply{}, err
	}
	defer s.give(w)
	if err := h.prepare(ctx, w, answers); err != nil {
		return reply{}, err
	}
	return do(w)
}

// prepare gives a new worker its settings, and makes an old one forget files that may have changed.
func (h *Host) prepare(ctx context.Context, w *worker, answers Answers) error {
	now := h.generation.Load()
	operation, args := "forget", []any{}
	if !w.opened {
		operation, args = "open", []any{h.settings()}
	} else if w.seen == now {
		return nil
	}
	if _, err := w.call(ctx, answers, operation, args); err != nil {
		return err
	}
	w.opened, w.seen = true, now
	return nil
}

// settings returns the argument of the operation open.
func (h *Host) settings() *data.Map {
	directories := data.NewMap()
	for kind, list := range h.o.Directories() {
		directories.Set(kind, data.Values(list))
	}
	levels := map[logrus.Level]int64{
		logrus.TraceLevel: 1, logrus.DebugLevel: 10, logrus.InfoLevel: 20, logrus.WarnLevel: 30,
		logrus.ErrorLevel: 40, logrus.FatalLevel: 50, logrus.PanicLevel: 50,
	}
	return data.NewMap("directories", directories, "level", levels[h.o.Level], "daemon", h.o.Daemon)
}

// A reply is the answer to a call: the result, and what the call left in __context__ for the job.
type reply struct {
	value any
	notes *data.Map
}

// call calls an operation and performs the calls that Python makes until it answers. When ctx ends
// the process is killed with all that it started.
func (w *worker) call(
	ctx context.Context, answers Answers, operation string, args []any,
) (r reply, err error) {
	if w.broken.Load() {
		return reply{}, fmt.Errorf("call %s: %w", operation, ErrEnded)
	}
	stop := context.AfterFunc(ctx, w.kill)
	defer stop()
	defer func() {
		if ctx.Err() != nil && err != nil {
			err = context.Cause(ctx)
		}
	}()
	if err := w.send(append(data.Tuple{"call", operation}, args...)); err != nil {
		return reply{}, err
	}
	for {
		message, err := w.receive()
		if err != nil {
			return reply{}, err
		}
		switch message[0] {
		case "return":
			return w.returned(message[1:])
		case "error":
			return reply{}, failure(message[1:])
		case "log":
			w.write(message[1:])
		case "call":
			if err := w.answer(ctx, answers, message[1:]); err != nil {
				return reply{}, err
			}
		default:
			w.broken.Store(true)
			return reply{}, fmt.Errorf("unknown message %s of the Python process", data.Repr(message[0]))
		}
	}
}

// returned returns the reply of a message: a value and notes.
func (w *worker) returned(message []any) (reply, error) {
	if len(message) != 2 {
		w.broken.Store(true)
		return reply{}, errors.New("return of the Python process without notes")
	}
	notes, _ := message[1].(*data.Map)
	if refused, ok := notes.Get("refused"); ok {
		w.host.report(data.TextsOf(refused))
	}
	return reply{message[0], notes}, nil
}

// answer performs a call that Python makes.
func (w *worker) answer(ctx context.Context, answers Answers, call []any) error {
	operation, _ := call[0].(string)
	depth := 1
	if above, ok := ctx.Value(holdingKey{}).(*holding); ok {
		depth += above.depth
	}
	held := context.WithValue(ctx, holdingKey{}, &holding{w: w, depth: depth})
	v, err := answers(held, operation, call[1:])
	if err != nil {
		if w.broken.Load() {
			return err
		}
		return w.send(refusal(err))
	}
	err = w.send(data.Tuple{"return", v})
	var unfit *unfitError
	if errors.As(err, &unfit) {
		return w.send(refusal(err))
	}
	return err
}

// An unfitError says that a value cannot be sent to Python. Nothing was sent.
type unfitError struct{ err error }

func (e *unfitError) Error() string { return e.err.Error() }
func (e *unfitError) Unwrap() error { return e.err }

// send sends a message.
func (w *worker) send(message data.Tuple) error {
	b, _, err := appendValue(make([]byte, 4, 256), message)
	if err == nil && len(b)-4 > maxMessage {
		err = fmt.Errorf("%d bytes are more than the %d of a message", len(b)-4, maxMessage)
	}
	if err != nil {
		return &unfitError{err}
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	if _, err := w.conn.Write(b); err != nil {
		return w.lost(err)
	}
	return nil
}

// lost returns the error for a process that has ended, or does not answer for another reason.
func (w *worker) lost(err error) error {
	w.broken.Store(true)
	if status := w.status(); status != "" {
		return fmt.Errorf("%w: %s", ErrEnded, status)
	}
	return fmt.Errorf("%w: %w", ErrEnded, err)
}

// receive returns the next message, which has two elements or more.
func (w *worker) receive() (data.Tuple, error) {
	b, err := w.read()
	if err != nil {
		return nil, w.lost(err)
	}
	v, err := readValue(b)
	message, ok := v.(data.Tuple)
	if err != nil || !ok || len(message) < 2 {
		w.broken.Store(true)
		return nil, fmt.Errorf("message of the Python process cannot be read: %w",
			cmpErr(err, errors.New("not a tuple")))
	}
	return message, nil
}

func cmpErr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (w *worker) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(w.in, b)
	return b, err
}

// write logs what a plug-in logs: level, logger and text.
func (w *worker) write(record []any) {
	if len(record) != 3 {
		return
	}
	number, _ := record[0].(int64)
	level := logrus.TraceLevel
	for _, l := range []struct {
		from  int64
		level logrus.Level
	}{{40, logrus.ErrorLevel}, {30, logrus.WarnLevel}, {20, logrus.InfoLevel}, {10, logrus.DebugLevel}} {
		if number >= l.from {
			level = l.level
			break
		}
	}
	w.host.o.Log.WithField("name", data.Str(record[1])).Log(level, data.Str(record[2]))
}

// start returns a new worker.
func (h *Host) start() (*worker, error) {
	if h.o.Daemon {
		return h.forked()
	}
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd, err := h.command("serve", theirs)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = h.o.Stdin, h.o.Stdout, h.o.Stderr, time.Second
	ended, err := startBound(cmd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start Python: %w", err), ours.Close())
	}
	w := newWorker(h, ours, cmd.Process.Pid)
	w.cmd, w.ended = cmd, ended
	return w, nil
}

// status returns how the process ended, "" if it has not.
func (w *worker) status() string {
	if w.template != nil {
		return w.host.status(w)
	}
	select {
	case <-w.ended:
		return w.cmd.ProcessState.String()
	case <-time.After(patience):
		return ""
	}
}

// close ends the process. Programs that plug-ins have left running go on, as after a job of Salt's,
// unless the process was killed or broke.
func (w *worker) close() error {
	err := w.conn.Close()
	w.mu.Lock()
	for _, bus := range w.buses {
		err = errors.Join(err, bus.Close())
	}
	w.mu.Unlock()
	if w.broken.Load() {
		w.kill()
	} else if !w.isOver() {
		killProcess(w.pid)
	}
	if w.template != nil {
		return errors.Join(err, w.host.release(w))
	}
	<-w.ended
	return err
}

// kill kills the process and its group. The id of a process that a template forked is not used
// again before it is released.
func (w *worker) kill() {
	w.broken.Store(true)
	if !w.isOver() {
		killGroup(w.pid)
	}
}

// isOver reports whether the process has ended and its id may be used again.
func (w *worker) isOver() bool {
	if w.template != nil {
		return w.template.closed.Load()
	}
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// pair returns the two ends of a socket.
func pair() (ours *net.UnixConn, theirs *os.File, err error) {
	a, b, err := socketPair()
	if err != nil {
		return nil, nil, fmt.Errorf("make the socket to Python: %w", err)
	}
	defer a.Close()
	conn, err := net.FileConn(a)
	if err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return conn.(*net.UnixConn), b, nil
}
