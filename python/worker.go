package python

import (
	"bufio"
	"cmp"
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
	if w, err := s.rested(); w != nil || err != nil {
		return w, err
	}
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

// rested returns an idle worker whose process runs, nil if there is none. Workers that have ended
// while they were idle are dropped.
func (s *session) rested() (*worker, error) {
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, loader.ErrScopeClosed
		}
		if len(s.idle) == 0 {
			s.mu.Unlock()
			return nil, nil
		}
		w := s.idle[0]
		s.idle = s.idle[1:]
		s.mu.Unlock()
		if !w.broken.Load() && !hungUp(w.conn) {
			return w, nil
		}
		w.broken.Store(true)
		s.drop(w)
	}
}

// give returns a worker to the session. A broken one is dropped.
func (s *session) give(w *worker) {
	if w.broken.Load() {
		s.drop(w)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.idle = append(s.idle, w)
	}
}

// drop ends a worker that is not used any more.
func (s *session) drop(w *worker) {
	s.mu.Lock()
	at := slices.Index(s.all, w)
	if at >= 0 {
		s.all = slices.Delete(s.all, at, at+1)
	}
	s.mu.Unlock()
	if at < 0 {
		return // Close ends it
	}
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
	seen   int64    // generation of the files that it has loaded
	logged int      // records of the plug-ins' log
	scenes []staged // the last of its calls
	last   int64    // number of the newest scene

	mu       sync.Mutex
	released bool                                  // its process id may belong to another process
	buses    map[eventbus.Sockets]*eventbus.Client // subscriptions to events
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
	w, done, err := h.ready(ctx, answers)
	if err != nil {
		return reply{}, &startError{err}
	}
	defer done()
	return do(w)
}

// A startError says that there was no worker for a call. A later call may get one.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// ready returns a prepared worker of the job that ctx belongs to. done gives it back.
func (h *Host) ready(ctx context.Context, answers Answers) (w *worker, done func(), err error) {
	s, end, err := h.session(ctx)
	if err != nil {
		return nil, nil, err
	}
	if w, err = s.take(ctx); err != nil {
		end()
		return nil, nil, err
	}
	done = func() {
		s.give(w)
		end()
	}
	if err := h.prepare(ctx, w, answers); err != nil {
		done()
		return nil, nil, err
	}
	return w, done, nil
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
		if ctx.Err() != nil { // which may have ended between two calls
			return reply{}, context.Cause(ctx)
		}
		return reply{}, fmt.Errorf("call %s: %w", operation, ErrEnded)
	}
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		w.kill()
	})
	defer func() {
		if !stop() {
			<-killed // whoever gets the worker next sees that it is broken
		}
	}()
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
	b, err := appendValue(make([]byte, 4, 256), message)
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
			cmp.Or(err, errors.New("not a tuple")))
	}
	return message, nil
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

// maxLog is the most records that the plug-ins of one process of a daemon may log.
const maxLog = 10000

// write logs a record of a plug-in: level, logger and text.
func (w *worker) write(record []any) {
	if len(record) != 3 {
		return
	}
	if w.logged++; w.logged > maxLog && w.host.o.Daemon {
		if w.logged == maxLog+1 {
			w.host.o.Log.Warnf("The plug-ins of a job log more than %d records; the rest is dropped", maxLog)
		}
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
	for _, bus := range w.end() {
		err = errors.Join(err, bus.Close())
	}
	if w.template != nil {
		return errors.Join(err, w.host.release(w))
	}
	<-w.ended
	return err
}

// end kills the process, and its group if it was killed or broke, for the last time. It returns the
// subscriptions.
func (w *worker) end() map[eventbus.Sockets]*eventbus.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.released || w.isOver():
	case w.broken.Load():
		killGroup(w.pid)
	default:
		killProcess(w.pid)
	}
	buses := w.buses
	w.buses, w.released = nil, true
	return buses
}

// kill kills the process and its group. The id of a process that a template forked is not used
// again before it is released.
func (w *worker) kill() {
	w.broken.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.released && !w.isOver() {
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
