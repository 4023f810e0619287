//go:build linux

package pairings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/installedsalt"
)

// A maker is whose program runs.
type maker string

const (
	brine maker = "Brine"
	salt  maker = "Salt"
)

// A bench has the programs of both makers.
type bench struct {
	bin  string // directory of Brine's programs
	salt *installedsalt.Salt
	user string
	dir  string // of everything that the test writes; short, for the paths of sockets are bounded
	logs string // directory of logs
}

// newBench builds Brine's programs and finds Salt's. Without Salt the test is skipped.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{salt: installedsalt.Find(t), dir: t.TempDir(), logs: t.ArtifactDir()}
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	b.user, b.bin = who.Username, filepath.Join(b.dir, "bin")
	build := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", b.bin+"/",
		"./cmd/salt", "./cmd/salt-key", "./cmd/salt-run",
		"./cmd/salt-master", "./cmd/salt-minion", "./cmd/salt-syndic")
	build.Dir = sources.Root(t)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return b
}

// command returns the command that runs a program of a maker in a process group of its own.
func (b *bench) command(m maker, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(b.bin, program), args...)
	if m == salt {
		cmd = b.salt.Command(program, args...)
	}
	cmd.Dir = b.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// output runs a program and returns its standard output. It kills the program after the patience.
func (b *bench) output(m maker, program string, args ...string) (string, error) {
	cmd := b.command(m, program, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := waitFor(ended)
	if errors.Is(err, errPatience) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	if err != nil {
		err = fmt.Errorf("%s of %s %s: %w: %s", program, m, strings.Join(args, " "), err,
			brief(out.String()+errs.String()))
	}
	return out.String(), err
}

// brief returns the part of an output that a failure shows, as one line.
func brief(text string) string {
	const most = 500
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = text[:most/2] + " ... " + text[len(text)-most/2:]
	}
	return text
}

// answers returns the objects in the output of the program salt, merged: one of them for all minions, or
// one for each.
func answers(output string) (map[string]any, error) {
	all := map[string]any{}
	start := strings.Index(output, "{")
	if start < 0 {
		return nil, fmt.Errorf("no answers: %s", brief(output))
	}
	for d := json.NewDecoder(strings.NewReader(output[start:])); ; {
		err := d.Decode(&all)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode answers: %w in %s", err, brief(output))
		}
	}
}

// patience is how long the test waits for something that must come. It is counted in ticks, so that time
// in which the test and all that it started are stopped does not count.
const patience = time.Minute

// errPatience is the error after the patience.
var errPatience = fmt.Errorf("it did not end within %s", patience)

// waitFor returns what comes from a channel, or errPatience.
func waitFor(ended <-chan error) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range int(patience / time.Second) {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
	}
	return errPatience
}

// until calls done until it returns nil. After the patience it returns the last error.
func until(ctx context.Context, done func() error) error { return within(ctx, patience, done) }

// within is until with a patience of its own.
func within(ctx context.Context, patience time.Duration, done func() error) error {
	const most = 10 * time.Second // that one call takes if nothing is stopped
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for left := patience; ; {
		begun := time.Now()
		err := done()
		if err == nil || left < 0 {
			return err
		}
		select {
		case <-tick.C:
			left -= min(time.Since(begun), most)
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// exists returns an error unless there is a file.
func exists(path string) error {
	_, err := os.Lstat(path)
	return err
}
