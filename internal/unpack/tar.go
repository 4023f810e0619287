package unpack

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/brineproject/brine/process"
)

// A Runner runs a program to its end, as process.Run does.
type Runner func(ctx context.Context, cmd *exec.Cmd) error

// A Tar is an open tar archive.
type Tar struct {
	*tar.Reader

	begun bool // there was something to read
	close []func() error
}

// Open opens the tar archive in a file. Data compressed with xz are read through the program,
// started by run. The caller closes the Tar.
func Open(ctx context.Context, file string, run Runner) (*Tar, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	t := &Tar{close: []func() error{f.Close}}
	plain, err := t.decompress(ctx, f, run)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	t.Reader = tar.NewReader(t.noting(plain))
	return t, nil
}

// OpenWith opens the tar archive in the output of a program.
func OpenWith(ctx context.Context, argv []string, run Runner) *Tar {
	t := &Tar{}
	t.Reader = tar.NewReader(t.noting(t.output(ctx, argv, nil, run)))
	return t
}

// Close closes the archive.
func (t *Tar) Close() error {
	var errs []error
	for i := len(t.close) - 1; i >= 0; i-- {
		errs = append(errs, t.close[i]())
	}
	t.close = nil
	return errors.Join(errs...)
}

// decompress returns the uncompressed bytes of a file, by its first bytes.
func (t *Tar) decompress(ctx context.Context, f io.Reader, run Runner) (io.Reader, error) {
	r := bufio.NewReaderSize(f, 1<<16)
	start, _ := r.Peek(6)
	switch {
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return z, nil
	case bytes.HasPrefix(start, []byte("BZh")):
		return bzip2.NewReader(r), nil
	case bytes.Equal(start, []byte("\xfd7zXZ\x00")), bytes.HasPrefix(start, []byte("\x5d\x00\x00")):
		if process.Find("xz") == "" {
			return nil, ErrNoXZ
		}
		return t.output(ctx, []string{process.Find("xz"), "--decompress", "--stdout"}, r, run), nil
	}
	return r, nil
}

// output returns the output of a program with the input in.
func (t *Tar) output(ctx context.Context, argv []string, in io.Reader, run Runner) io.Reader {
	ctx, cancel := context.WithCancel(ctx)
	out, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var said tail
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, w, &said
		err := run(ctx, cmd)
		if err != nil {
			err = &ProgramError{Said: strings.TrimSpace(string(said)),
				Err: fmt.Errorf("run %s: %w", argv[0], err)}
		}
		w.CloseWithError(err)
	}()
	t.close = append(t.close, func() error {
		cancel()
		out.Close()
		<-done
		return nil
	})
	return out
}

// A ProgramError reports the failure of a decompressing program.
type ProgramError struct {
	Said string // the beginning of its error output
	Err  error
}

// Error returns the program and how it ended.
func (e *ProgramError) Error() string { return e.Err.Error() }

// Unwrap returns how it ended.
func (e *ProgramError) Unwrap() error { return e.Err }

// A tail keeps the beginning of what is written to it.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b[:min(len(b), 4096-min(len(*t), 4096))]...)
	return len(b), nil
}

// Each calls visit for each member, whose content can be read from t until visit returns. An
// archive without members must contain zeros in place of the first.
func (t *Tar) Each(visit func(h *tar.Header) error) error {
	for n := 0; ; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF) && !t.begun:
			return fmt.Errorf("%w: it is empty", ErrFormat)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && n == 0:
			return unreadable(err)
		case err != nil:
			return fmt.Errorf("read the archive after %d members: %w", n, err)
		case n == maxMembers:
			return fmt.Errorf("the archive has more than %d members", maxMembers)
		}
		if h.Name = strings.TrimRight(h.Name, "/"); h.Name == "" {
			h.Name = "."
		}
		if err := visit(h); err != nil {
			return err
		}
	}
}

// noting returns a reader that records whether there is anything to read: an archive without
// members has blocks of zeros, and an empty file is none.
func (t *Tar) noting(r io.Reader) io.Reader { return &noting{r, &t.begun} }

type noting struct {
	io.Reader
	begun *bool
}

func (n *noting) Read(p []byte) (int, error) {
	k, err := n.Reader.Read(p)
	if k > 0 {
		*n.begun = true
	}
	return k, err
}

// unreadable returns the error for data that do not begin like an archive.
func unreadable(err error) error {
	if known, ok := errors.AsType[*ProgramError](err); ok {
		return known
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}

// IsDir reports whether a member is a directory.
func IsDir(h *tar.Header) bool { return h.Typeflag == tar.TypeDir }

// IsLink reports whether a member is a symbolic link.
func IsLink(h *tar.Header) bool { return h.Typeflag == tar.TypeSymlink }
