package docker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/brineproject/brine/data"
)

const (
	exitTries = 100
	exitPause = 50 * time.Millisecond
)

// A Command is a program to run in a container.
type Command struct {
	Argv  []string
	Env   []string // NAME=VALUE
	Stdin []byte
	User  string
	Merge bool // Stdout gets standard error too, in the order of printing
}

// A Ran is the outcome of a Command.
type Ran struct {
	Code, PID      int64
	Stdout, Stderr string
}

// Exec runs a program in a container and waits for it. Once the program runs, the wait has no limit but
// that of ctx.
func (c *Client) Exec(ctx context.Context, container string, cmd Command) (Ran, error) {
	made, err := c.Call(ctx, Request{Method: http.MethodPost, Path: Path("containers", container, "exec"), Body: data.NewMap(
		"AttachStdin", len(cmd.Stdin) > 0, "AttachStdout", true, "AttachStderr", true, "Tty", false,
		"Cmd", data.Values(cmd.Argv), "Env", data.Values(cmd.Env), "User", cmd.User,
	)})
	if err != nil {
		return Ran{}, err
	}
	m, _ := made.(*data.Map)
	id, _ := m.Value("Id").(string)
	if id == "" {
		return Ran{}, errors.New("the engine names no exec instance")
	}
	var out, errs bytes.Buffer
	second := &errs
	if cmd.Merge {
		second = &out
	}
	if err := c.attach(ctx, Path("exec", id, "start"), cmd.Stdin, &out, second); err != nil {
		return Ran{}, err
	}
	code, pid, err := c.exit(ctx, id)
	return Ran{Code: code, PID: pid, Stdout: out.String(), Stderr: errs.String()}, err
}

// exit returns the exit code of a program. The engine may know it only a moment after the end of the output.
func (c *Client) exit(ctx context.Context, id string) (code, pid int64, err error) {
	for range exitTries {
		v, err := c.Call(ctx, Request{Method: http.MethodGet, Path: Path("exec", id, "json")})
		if err != nil {
			return 0, 0, err
		}
		m, _ := v.(*data.Map)
		code, ok := m.Value("ExitCode").(int64)
		pid, _ := m.Value("Pid").(int64)
		if ok && m.Value("Running") != true {
			return code, pid, nil
		}
		select {
		case <-ctx.Done():
			return 0, 0, context.Cause(ctx)
		case <-time.After(exitPause):
		}
	}
	return 0, 0, errors.New("the engine names no exit code of the program")
}

// attach starts an exec instance on a connection of its own, writes its standard input and reads
// what it prints. The API takes the connection over, which net/http's client cannot half close.
func (c *Client) attach(ctx context.Context, path string, stdin []byte, stdout, stderr io.Writer) (err error) {
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	conn, err := c.dial(ctx)
	if err != nil {
		return fmt.Errorf("connect to the engine: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	req, err := c.request(ctx, Request{Method: http.MethodPost, Path: path, Body: data.NewMap("Detach", false, "Tty", false),
		Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"tcp"}}})
	if err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	resp, err := c.begin(conn, r, req)
	if err != nil {
		return fmt.Errorf("start the program: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		return refusal(resp)
	}
	var output io.Reader = r
	if resp.StatusCode != http.StatusSwitchingProtocols {
		output = resp.Body
	}
	fed := make(chan error, 1)
	go func() { fed <- feed(conn, stdin) }()
	err = Frames(output, stdout, stderr)
	conn.Close()                                              // a program that ended without reading its input leaves the writer waiting
	<-fed                                                     // its failure shows in what the program does
	if len(stdin) > 0 && errors.Is(err, syscall.ECONNRESET) { // the engine closed it with input that nobody read
		return nil
	}
	return err
}

// begin sends the request that starts a program, and returns the head of the answer.
func (c *Client) begin(conn net.Conn, r *bufio.Reader, req *http.Request) (*http.Response, error) {
	if c.timeout > 0 {
		if err := conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
			return nil, err
		}
	}
	if err := req.Write(conn); err != nil {
		return nil, c.silent(err)
	}
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, c.silent(err)
	}
	return resp, conn.SetDeadline(time.Time{}) // the program itself may take as long as it likes
}

// silent returns the reason of an error of a connection with a deadline.
func (c *Client) silent(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w for %s", errSilent, c.timeout)
	}
	return err
}

// feed writes a program's standard input and ends it.
func feed(conn net.Conn, stdin []byte) error {
	if len(stdin) > 0 {
		if _, err := conn.Write(stdin); err != nil {
			return err
		}
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			return half.CloseWrite()
		}
	}
	return nil
}
