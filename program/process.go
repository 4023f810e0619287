package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
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

// ErrEnded is wrapped by the error of a call whose program ended before it answered.
var ErrEnded = errors.New("the program ended before it answered")

// A process is a program that answers calls. One goroutine at a time uses it.
type process struct {
	path   string
	in     *os.File // its standard input
	out    *os.File // its standard output
	lines  *bufio.Reader
	stderr *stderr
	log    *logrus.Entry
	logged int
	broken bool // the order of lines is lost

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
		return nil, errors.Join(fmt.Errorf("start the program %s: %w", path, err), theirIn.Close(), in.Close())
	}
	p := &process{path: path, in: in, out: out, lines: bufio.NewReader(out), log: log,
		stderr: &stderr{log: log}, done: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, p.stderr
	ctx, p.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		// the program alone keeps its ends, so that the end of its output is seen
		closeTheirs := sync.OnceFunc(func() { _, _ = theirIn.Close(), theirOut.Close() })
		p.err = programs.RunStarted(ctx, cmd, closeTheirs)
		closeTheirs()
		close(p.done)
		// a child may keep the output open; what the program has printed is read at once
		_ = out.SetReadDeadline(time.Now().Add(time.Second))
	}()
	return p, nil
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
	if !p.broken {
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
func (p *process) call(ctx context.Context, answers answers, request *data.Map) (answer *data.Map, err error) {
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	defer func() {
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
			p.broken = true
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
			p.broken = true
			return nil, fmt.Errorf("the program %s printed an object without return, error, log or salt", p.path)
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

// refusal returns the object that tells a program of an error.
func refusal(err error) *data.Map {
	class := "CommandExecutionError"
	if e, ok := errors.AsType[*loader.Error](err); ok {
		class = shortClass(e.Class)
	}
	return data.NewMap("error", data.NewMap("class", class, "message", err.Error()))
}

// send writes a line. A value that JSON does not have fails the call and leaves the program as it is.
func (p *process) send(m *data.Map) error {
	b, err := encode(m)
	if err != nil {
		if m.Has("return") { // of a function that the program has called
			return p.send(refusal(err))
		}
		return err
	}
	if _, err := p.in.Write(b); err != nil {
		p.broken = true
		return p.ended()
	}
	return nil
}

// encode returns an object as a line.
func encode(m *data.Map) ([]byte, error) {
	b, err := pyjson.Append(nil, m, pyjson.Options{Comma: ",", Colon: ":", NoNaN: true, SkipKeys: true, Other: plain})
	if err != nil {
		return nil, fmt.Errorf("write a value for a program: %w", err)
	}
	if len(b) >= maxLine {
		return nil, fmt.Errorf("%d bytes are more than the %d of a line for a program", len(b), maxLine)
	}
	return append(b, '\n'), nil
}

// plain returns the value that stands in JSON for one of another type.
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
		return nil, fmt.Errorf("the program %s printed a line that is no object in JSON: %.100q", p.path, line)
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
			return nil, p.ended()
		case len(line) > 1:
			return line[:len(line)-1], nil
		default:
			line = line[:0]
		}
	}
}

// ended waits for the end of the program and returns the error that names its cause.
func (p *process) ended() error {
	p.broken = true
	select {
	case <-p.done:
	case <-time.After(grace): // it closed its output, and runs on
		p.kill()
		<-p.done
	}
	err := fmt.Errorf("call the program %s: %w", p.path, ErrEnded)
	if p.err != nil {
		err = fmt.Errorf("%w: %w", err, p.err)
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
			p.log.Warnf("the program logs more than %d lines; the rest of this job's is dropped", maxLog)
		}
		return
	}
	parsed, err := logrus.ParseLevel(level)
	if err != nil || parsed < logrus.ErrorLevel {
		parsed = logrus.ErrorLevel
	}
	p.log.Log(parsed, text)
}
