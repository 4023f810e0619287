package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/sirupsen/logrus"
)

// A Command is a program of its own that lives as long as the daemon: it is started again when it ends, and nothing that it
// started outlives it. On Linux it ends even when the daemon is killed.
type Command struct {
	Name string
	Argv []string
	Dir  string
	Env  []string // NAME=value, besides the daemon's own
	// Out gets each line that the program prints; nil logs them.
	Out func(line []byte)
}

// endWithin is how long a program may take to end once it is told to; then it is killed.
const endWithin = 3 * time.Second

// maxLast is how much of a program's last line, in bytes, stands in the error of its end.
const maxLast = 200

// maxLine is the longest line, in bytes, of a program's output that is told in one piece.
const maxLine = 64 << 10

// Part returns the part of a Group that runs the program.
func (c Command) Part(log logrus.FieldLogger) Part {
	return Part{Name: c.Name, Run: func(ctx context.Context, ready func()) error {
		ready()
		return c.run(ctx, log)
	}}
}

// run starts the program and waits for its end, which is an error unless ctx has ended.
func (c Command) run(ctx context.Context, log logrus.FieldLogger) error {
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
	err := runTied(cmd)
	_ = says.Close() // ends tell
	last := <-told
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		err = errors.New("ended with success, though it should run on")
	}
	if last != "" {
		return fmt.Errorf("%q: %w; it said last: %s", c.Argv, err, last)
	}
	return fmt.Errorf("%q: %w", c.Argv, err)
}

// tell hands on the output line by line, and returns the last one.
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
	_, _ = io.Copy(io.Discard, out) // the program must not stall
	return last[:min(len(last), maxLast)]
}

// scanPieces is bufio.ScanLines that cuts lines which are too long.
func scanPieces(data []byte, atEOF bool) (advance int, token []byte, err error) {
	advance, token, err = bufio.ScanLines(data, atEOF)
	if advance == 0 && token == nil && len(data) >= maxLine {
		return len(data), data, nil
	}
	return advance, token, err
}
