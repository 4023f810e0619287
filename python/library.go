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
	"github.com/brineproject/brine/program"
)

// onedir is the Python of Salt's own packages, which has its library.
const onedir = "/opt/saltstack/salt/bin/python3"

// advice says what the option python_salt may be.
const advice = "give the path of a Python that has it, such as " + onedir +
	", or of the directory in which its package salt lies, or auto"

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
		for _, one := range []string{interpreter, onedir} {
			if judge(one, "") != nil {
				continue
			}
			if found, err := askVersion(ctx, one, ""); err == nil {
				return found, nil
			}
		}
		return nil, nil
	}
	path, ok := option.(string)
	if !ok || !filepath.IsAbs(path) {
		return nil, fmt.Errorf("option python_salt is %v: give off, auto or an absolute path", option)
	}
	chosen, dir := interpreter, path
	switch {
	case paths.IsFile(path):
		chosen, dir = path, ""
	case paths.IsFile(filepath.Join(path, "bin", "python3")):
		chosen, dir = filepath.Join(path, "bin", "python3"), ""
	case !paths.IsDir(filepath.Join(path, "salt")):
		return nil, fmt.Errorf("option python_salt: there is no Salt at %s: %s", path, advice)
	}
	if err := judge(chosen, dir); err != nil {
		return nil, fmt.Errorf("option python_salt: %w", err)
	}
	if version, err := os.ReadFile(filepath.Join(dir, "salt", "_version.txt")); dir != "" && err == nil {
		return &Library{Interpreter: chosen, Path: dir, Version: strings.TrimSpace(string(version))}, nil
	}
	found, err := askVersion(ctx, chosen, dir)
	if err != nil {
		return nil, fmt.Errorf("option python_salt: there is no Salt at %s: %w: %s", path, err, advice)
	}
	return found, nil
}

// judge returns an error unless only root and the user of this process can change a Python and, if
// dir is not "", the package salt in a directory.
func judge(python, dir string) error {
	python, err := exec.LookPath(python)
	if err != nil {
		return err
	}
	if dir == "" {
		return program.Trusted(python)
	}
	return errors.Join(program.Trusted(python), program.Trusted(filepath.Join(dir, "salt")))
}

// askVersion returns the Salt that a Python imports.
func askVersion(ctx context.Context, python, dir string) (*Library, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	const script = "import sys\nsys.path[:0] = sys.argv[1:]\n" +
		"import salt.version\nprint(salt.version.__version__)"
	args := []string{"-I", "-W", "ignore", "-c", script}
	if dir != "" {
		args = append(args, dir)
	}
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Dir = "/"
	cmd.Env = append(process.Environment(os.Environ()), "PYTHONDONTWRITEBYTECODE=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		if last := lines[len(lines)-1]; last != "" {
			return nil, errors.New(last)
		}
		return nil, err
	}
	return &Library{Interpreter: python, Path: dir, Version: strings.TrimSpace(out.String())}, nil
}
