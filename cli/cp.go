package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
)

// exitNoFile is the exit code of a run whose source does not exist (salt/cli/cp.py).
const exitNoFile = 42

// Cp runs the program salt-cp until it is done or ctx ends, and returns its exit code
// (salt/cli/cp.py). It sends files to minions as jobs of the functions cp.recv or, with --chunked,
// cp.recv_chunked.
//
// Two things differ from Salt. Line ends stay as they are; without --chunked Salt converts Windows
// line ends to Unix ones. An empty file also arrives with --no-compression.
func Cp(ctx context.Context, in Invocation, stdout, stderr io.Writer) int {
	o, err := ParseCp(in)
	if err != nil {
		return PrintError(err, stdout, stderr)
	}
	cfg, err := clientConfig(o.Line, o.ConfigDir, in, stderr)
	if err != nil {
		return PrintError(err, stdout, stderr)
	}
	target := &SaltOptions{Line: o.Line, Target: o.Target, TargetKind: o.TargetKind,
		Timeout: o.Timeout, HardCrash: o.HardCrash}
	c := &copying{saltRun: &saltRun{o: target, cfg: cfg, opts: cfg.Map(), in: in}, files: o,
		all: data.NewMap()}
	if err := ReadClientConfig(c.opts, in, time.Now()); err != nil {
		return PrintError(err, stdout, stderr)
	}
	o.Merge(c.opts)
	if c.out, err = o.NewPrinter(c.opts, "", stdout, stderr); err != nil {
		return PrintError(err, stdout, stderr)
	}
	code := c.run(ctx)
	if err := c.out.Flush(); err != nil && code == exitOK {
		return exitGeneric
	}
	return code
}

// copying is one run of salt-cp.
type copying struct {
	*saltRun
	files *CpOptions
	all   *data.Map // what is printed: by minion, or by path with --chunked
}

// A sourceError reports a file that cannot be sent.
type sourceError struct {
	text   string
	code   int
	stdout bool
}

func (e *sourceError) Error() string { return e.text }

func (c *copying) run(ctx context.Context) int {
	send, err := c.prepare()
	if err == nil {
		err = c.connected(ctx, send)
	}
	var source *sourceError
	switch {
	case errors.As(err, &source) && source.stdout:
		c.out.Printf("%s\n", source.text)
		return source.code
	case errors.As(err, &source):
		c.out.PrintErr("%s\n", source.text)
		return source.code
	case errors.Is(err, context.Canceled):
		return c.fail(err)
	case err != nil:
		c.out.PrintErr("%v\n", err)
		return exitGeneric
	}
	if c.out.Print(c.all, "nested", exitOK) != nil {
		return exitGeneric
	}
	return exitOK
}

// prepare checks the sources before connecting and returns a function that sends them.
func (c *copying) prepare() (func(ctx context.Context) error, error) {
	if c.files.Chunked {
		tree, err := listTree(c.files.Sources)
		return func(ctx context.Context) error { return c.sendChunked(ctx, tree) }, err
	}
	files, err := readTexts(c.files.Sources)
	return func(ctx context.Context) error { return c.sendWhole(ctx, files) }, err
}

// connected calls do with a connection to the master.
func (c *copying) connected(ctx context.Context, do func(ctx context.Context) error) error {
	wire, err := HostWire(c.opts)
	if err != nil {
		return err
	}
	requester := wire.Request(c.dialMaster())
	defer requester.Close()
	if c.local, err = client.Open(ctx, c.clientOptions(requester)); err != nil {
		return err
	}
	defer c.local.Close()
	return do(ctx)
}

// readTexts returns the files by path. As in Salt, missing sources are skipped.
func readTexts(sources []string) (*data.Map, error) {
	files := data.NewMap()
	for _, name := range sources {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			return nil, &sourceError{name +
				` is a directory, only files are supported in non-chunked mode. Use "--chunked" command line argument.`,
				exitGeneric, true}
		case !info.Mode().IsRegular():
			continue
		}
		body, err := os.ReadFile(name)
		if err != nil {
			return nil, &sourceError{err.Error(), exitGeneric, false}
		}
		if !utf8.Valid(body) {
			return nil, &sourceError{name +
				` is not text in UTF-8. Use "--chunked" command line argument.`, exitGeneric, false}
		}
		files.Set(name, string(body))
	}
	return files, nil
}

// sendWhole sends all files in one job.
func (c *copying) sendWhole(ctx context.Context, files *data.Map) error {
	var err error
	c.all, err = c.command(ctx, "cp.recv", files, c.files.Dest)
	return err
}

// command runs a function on the minions and returns their results by minion. Minions that do not
// answer have False (salt/client/__init__.py, cmd).
func (c *copying) command(ctx context.Context, fun string, arg ...any) (*data.Map, error) {
	r := client.Request{Fun: fun, Arg: arg, Timeout: c.timeout()}
	var err error
	if r.Target, r.Kind, err = c.target(); err != nil {
		return nil, err
	}
	answers := data.NewMap()
	job, err := c.local.Publish(ctx, r)
	var noMinions *client.NoMinionsError
	if errors.As(err, &noMinions) {
		if !noMinions.NotRecorded() {
			c.out.Printf("No minions matched the target. No command was sent, no jid was assigned.\n")
		}
		c.reason(noMinions, r)
		return answers, nil
	}
	if err != nil {
		return nil, err
	}
	conns := &connections{opts: c.opts}
	defer conns.close()
	for result, err := range c.local.Results(ctx, job, c.wait(false)) {
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", job.ID, err)
		}
		answers.Set(result.ID, answerOf(result, job, conns).value)
	}
	for _, id := range job.Minions {
		if !answers.Has(id) {
			answers.Set(id, false)
		}
	}
	return answers, nil
}

// A tree lists what --chunked sends.
type tree struct {
	files []string
	modes map[string]any
	empty []string // directories
}

// listTree returns the files and empty directories of sources and everything below them
// (salt/cli/cp.py, _recurse).
func listTree(sources []string) (*tree, error) {
	t := &tree{modes: map[string]any{}}
	for _, name := range sources {
		if err := t.add(name); err != nil {
			return nil, err
		}
	}
	slices.Sort(t.empty)
	t.empty = slices.Compact(t.empty)
	return t, nil
}

func (t *tree) add(name string) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &sourceError{name + " does not exist", exitNoFile, false}
	}
	if err != nil {
		return nil //nolint:nilerr // as Salt
	}
	if !info.IsDir() {
		if _, twice := t.modes[name]; !twice {
			t.files = append(t.files, name)
		}
		t.modes[name] = modeOf(info)
		return nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil //nolint:nilerr // as Salt
	}
	if len(entries) == 0 {
		t.empty = append(t.empty, name)
	}
	for _, e := range entries {
		if err := t.add(filepath.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// remote returns the path on a minion for a file or directory.
func (c *copying) remote(t *tree, name string) string {
	dest := c.files.Dest
	inside := len(t.empty) > 0 || len(t.files) > 1 || strings.HasSuffix(dest, "/") ||
		strings.HasSuffix(dest, `\`)
	if slices.Contains(c.files.Sources, name) {
		if inside {
			return joined(dest, filepath.Base(name))
		}
		return dest
	}
	for _, source := range c.files.Sources {
		if rel, err := filepath.Rel(source, name); err == nil && filepath.IsLocal(rel) {
			return joined(dest, filepath.Base(source)+"/"+filepath.ToSlash(rel))
		}
	}
	return dest
}

// joined joins paths as Python does: it adds the slash and leaves them otherwise unchanged.
func joined(dir, name string) string {
	if dir == "" || strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}
