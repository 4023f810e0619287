package grains

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/process"
)

// Limits for reading.
const (
	maxFile   = 8 << 20 // /proc/cpuinfo of 4000 cores
	maxOutput = 8 << 20
)

// A host is the source of files and programs.
type host struct {
	root string
	env  func(string) string
	run  func(ctx context.Context, name string, args ...string) ([]byte, error)
}

func newHost(o Options) *host {
	h := &host{root: o.Root, env: o.Env, run: o.Run}
	if h.env == nil {
		h.env = os.Getenv
	}
	if h.run == nil {
		h.run = runProgram
	}
	return h
}

// at returns the location of a path below the root.
func (h *host) at(path string) string {
	if h.root == "" || h.root == "/" {
		return path
	}
	return filepath.Join(h.root, path)
}

// read returns the first 8 MiB of a regular file.
func (h *host) read(path string) ([]byte, error) {
	if !h.isFile(path) {
		return nil, os.ErrNotExist
	}
	f, err := os.Open(h.at(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// text returns the contents of a file, or "" if it cannot be read; bytes that are not UTF-8 become
// U+FFFD.
func (h *host) text(path string) string {
	b, err := h.read(path)
	if err != nil {
		return ""
	}
	return clean(b)
}

func clean(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

func (h *host) exists(path string) bool { _, err := os.Stat(h.at(path)); return err == nil }

func (h *host) isFile(path string) bool {
	st, err := os.Stat(h.at(path))
	return err == nil && st.Mode().IsRegular()
}

func (h *host) isDir(path string) bool {
	st, err := os.Stat(h.at(path))
	return err == nil && st.IsDir()
}

// list returns the names in a directory, sorted.
func (h *host) list(dir string) []string {
	entries, err := os.ReadDir(h.at(dir))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// which returns the path of a program, or "" if there is none. Like Salt it searches the usual
// directories even if PATH lacks them (salt/utils/path.py, which).
func (h *host) which(name string) string {
	if filepath.IsAbs(name) {
		if h.executable(name) {
			return name
		}
		return ""
	}
	dirs := filepath.SplitList(h.env("PATH"))
	for _, d := range []string{"/sbin", "/bin", "/usr/sbin", "/usr/bin", "/usr/local/sbin",
		"/usr/local/bin"} {
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	for _, d := range dirs {
		if p := filepath.Join(d, name); filepath.IsAbs(d) && h.executable(p) {
			return p
		}
	}
	return ""
}

func (h *host) executable(path string) bool {
	st, err := os.Stat(h.at(path))
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// output runs a program that which finds and returns its output without trailing white space. ok is
// false if there is no such program, if it failed or took longer than 3 seconds. A program that
// cannot even be killed is abandoned.
func (h *host) output(ctx context.Context, name string, args ...string) (out string, ok bool) {
	path := h.which(name)
	if path == "" || ctx.Err() != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeoutCause(ctx, programTime, process.ErrTimeout)
	defer cancel()
	type result struct {
		printed []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		b, err := h.run(ctx, h.at(path), args...)
		done <- result{b, err}
	}()
	late, stop := after(ctx, killTime)
	defer stop()
	select {
	case r := <-done:
		return strings.TrimRight(clean(r.printed), "\r\n\t "), r.err == nil
	case <-late:
		return "", false
	}
}

// after returns a channel that is closed some time after the end of ctx, unless stop is called
// before the end.
func after(ctx context.Context, d time.Duration) (late <-chan struct{}, stop func() bool) {
	c := make(chan struct{})
	return c, context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { close(c) }) })
}

var errTooLong = errors.New("output is too long")

// runProgram runs a program in the C locale and returns its standard output.
func runProgram(ctx context.Context, name string, args ...string) ([]byte, error) {
	var out limited
	cmd := exec.Command(name, args...)
	cmd.Stdout = &out
	cmd.Env = append(os.Environ(), "LC_ALL=C", "LANGUAGE=C")
	err := process.Run(ctx, cmd)
	return out.Bytes(), err
}

// limited is a buffer that fails beyond maxOutput.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxOutput {
		return 0, errTooLong
	}
	return l.Buffer.Write(p)
}

// lines returns the lines of text without their ends.
func lines(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\r\n", "\n"), "\n")
}
