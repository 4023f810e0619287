package python

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"
)

// patience is the time that a template gets to end the workers and itself.
const patience = 5 * time.Second

// errNoProcess is returned when the system has no room for another process.
var errNoProcess = errors.New("the system allows no more processes or open files")

// A template is a Python process that forks workers (brinehost/template.py). Its methods and fields
// need Host.mu.
type template struct {
	conn *net.UnixConn
	cmd  *exec.Cmd
	out  io.Closer
	live int       // workers that have not been released
	used time.Time // of the last fork or release
	dead bool      // it does not answer

	closed atomic.Bool // its workers have ended with it
}

// forked returns a worker that the template forks. The template is started if it is not running.
func (h *Host) forked() (*worker, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errors.New("the Python host is closed")
	}
	w, err := h.fork()
	if err != nil && h.template != nil && h.template.dead { // since the last call
		h.retire()
		w, err = h.fork()
	}
	return w, err
}

// fork returns a new worker. h.mu is held.
func (h *Host) fork() (*worker, error) {
	if h.template == nil {
		t, err := h.startTemplate()
		if err != nil {
			return nil, err
		}
		h.template = t
	}
	t := h.template
	ours, theirs, err := pair()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoProcess, err) // the template is well
	}
	defer theirs.Close()
	pid, err := t.fork(int(theirs.Fd()))
	if err != nil {
		t.dead = !errors.Is(err, errNoProcess)
		return nil, errors.Join(fmt.Errorf("fork a Python worker: %w", err), ours.Close())
	}
	t.live++
	t.used = time.Now()
	w := newWorker(h, ours, pid)
	w.template = t
	return w, nil
}

// release makes a worker's template forget it. A template without workers ends when it is retired,
// and otherwise after a while.
func (h *Host) release(w *worker) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := w.template
	t.live--
	t.used = time.Now()
	if !t.dead {
		if _, err := t.ask('r', w.pid, 0); err != nil {
			t.dead = true
		}
	}
	switch {
	case t.live > 0:
	case t == h.template:
		h.endWhenIdle()
	default:
		if i := slices.Index(h.retired, t); i >= 0 {
			h.retired = slices.Delete(h.retired, i, i+1)
			return t.close()
		}
	}
	return nil
}

// endWhenIdle ends the template after a while, unless it is used meanwhile. h.mu is held.
func (h *Host) endWhenIdle() {
	if h.idle == nil {
		h.idle = time.AfterFunc(h.o.Idle, h.endIdle)
		return
	}
	h.idle.Reset(h.o.Idle)
}

// endIdle ends the template if nothing has used it for as long as the options say.
func (h *Host) endIdle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.template; t != nil && t.live == 0 && time.Since(t.used) >= h.o.Idle {
		h.retire()
	}
}

// retire makes the next worker get a new template. The old one ends with its workers. h.mu is held.
func (h *Host) retire() {
	t := h.template
	if t == nil {
		return
	}
	h.template = nil
	if t.live > 0 {
		h.retired = append(h.retired, t)
	} else if err := t.close(); err != nil {
		h.o.Log.WithError(err).Warn("end the Python process")
	}
}

// status returns how a worker ended, "" if that is not known.
func (h *Host) status(w *worker) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.template.dead {
		return ""
	}
	b, err := w.template.ask('s', w.pid, 4)
	if err != nil {
		w.template.dead = true
		return ""
	}
	return ending(b[2], b[3])
}

// fork sends the template one end of a socket and returns the id of the process that serves it.
func (t *template) fork(fd int) (pid int, err error) {
	if err := t.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, err
	}
	if _, _, err := t.conn.WriteMsgUnix([]byte{'f'}, rights(fd), nil); err != nil {
		return 0, err
	}
	var b [4]byte
	if _, err := io.ReadFull(t.conn, b[:]); err != nil {
		return 0, err
	}
	if pid = int(binary.BigEndian.Uint32(b[:])); pid == 0 {
		return 0, errNoProcess
	}
	return pid, nil
}

// ask sends a request about a worker and returns an answer of n bytes.
func (t *template) ask(request byte, pid, n int) ([]byte, error) {
	if err := t.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	if _, err := t.conn.Write(binary.BigEndian.AppendUint32([]byte{request}, uint32(pid))); err != nil {
		return nil, err
	}
	answer := make([]byte, n)
	_, err := io.ReadFull(t.conn, answer)
	return answer, err
}

func (h *Host) startTemplate() (*template, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd, err := h.command("fork", theirs)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	out, err := newPrinted(h.o.Log)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	cmd.Stdout, cmd.Stderr = out.file, out.file
	err = startGroup(cmd)
	_ = out.file.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start Python: %w", err), ours.Close(), out.Close())
	}
	return &template{conn: ours, cmd: cmd, out: out}, nil
}

// close ends the template, which kills the workers that it still has.
func (t *template) close() error {
	t.closed.Store(true)
	err := t.conn.Close()
	kill := time.AfterFunc(patience, func() { killGroup(t.cmd.Process.Pid) })
	_ = t.cmd.Wait()
	kill.Stop()
	return errors.Join(err, t.out.Close())
}
