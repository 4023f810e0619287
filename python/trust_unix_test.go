//go:build unix

package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/python"
)

// TestFilesThatOthersCouldChange checks that such files are not run, that the reason names the path
// and its mode, and that the log has it once. It runs as root, if the tests do, and as another user.
func TestFilesThatOthersCouldChange(t *testing.T) {
	need.Time(t, "many processes")
	if os.Geteuid() == 0 {
		t.Run("as root", testTrust)
	}
	if unprivileged(t) {
		t.Run("as a user", testTrust)
	}
}

func testTrust(t *testing.T) {
	const open = "other users could change the code, so it is not run"
	for _, tt := range []struct {
		name, path string // path below the directory top, whose mode is set
		mode       os.FileMode
		reason     string // "" if the file runs; TOP is the directory
	}{
		{"nothing", "", 0o755, ""},
		{"directory writable by all", "modules", 0o777, "TOP/modules has mode 0777: " + open},
		{"directory writable by its group", "modules", 0o775, "TOP/modules has mode 0775: " + open},
		{"directory with sticky bit", "modules", 0o777 | os.ModeSticky, "TOP/modules has mode 1777: " + open},
		{"file writable by all", "modules/own.py", 0o666, "TOP/modules/own.py has mode 0666: " + open},
		{"file writable by its group", "modules/own.py", 0o664, "TOP/modules/own.py has mode 0664: " + open},
		{"directory above writable by all", "", 0o777, "TOP has mode 0777: " + open},
		{"directory above with sticky bit", "", 0o777 | os.ModeSticky, ""},
		{"another file", "modules/other.py", 0o666, ""},
		{"directory of data", "modules/data", 0o755, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top, d := trustTree(t)
			chmod(t, filepath.Join(top, tt.path), tt.mode)
			wantTrust(t, d, "own.f", strings.ReplaceAll(tt.reason, "TOP", top))
		})
	}
	t.Run("file in a package", func(t *testing.T) {
		top, d := trustTree(t)
		chmod(t, filepath.Join(top, "modules/pack/part.py"), 0o666)
		wantTrust(t, d, "pack.f", top+"/modules/pack/part.py has mode 0666: "+open)
		wantTrust(t, d, "own.f", "")
	})
	t.Run("directory of compiled files", func(t *testing.T) {
		top, d := trustTree(t)
		if err := os.MkdirAll(filepath.Join(top, "modules/pack/__pycache__"), 0o755); err != nil {
			t.Fatal(err)
		}
		chmod(t, filepath.Join(top, "modules/pack/__pycache__"), 0o777)
		poison(t, filepath.Join(top, "modules/own.py"))
		poison(t, filepath.Join(top, "modules/pack/part.py"))
		wantTrust(t, d, "pack.f", "")
		wantTrust(t, d, "own.f", "")
	})
	t.Run("package without __init__.py", func(t *testing.T) {
		top, d := trustTree(t)
		d.write(t, map[string]string{"bare/part": "x = 1\n", "uses": "import bare.part\n\ndef f():\n    return 1\n"})
		chmod(t, filepath.Join(top, "modules/bare/part.py"), 0o666)
		d.job(t, "uses.f")
		if reason := d.functions.MissingText("uses.f"); !strings.Contains(reason, "No module named 'bare'") {
			t.Errorf("a module that imports part of an open package: %s", reason)
		}
	})
	t.Run("link into an open directory", func(t *testing.T) {
		top, d := trustTree(t)
		move(t, filepath.Join(top, "modules/own.py"), filepath.Join(top, "open/own.py"))
		chmod(t, filepath.Join(top, "open"), 0o777)
		wantTrust(t, d, "own.f", top+"/open has mode 0777: "+open)
	})
	t.Run("directory is a link into an open directory", func(t *testing.T) {
		top, d := trustTree(t)
		move(t, filepath.Join(top, "modules"), filepath.Join(top, "open/modules"))
		chmod(t, filepath.Join(top, "open"), 0o777)
		wantTrust(t, d, "own.f", top+"/open has mode 0777: "+open)
	})
	t.Run("built-in module stays", func(t *testing.T) {
		top, d := trustTree(t)
		d.write(t, map[string]string{"echo": "def echo(value):\n    return 'stolen'\n"})
		chmod(t, filepath.Join(top, "modules/echo.py"), 0o666)
		d.want(t, "1", "echo.echo", int64(1))
	})
	t.Run("helpers are not imported", func(t *testing.T) {
		top, d := trustTree(t)
		d.write(t, map[string]string{"imports": "import helper\n\ndef f():\n    return 1\n", "helper": "\n"})
		chmod(t, filepath.Join(top, "modules/helper.py"), 0o666)
		if got := d.functions.MissingText("imports.f"); !strings.Contains(got, "No module named 'helper'") {
			t.Errorf("a file that imports one that others can change: %s", got)
		}
	})
	t.Run("directory of utilities", func(t *testing.T) {
		utils := filepath.Join(t.TempDir(), "utils")
		d := newDaemon(t, map[string]string{"own": "import helper\n\ndef f():\n    return 1\n"}, func(o *python.Options) {
			modules := o.Directories
			o.Directories = func() map[string][]string {
				all := modules()
				all["utils"] = []string{utils}
				return all
			}
		})
		(&daemon{dir: utils}).write(t, map[string]string{"helper": "\n"})
		d.want(t, "1", "own.f")
		chmod(t, utils, 0o777)
		d.functions.Reload()
		d.job(t, "own.f")
		if !strings.Contains(d.log.String(), utils+" has mode 0777") {
			t.Errorf("the log has %s", d.log)
		}
	})
	t.Run("owners", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("it takes root to give a file away; the test as root does")
		}
		for _, path := range []string{"modules/own.py", "modules", ""} {
			top, d := trustTree(t)
			path = strings.TrimSuffix(filepath.Join(top, path), "/")
			if err := os.Chown(path, user, 0); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			mode := map[bool]string{true: "0755", false: "0644"}[info.IsDir()]
			wantTrust(t, d, "own.f",
				path+" belongs to the user 54321 (mode "+mode+"), who could change the code, so it is not run")
		}
	})
}

