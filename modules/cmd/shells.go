package cmd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// interpreters finds out the versions of shells and script languages.
type interpreters struct {
	env      *loader.Env
	environs environs
}

const shellsFile = "/etc/shells"

// shells returns the shells of the system, from /etc/shells.
//
// CLI Example:
//
//	salt '*' cmd.shells
func (m shellList) shells(context.Context, loader.NoArgs) (any, error) {
	lines, err := m.shellLines()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.env.Log.Errorf("File '%s' was not found", shellsFile)
	}
	list := []any{}
	for _, line := range lines {
		if line = strings.TrimFunc(line, isSpace); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list, nil
}

func (m shellList) shellLines() ([]string, error) {
	src, err := os.ReadFile(filepath.Join("/", m.env.Root, shellsFile))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(src), "\n"), "\n"), nil
}

// listedShell reports whether a shell may be valid: it is listed, or there is no list.
func (m shellList) listedShell(shell string) bool {
	if runtime.GOOS == "windows" {
		return true
	}
	lines, err := m.shellLines()
	return err != nil || slices.Contains(lines, shell)
}

// A probe is the command that prints a shell's version, and the pattern of the version.
type probe struct {
	pattern string
	words   []string
}

// probeOf returns the probe of a shell. The ones named test come from the original.
func probeOf(shell string) (probe, bool) {
	p, ok := map[string]probe{
		"bash":            {`version (\d\S*)`, []string{"bash", "--version"}},
		"bash-test-error": {`versioZ ([-\w.]+)`, []string{"bash", "--version"}},
		"bash-test-env":   {`(HOME=.*)`, []string{"bash", "-c", "declare"}},
		"zsh":             {`^zsh (\d\S*)`, []string{"zsh", "--version"}},
		"tcsh":            {`^tcsh (\d\S*)`, []string{"tcsh", "--version"}},
		"cmd":             {`Version ([\d.]+)`, []string{"cmd.exe", "/C", "ver"}},
		"powershell": {`PSVersion\s+(\d\S*)`,
			[]string{"powershell", "-NonInteractive", "$PSVersionTable"}},
		"perl":   {`^(\d\S*)`, []string{"perl", "-e", "printf \"%vd\n\", $^V;"}},
		"python": {`^Python (\d\S*)`, []string{"python", "-V"}},
		"ruby":   {`^ruby (\d\S*)`, []string{"ruby", "-v"}},
		"php":    {`^PHP (\d\S*)`, []string{"php", "-v"}},
	}[shell]
	return p, ok
}

type shellInfoArgs struct {
	Shell       string
	ListModules bool `default:"False"`
}

// shellInfo returns information about a shell or script language: its path, whether it is
// installed, and its version.
//
// It supports bash, zsh, tcsh, cmd, powershell, perl, python, ruby and php. With list_modules the
// modules of PowerShell are listed too. Fields: path, installed (None if the version is unknown),
// version (two or three numbers), version_raw and error.
//
// CLI Example:
//
//	salt '*' cmd.shell_info bash
//	salt '*' cmd.shell_info powershell
func (m interpreters) shellInfo(ctx context.Context, a shellInfoArgs) (any, error) {
	info := m.aboutShell(ctx, a.Shell)
	if a.ListModules && a.Shell == "powershell" && info.Value("installed") == true {
		info.Set("modules", m.powershellModules(ctx))
	}
	return info, nil
}

func (m interpreters) aboutShell(ctx context.Context, shell string) *data.Map {
	p, ok := probeOf(shell)
	if !ok {
		return data.NewMap("error", "Salt does not know how to get the version number for "+shell,
			"installed", nil)
	}
	out, err := m.probe(ctx, p)
	if err != nil {
		return data.NewMap("error", "Unable to run command '"+strings.Join(p.words, " ")+
			"' Reason: "+err.Error(), "installed", false)
	}
	info := data.NewMap("installed", nil, "path", orNil(which(p.words[0])))
	found := regexp.MustCompile("(?i)" + p.pattern).FindStringSubmatch(out)
	if found == nil {
		return noVersion(info, shell, out)
	}
	info.Set("version_raw", found[1])
	version := regexp.MustCompile(`^\d[\d.]*`).FindString(found[1])
	if version == "" {
		info.Set("installed", false)
		return noVersion(info, shell, out)
	}
	numbers := strings.Split(version, ".")
	if len(numbers) == 1 {
		numbers = append(numbers, "0")
	}
	info.Set("installed", true)
	info.Set("version", strings.Join(numbers[:min(len(numbers), 3)], "."))
	if shell == "powershell" {
		info.Set("psversion", found[1])
	}
	return info
}

func noVersion(info *data.Map, shell, out string) *data.Map {
	info.Set("error", "The version regex pattern for shell "+shell+
		", could not find the version string")
	info.Set("stdout", out)
	return info
}

// probe runs a probe and returns its standard output and standard error.
func (m interpreters) probe(ctx context.Context, p probe) (string, error) {
	path := helper(p.words[0])
	if path == "" {
		return "", errors.New("[Errno 2] No such file or directory: " + data.Repr(p.words[0]))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, process.ErrTimeout)
	defer cancel()
	var out strings.Builder
	c := exec.Command(path, p.words[1:]...)
	c.Env, c.Stdout, c.Stderr = pairs(m.environs.inherited()), &out, &out
	err := m.env.Run(ctx, c)
	if errors.Is(err, process.ErrTimeout) {
		return "", errors.New("Timed out.") //nolint:staticcheck // the original's text
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return "", err
	}
	text, _ := decodeUTF8(out.String())
	return text, nil
}
