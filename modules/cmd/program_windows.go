package cmd

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// splitsWords is false: a command without a shell goes to the system as it is.
const splitsWords = false

func defaultShell() string {
	if shell := os.Getenv("COMSPEC"); shell != "" {
		return shell
	}
	return `C:\Windows\system32\cmd.exe`
}

func rootDir() string { return `C:\` }

func readable(path string) bool {
	_, err := os.ReadDir(path)
	return err == nil
}

func shellAvailable(j *job) error {
	if j.useVT {
		return loader.Execution("VT not available on windows")
	}
	return nil
}

// executable reports whether path is a file. Its extension decides whether it can run.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// command returns the program of a job: cmd.exe for a shell line, otherwise the first word.
func command(j *job) (*exec.Cmd, error) {
	words, list := wordsOf(j.cmd)
	c := &exec.Cmd{Env: pairs(j.env), WaitDelay: -1,
		SysProcAttr: &syscall.SysProcAttr{HideWindow: true}}
	line := data.Str(j.cmd)
	if list {
		quoted := make([]string, len(words))
		for i, w := range data.Texts(words) {
			quoted[i] = syscall.EscapeArg(w)
		}
		line = strings.Join(quoted, " ")
	}
	if j.useShell {
		c.Path = defaultShell()
		c.SysProcAttr.CmdLine = c.Path + ` /c "` + line + `"`
		return c, nil
	}
	path, err := exec.LookPath(firstToken(line))
	if err != nil {
		return nil, err
	}
	c.Path, c.SysProcAttr.CmdLine = path, line
	return c, nil
}

// firstToken returns the program of a command line.
func firstToken(line string) string {
	if rest, ok := strings.CutPrefix(line, `"`); ok {
		name, _, _ := strings.Cut(rest, `"`)
		return name
	}
	name, _, _ := strings.Cut(line, " ")
	return name
}

func statusCode(exit *exec.ExitError) int64 { return int64(exit.ExitCode()) }

// A place is the directory that a program starts in.
type place struct{ dir string }

func (j *job) place() place { return place{j.cwd} }

func (p place) enter(c *exec.Cmd, run func() error) error {
	c.Dir = p.dir
	return run()
}

// An identity is another user. Windows does not support that.
type identity struct{}

func (users) home(context.Context, string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home
}

func (logins) becomeUser(_ context.Context, j *job) error {
	if j.runas != "" {
		return loader.Execution("runas is not available on Windows")
	}
	return nil
}

func (logins) becomeGroup(_ context.Context, j *job) error {
	if j.group != "" {
		return loader.Invocation("group is not currently available on Windows")
	}
	return nil
}

func (logins) loginEnvironment(context.Context, *job) error { return nil }

// setOwner does nothing: files are open to all users who may run them.
func (users) setOwner(context.Context, *os.File, string) error { return nil }

// safeDir returns dir: no script runs as another user here.
func safeDir(dir string) (string, error) { return dir, nil }
