//go:build linux

package operations

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/brineproject/brine/internal/test/freeport"
)

// TestScripts runs operators' actions on daemons. A script finds a directory with the files master
// and minion, for daemons on loopback with ports of their own (PUB, RET; PUB2 and RET2 are free
// too), and these commands besides testscript's:
//
//	start NAME PROGRAM ARG...    start a daemon, which is NAME from then on
//	ready NAME                   wait until it says READY=1 to the service manager, once more than before
//	signal SIG NAME              send a signal
//	reload NAME                  send SIGHUP, and wait until that is done
//	exits NAME CODE              wait for its end
//	[!] logs NAME PATTERN        wait until its output matches; with !, it does not by now
//	[!] told NAME PATTERN        the same for what it told the service manager
//	count N NAME PATTERN         its output matches so often by now
//	try CODE PROGRAM ARG...      run a program to its end
//	until PATTERN PROGRAM ARG... run a program again and again until its output matches
//	[!] holds FILE PATTERN       wait until a file matches; with !, it does not by now
//	exists-soon, gone-soon FILE  wait for a file, or its end
//	set FILE OPTION VALUE        set an option in a configuration file
//	as USER                      programs are started as that user from then on
//	own USER PATH...             give files to a user
//	hear                         listen to the event bus of the master from then on
//	[!] heard PATTERN            wait until the tag and the body of an event match
//	ask VERSION PATTERN          send the master a ping of a protocol version; the reply matches
//	newminion ID LINE...         write the configuration of another minion into the directory ID
//	mode FILE MODE [USER]        mode, and owner, of a file
//	below NAME                   the child of that process is NAME from then on
//	adopt NAME FILE              the process of a pid file is NAME from then on
func TestScripts(t *testing.T) {
	root, err := os.MkdirTemp("", "ops") // short, since the paths of unix sockets are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	atOnce := make(chan struct{}, 2)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", WorkdirRoot: root, Cmds: commands(),
		Setup: func(env *testscript.Env) error {
			atOnce <- struct{}{}
			env.Defer(func() { <-atOnce })
			s := &script{processes: map[string]*process{}}
			env.Values["script"] = s
			env.Defer(s.killAll)
			return prepare(env)
		},
		Condition: condition,
	})
}

// condition supports [root], [ipv6], and [unshare], which means that PID namespaces are available.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		if os.Geteuid() != 0 && os.Getenv("BRINE_REQUIRE_ALL") == "1" {
			return false, errors.New("everything is required: this script needs root")
		}
		return os.Geteuid() == 0, nil
	case "ipv6":
		l, err := net.Listen("tcp6", "[::1]:0")
		if err != nil {
			return os.Getenv("BRINE_REQUIRE_ALL") == "1", nil
		}
		return true, l.Close()
	case "unshare":
		err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run()
		return err == nil || os.Getenv("BRINE_REQUIRE_ALL") == "1", nil
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

// prepare writes the configuration of a master and a minion.
func prepare(env *testscript.Env) error {
	lease, err := freeport.Take(4)
	if err != nil {
		return err
	}
	env.Defer(func() { lease.Close() })
	var ports [4]string
	for i, port := range lease.Ports {
		ports[i] = strconv.Itoa(port)
	}
	for name, value := range map[string]string{"PUB": ports[0], "RET": ports[1], "PUB2": ports[2],
		"RET2": ports[3], "HOME": env.WorkDir, "TMPDIR": env.WorkDir} {
		env.Setenv(name, value)
	}
	master := "root_dir: %[1]s\ninterface: 127.0.0.1\npublish_port: %[2]s\nret_port: %[3]s\nlog_level: info\nlog_file: %[1]s/master.log\n" +
		"pidfile: %[1]s/master.pid\nauto_accept: true\n"
	minion := "root_dir: %[1]s/m\nid: w1\nmaster: 127.0.0.1\nmaster_port: %[3]s\npublish_port: %[2]s\nlog_level: info\nlog_file: /minion.log\n" +
		"pidfile: /minion.pid\nacceptance_wait_time: 1\nrandom_reauth_delay: 1\n"
	for name, text := range map[string]string{"master": master, "minion": minion} {
		text = fmt.Sprintf(text, env.WorkDir, ports[0], ports[1])
		if err := os.WriteFile(filepath.Join(env.WorkDir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.Chmod(env.WorkDir, 0o755)
}

// A script holds what one script has started.
type script struct {
	processes map[string]*process
	as        *syscall.Credential
	heard     *lines // events
}

func (s *script) killAll() {
	for _, p := range s.processes {
		p.kill()
	}
}
