package saltcall

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// ownFiles are plug-ins of each kind, with a helper.
var ownFiles = map[string]string{
	"_utils/helper.py": "WORD = 'helped'\n",
	"_modules/own.py":  "import helper\n\ndef f():\n    return [helper.WORD, __grains__['rack']]\n",
	"_grains/rack.py":  "def rack():\n    return {'rack': 'r1'}\n",
	"_states/owned.py": "def is_(name):\n" +
		"    return {'name': name, 'result': True, 'changes': {}, 'comment': __salt__['own.f']()[0]}\n" +
		"__func_alias__ = {'is_': 'is'}\n",
	"_states/broken.py": "def fails(name):\n    return inner(name)\n\ndef inner(name):\n" +
		"    return __salt__['test.no_such'](name)\n",
}

// TestFilesOfTheWorkingDirectory runs files of each kind without a sync.
func TestFilesOfTheWorkingDirectory(t *testing.T) {
	need.Program(t, "python3")
	s := newSite(t, "color: false\nlog_level: info\n")
	for name, text := range ownFiles {
		s.write(t, name, text)
	}
	for args, want := range map[string]string{
		"--out raw own.f":                        "{'local': ['helped', 'r1']}",
		"--out raw grains.get rack":              "{'local': 'r1'}",
		"--out raw state.single owned.is name=x": "'comment': 'helped'",
	} {
		stdout, stderr, code := s.call(t, append([]string{"--local"}, strings.Fields(args)...)...)
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%s: %d %s%s", args, code, stdout, stderr)
		}
		if !strings.Contains(stderr, "The plug-ins of the working directory are used: "+s.dir) {
			t.Errorf("%s: the log does not say what is used:\n%s", args, stderr)
		}
	}
}

// TestTreeOfModuleDirs names the tree in place of working in it.
func TestTreeOfModuleDirs(t *testing.T) {
	need.Program(t, "python3")
	s := newSite(t, "color: false\n")
	for name, text := range ownFiles {
		s.write(t, "tree/"+name, text)
	}
	s.write(t, "more/own2.py", "def g():\n    return 2\n")
	s.write(t, "states/third.py", "def is_there(name):\n"+
		"    return {'name': name, 'result': True, 'changes': {}, 'comment': 'third'}\n")
	for args, want := range map[string]string{
		"--local --out raw -m tree own.f":                                          "{'local': ['helped', 'r1']}",
		"--local --out raw -m tree -m more own2.g":                                 "{'local': 2}",
		"--local --out raw --states-dir states state.single third.is_there name=x": "'comment': 'third'",
	} {
		stdout, stderr, code := s.call(t, strings.Fields(args)...)
		if code != 0 || !strings.Contains(stdout, want) || stderr != "" {
			t.Errorf("%s: %d %s%s", args, code, stdout, stderr)
		}
	}
}

// TestDirectoryThatOthersChange checks that nobody's files are run by starting salt-call where they
// lie.
func TestDirectoryThatOthersChange(t *testing.T) {
	s := newSite(t, "color: false\n")
	s.write(t, "_modules/own.py", "def f():\n    return 1\n")
	if err := os.Chmod(s.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := s.call(t, "--local", "own.f")
	if code == 0 || !strings.Contains(stderr, "are not used: "+s.dir+" has mode 0777") {
		t.Errorf("own.f: %d %s%s", code, stdout, stderr)
	}
	if err := os.Chmod(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(filepath.Join(s.dir, "_modules"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := s.call(t, "--local", "own.f"); code == 0 || !strings.Contains(stderr, "belongs to the user with the id 12345") {
		t.Errorf("own.f of another user: %d %s", code, stderr)
	}
}

// TestTracebacksHaveUsersLines checks the traceback of a function and of a state: it names the lines
// of the users' files, and none of ours.
func TestTracebacksHaveUsersLines(t *testing.T) {
	need.Program(t, "python3")
	s := newSite(t, "color: false\n")
	for name, text := range ownFiles {
		s.write(t, name, text)
	}
	s.write(t, "_modules/bad.py", "import logging\nlog = logging.getLogger(__name__)\n\n"+
		"def f():\n    return {}['gone']\n\n"+
		"def logs():\n    try:\n        __salt__['test.no_such']()\n    except KeyError:\n"+
		"        log.exception('it went wrong')\n    log.warning('be careful')\n"+
		"    log.info('quiet')\n")
	s.write(t, "_modules/early.py", "x = 1\ny = missing\n")
	for _, c := range []struct {
		args string
		want []string
		not  []string
	}{
		{"bad.f", []string{s.dir + "/_modules/bad.py\", line 5, in f", "KeyError: 'gone'"}, nil},
		{"state.single broken.fails name=x", []string{s.dir + "/_states/broken.py\", line 2, in fails",
			s.dir + "/_states/broken.py\", line 5, in inner", "KeyError: 'test.no_such'"}, nil},
		{"bad.logs", []string{"it went wrong", s.dir + "/_modules/bad.py\", line 9, in logs", "be careful"}, []string{"quiet"}},
		{"early.f", []string{s.dir + "/_modules/early.py\", line 2, in <module>", "name 'missing' is not defined"}, nil},
	} {
		stdout, stderr, _ := s.call(t, append([]string{"--local"}, strings.Fields(c.args)...)...)
		all := stdout + stderr
		for _, want := range c.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s prints no %q:\n%s", c.args, want, all)
			}
		}
		for _, not := range append(c.not, "brinehost", ".go\"") {
			if strings.Contains(all, not) {
				t.Errorf("%s prints %q:\n%s", c.args, not, all)
			}
		}
	}
}

// TestSyncedProgram fetches a program from the file server, which carries no executable bit, and calls
// it.
func TestSyncedProgram(t *testing.T) {
	s := newSite(t, "color: false\nfile_client: local\n")
	s.write(t, "conf/minion.d/roots.conf", "file_roots: {base: ["+s.dir+"/srv]}\n")
	s.write(t, "srv/_modules/own", "#!/bin/sh\ncase $1 in\n"+
		"describe) echo '{\"functions\": {\"ping\": {}}}' ;;\n"+
		"run) while read -r call; do echo '{\"return\": \"pong\"}'; done ;;\nesac\n")
	s.write(t, "srv/_modules/README", "This describes nothing.\n")
	for _, c := range []struct{ args, want string }{
		{"saltutil.sync_modules", "{'local': ['modules.own']}\n"},
		{"saltutil.sync_modules", "{'local': []}\n"},
		{"own.ping", "{'local': 'pong'}\n"},
	} {
		stdout, stderr, _ := s.call(t, "--out", "raw", c.args)
		if stdout != c.want {
			t.Errorf("%s: %s%s", c.args, stdout, stderr)
		}
	}
}
