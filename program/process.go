package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	programs "github.com/brineproject/brine/process"
)

const (
	maxLine = 16 << 20        // bytes of a line
	maxLog  = 10000           // lines that one process may log
	grace   = 2 * time.Second // from the end of the input until the program is killed
)

// A process is a program that answers calls. One goroutine at a time uses it.
type process struct {
	path   string
	in     *os.File // its standard input
	out    *os.File // its standard output
	lines  *bufio.Reader
	stderr *stderr
	log    *logrus.Entry
	logged int
	broken atomic.Bool // the order of lines is lost

	cancel context.CancelCauseFunc
	done   chan struct{} // closed at its end
	err    error         // of its end, after done
}

// answers calls a function of Brine for a program.
type answers func(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error)

// start starts a program. It belongs to the job of ctx and outlives the call.
func start(ctx context.Context, path string, log *logrus.Entry) (*process, error) {
	cmd, err := command(path, "run")
	if err != nil {
		return nil, fmt.Errorf("start the program %s: %w", path, err)
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the program %s: %w", path, err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		err = fmt.Errorf("start the program %s: %w", path, err)
		return nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	p := &process{path: path, in: in, out: out, lines: bufio.NewReader(out), log: log,
		stderr: &stderr{log: log}, done: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, p.stderr
	ctx, p.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	wait, err := begin(ctx, cmd)
	_ = theirIn.Close() // only the program has these ends now, so that its end is noticed
	_ = theirOut.Close()
	if err != nil {
		err = fmt.Errorf("start the program %s: %w", path, err)
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go func() {
		p.err = wait()
		_ = out.SetReadDeadline(time.Now().Add(grace)) // a child of it may keep the output open
		close(p.done)
	}()
	return p, nil
}

// begin starts cmd as process.Begin does, on a thread that lives as long as the program, which
// bound needs.
func begin(ctx context.Context, cmd *exec.Cmd) (wait func() error, err error) {
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine
		wait, err := programs.Begin(ctx, cmd)
		started <- err
		if err == nil {
			ended <- wait()
		}
	}()
	return func() error { return <-ended }, <-started
}

// kill ends the program at once, with all that it has started.
func (p *process) kill() { p.cancel(programs.ErrTimeout) }

// over reports whether the program has ended.
func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// close ends the program: its input ends, and after a while it is killed.
func (p *process) close() {
	_ = p.in.Close()
	if !p.broken.Load() {
		select {
		case <-p.done:
		case <-time.After(grace):
		}
	}
	p.kill()
	<-p.done
	_ = p.out.Close()
}

// call sends a request and performs the calls of the program until it answers. When ctx ends, the
// program is killed.
func (p *process) call(
	ctx context.Context, answers answers, request *data.Map,
) (answer *data.Map, err error) {
	stop := context.AfterFunc(ctx, p.kill)
	defer func() {
		if !stop() { // it is killed, even if it has answered
			p.broken.Store(true)
		}
		if ctx.Err() != nil && err != nil {
			err = context.Cause(ctx)
		}
	}()
	if err := p.send(request); err != nil {
		return nil, err
	}
	for {
		line, err := p.receive()
		if err != nil {
			p.broken.Store(true)
			return nil, err
		}
		switch fun, calls := line.Get("salt"); {
		case line.Has("return") || line.Has("error"):
			return line, nil
		case line.Has("log"):
			p.write(line.Text("log"), data.Str(line.Value("message")))
		case calls:
			if err := p.send(result(ctx, answers, data.Str(fun), line)); err != nil {
				return nil, err
			}
		default:
			p.broken.Store(true)
			return nil, fmt.Errorf("the program %s printed an object without return, error, log or salt",
				p.path)
		}
	}
}

// result returns the answer to a call that a program makes.
func result(ctx context.Context, answers answers, fun string, line *data.Map) *data.Map {
	kwargs, _ := line.Value("kwargs").(*data.Map)
	args, _ := line.Value("args").([]any)
	v, err := answers(ctx, fun, args, kwargs)
	if err == nil {
		return data.NewMap("return", v)
	}
	return refusal(err)
}

// refusal returns err as the JSON object that a program receives.
func refusal(err error) *data.Map {
	class := "CommandExecutionError"
	if e, ok := errors.AsType[*loader.Error](err); ok {
		class = shortClass(e.Class)
	}
	return data.NewMap("error", data.NewMap("class", class, "message", err.Error()))
}

// send writes a line. A value that JSON cannot express fails the call; the program stays usable.
func (p *process) send(m *data.Map) error {
	b, err := encode(m)
	if err != nil {
		if m.Has("return") { // of a function that the program has called
			return p.send(refusal(err))
		}
		return err
	}
	if _, err := p.in.Write(b); err != nil {
		p.broken.Store(true)
		return p.ended("input")
	}
	return nil
}

// encode returns an object as a line.
func encode(m *data.Map) ([]byte, error) {
	b, err := pyjson.Append(nil, m,
		pyjson.Options{Comma: ",", Colon: ":", NoNaN: true, SkipKeys: true, Other: plain})
	if err != nil {
		return nil, fmt.Errorf("write a value for a program: %w", err)
	}
	if len(b) >= maxLine {
		return nil, fmt.Errorf("a line of %d bytes for a program exceeds the limit of %d",
			len(b), maxLine)
	}
	return append(b, '\n'), nil
}

// plain returns a value for JSON in place of one whose type JSON does not have.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case []byte:
		return string(v), nil
	case []string:
		return data.Values(v), nil
	case data.Set:
		return []any(v), nil
	}
	return data.Str(v), nil
}

// receive returns the next object that the program prints.
func (p *process) receive() (*data.Map, error) {
	line, err := p.readLine()
	if err != nil {
		return nil, err
	}
	v, err := pyjson.Load(string(line))
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, fmt.Errorf("the program %s printed a line that is not a JSON object: %.100q",
			p.path, line)
	}
	return m, nil
}

// readLine returns the next line without its end. Empty ones are skipped.
func (p *process) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := p.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("the program %s printed a line of more than %d bytes", p.path, maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, p.ended("output")
		case len(line) > 1:
			return line[:len(line)-1], nil
		default:
			line = line[:0]
		}
	}
}

// ended waits for the end of a program that closed its input or output, which closed names, and
// returns the error of its call. A program that runs on is killed.
func (p *process) ended(closed string) error {
	p.broken.Store(true)
	var err error
	select {
	case <-p.done:
		err = fmt.Errorf("call the program %s: the program ended before it answered", p.path)
		if p.err != nil {
			err = fmt.Errorf("%w: %w", err, p.err)
		}
	case <-time.After(grace):
		p.kill()
		<-p.done
		err = fmt.Errorf("the program %s closed its %s before it answered", p.path, closed)
	}
	if last := p.stderr.last(); last != "" {
		err = fmt.Errorf("%w: %s", err, last)
	}
	return err
}

// write logs a line of the program.
func (p *process) write(level, text string) {
	p.logged++
	if p.logged > maxLog {
		if p.logged == maxLog+1 {
			p.log.Warnf("the program logs more than %d lines; the rest is dropped", maxLog)
		}
		return
	}
	parsed, err := logrus.ParseLevel(level)
	if err != nil || parsed < logrus.ErrorLevel {
		parsed = logrus.ErrorLevel
	}
	p.log.Log(parsed, text)
}
