package python

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/process"
)

// onedir is the Python of Salt's own packages, which has its library.
const onedir = "/opt/saltstack/salt/bin/python3"

// A Library is a Salt that is installed beside Brine, whose modules users' code can import and
// whose plug-ins stand behind Brine's own.
type Library struct {
	Interpreter string
	Path        string // directory to find it in; "" where the interpreter finds it
	Version     string
}

// FindLibrary returns the Salt that the option python_salt asks for, nil for none: off, auto, or
// the path of a Python that has it, of its environment, or of the directory that holds its package.
// With auto it is the Salt that python3 imports, or that of Salt's packages, or none. interpreter is
// the python3 that Brine uses. The error names the option.
func FindLibrary(ctx context.Context, option any, interpreter string) (*Library, error) {
	switch option {
	case nil, false, "", "off", "False", "none":
		return nil, nil
	case true, "auto", "on":
		for _, program := range []string{interpreter, onedir} {
			if found, err := askVersion(ctx, program, ""); err == nil {
				return found, nil
			}
		}
		return nil, nil
	}
	path, ok := option.(string)
	if !ok || !filepath.IsAbs(path) {
		return nil, fmt.Errorf("option python_salt is %v: give off, auto or an absolute path", option)
	}
	program, dir := interpreter, path
	switch {
	case paths.IsFile(path):
		program, dir = path, ""
	case paths.IsFile(filepath.Join(path, "bin", "python3")):
		program, dir = filepath.Join(path, "bin", "python3"), ""
	case !paths.IsDir(filepath.Join(path, "salt")):
		return nil, fmt.Errorf("option python_salt: there is no Salt at %s: give the path of a Python that has it, such as %s, "+
			"or of the directory in which its package salt lies, or auto", path, onedir)
	}
	if version, err := os.ReadFile(filepath.Join(dir, "salt", "_version.txt")); dir != "" && err == nil {
		return &Library{Interpreter: program, Path: dir, Version: strings.TrimSpace(string(version))}, nil
	}
	found, err := askVersion(ctx, program, dir)
	if err != nil {
		return nil, fmt.Errorf("option python_salt: there is no Salt at %s: %w: "+
			"give the path of a Python that has it, such as %s, or of the directory in which its package salt lies, or auto", path, err, onedir)
	}
	return found, nil
}

// askVersion has a Python import Salt and say its version.
func askVersion(ctx context.Context, program, dir string) (*Library, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	const script = "import sys\nsys.path[:0] = sys.argv[1:]\nimport salt.version\nprint(salt.version.__version__)"
	args := []string{"-I", "-W", "ignore", "-c", script}
	if dir != "" {
		args = append(args, dir)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = process.PluginEnv(os.Environ())
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		if last := lines[len(lines)-1]; last != "" {
			return nil, errors.New(last)
		}
		return nil, err
	}
	return &Library{Interpreter: program, Path: dir, Version: strings.TrimSpace(out.String())}, nil
}
