package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// A Command is a separate program that runs as long as the daemon. It is restarted when it ends,
// and its child processes end with it. On Linux it ends even if the daemon is killed.
type Command struct {
	Name string
	Argv []string
	Dir  string
	Env  []string // NAME=value, besides the daemon's own
	// Out receives each line of the program's output; nil logs them.
	Out func(line []byte)
	// In writes the program's input until it returns or ctx ends; ctx lasts as long as the program.
	// nil means no input.
	In func(ctx context.Context, w io.Writer) error
}

// endWithin is how long a program may take to end before it is killed.
const endWithin = 3 * time.Second

// maxLast is the maximum length, in bytes, of the last output line in the error about a program's
// end.
const maxLast = 200

// maxLine is the maximum length, in bytes, of an output line that is passed on in one piece.
const maxLine = 64 << 10

// Part returns a Group part that runs the program.
func (c Command) Part(log logrus.FieldLogger) Part {
	return Part{Name: c.Name, Run: func(ctx context.Context, ready func()) error {
		ready()
		return c.run(ctx, log)
	}}
}

// run runs the program once. Its end is always an error.
func (c Command) run(ctx context.Context, log logrus.FieldLogger) error {
	if err := c.Run(ctx, log); err != nil {
		return err
	}
	return fmt.Errorf("%q: ended successfully, but should keep running", c.Argv)
}

// Run runs the program once and waits for its end. The error is that of ctx, or reports how the
// program ended and its last output line. It is nil on success.
func (c Command) Run(ctx context.Context, log logrus.FieldLogger) error {
	if len(c.Argv) == 0 {
		return errors.New("no command is given")
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(cmd.Environ(), c.Env...)
	cmd.WaitDelay = endWithin
	out, says := io.Pipe()
	cmd.Stdout, cmd.Stderr = says, says
	told := make(chan string, 1)
	go func() { told <- c.tell(out, log) }()
	fed, err := c.feed(ctx, cmd)
	if err == nil {
		err = runTied(cmd)
		fed()
	}
	_ = says.Close() // makes tell return
	last := <-told
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return nil
	}
	if last != "" {
		return fmt.Errorf("%q: %w; it said last: %s", c.Argv, err, last)
	}
	return fmt.Errorf("%q: %w", c.Argv, err)
}

// feed writes the program's input. The caller must call end when the program has ended.
func (c Command) feed(ctx context.Context, cmd *exec.Cmd) (end func(), err error) {
	if c.In == nil {
		return func() {}, nil
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() {
		if err := c.In(ctx, in); err == nil {
			_ = in.Close() // signals the end of the input
		}
	})
	return func() { cancel(); _ = in.Close(); writer.Wait() }, nil
}

// tell passes on the output line by line, and returns the last line.
func (c Command) tell(out *io.PipeReader, log logrus.FieldLogger) (last string) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxLine)
	lines.Split(scanPieces)
	for lines.Scan() {
		last = lines.Text()
		if c.Out != nil {
			c.Out(lines.Bytes())
		} else {
			log.Infof("%s: %s", c.Name, lines.Text())
		}
	}
	_, _ = io.Copy(io.Discard, out) // keeps the program from blocking
	return last[:min(len(last), maxLast)]
}

// scanPieces is bufio.ScanLines, but splits lines that are too long.
func scanPieces(data []byte, atEOF bool) (advance int, token []byte, err error) {
	advance, token, err = bufio.ScanLines(data, atEOF)
	if advance == 0 && token == nil && len(data) >= maxLine {
		return len(data), data, nil
	}
	return advance, token, err
}