// trustTree returns a directory and a daemon with modules in the directory modules below it.
func trustTree(t *testing.T) (top string, d *daemon) {
	t.Helper()
	dir := t.TempDir()
	chmod(t, dir, 0o755)
	top = filepath.Join(dir, "top")
	d = &daemon{dir: filepath.Join(top, "modules")}
	const module = "def f():\n    return 1\n"
	d.write(t, map[string]string{"own": module, "other": module})
	(&daemon{dir: filepath.Join(top, "modules/pack")}).write(t, map[string]string{"__init__": module, "part": ""})
	(&daemon{dir: filepath.Join(top, "modules/data")}).write(t, map[string]string{"x": ""})
	for _, made := range []string{"", "modules", "open", "modules/pack", "modules/data"} {
		made = filepath.Join(top, made)
		if err := os.MkdirAll(made, 0o755); err != nil {
			t.Fatal(err)
		}
		chmod(t, made, 0o755)
	}
	d.start(t, t.TempDir())
	t.Cleanup(func() {
		if err := d.host.Close(); err != nil {
			t.Error(err)
		}
	})
	return top, d
}

// wantTrust checks that a function returns 1 if reason is empty, and otherwise that its module is
// refused and the log has the reason once.
func wantTrust(t *testing.T, d *daemon, fun, reason string) {
	t.Helper()
	module, _, _ := strings.Cut(fun, ".")
	if reason == "" {
		d.want(t, "1", fun)
		if log := d.log.String(); strings.Contains(log, "Failed to load module "+module+": ") {
			t.Errorf("the log has %s", log)
		}
		return
	}
	for range 2 {
		d.job(t, fun)
		if got, want := d.functions.MissingText(fun), "'"+module+"' __virtual__ returned False: "+reason; got != want {
			t.Errorf("%s: %s\nwant %s", fun, got, want)
		}
		d.functions.Reload()
	}
	if n := strings.Count(d.log.String(), "Failed to load module "+module+": "); n != 1 {
		t.Errorf("the log has %d lines on %s: %s", n, module, d.log)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// move moves a path and leaves a link to the new one.
func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, from); err != nil {
		t.Fatal(err)
	}
}

// TestDirectoryOfTheProgram checks that a directory of the host program that others can change is not
// used.
func TestDirectoryOfTheProgram(t *testing.T) {
	need.Program(t, "python3")
	cache := t.TempDir()
	d := newDaemon(t, map[string]string{"own": living}, func(o *python.Options) { o.CacheDir = cache })
	d.job(t, "own.worker")
	entries, err := filepath.Glob(filepath.Join(cache, "python", "*"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	if err := d.host.Close(); err != nil {
		t.Fatal(err)
	}
	chmod(t, entries[0], 0o777)
	d = newDaemon(t, map[string]string{"own": living}, func(o *python.Options) { o.CacheDir = cache })
	d.job(t, "own.worker")
	want := entries[0] + " has mode drwxrwxrwx and owner"
	if got := d.functions.MissingText("own.worker"); !strings.Contains(got, want) {
		t.Errorf("%s\nwant it to contain %s", got, want)
	}
}

// poison writes a compiled file beside a source, which Python takes for that of the source, and which
// has other code.
func poison(t *testing.T, source string) {
	t.Helper()
	script := "import importlib.util, os, py_compile, sys\n" +
		"source = sys.argv[1]\n" +
		"os.utime(source, (1e9, 1e9))\n" + // a new file is compiled anyway
		"info = os.stat(source)\n" +
		"evil = source + '.evil'\n" +
		"with open(evil, 'w') as file:\n" +
		"    file.write('raise SystemExit(7)'.ljust(info.st_size))\n" +
		"os.utime(evil, ns=(info.st_mtime_ns, info.st_mtime_ns))\n" +
		"py_compile.compile(evil, importlib.util.cache_from_source(source), source)\n" +
		"os.remove(evil)\n"
	if out, err := exec.Command("python3", "-c", script, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestHostDirectoryOfRoot checks that a user's daemon runs code below a cache directory where root
// has written the host program first.
func TestHostDirectoryOfRoot(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	cache := t.TempDir()
	if err := os.Mkdir(filepath.Join(cache, "python"), 0); err != nil { // as closed to this user as root's with 0700
		t.Fatal(err)
	}
	d := &daemon{dir: filepath.Join(t.TempDir(), "modules")}
	d.write(t, map[string]string{"own": "def f():\n    return 1\n"})
	d.start(t, cache)
	d.want(t, "1", "own.f")
	if err := d.host.Close(); err != nil {
		t.Error(err)
	}
}
