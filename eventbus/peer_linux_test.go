package eventbus

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// forkWith names the sockets that the process which TestSocketOfAnEndedProcess starts listens on.
const forkWith = "BRINE_TEST_FORK_WITH"

// TestSocketOfAnEndedProcess checks that sockets of an ended process are taken over. A process that
// it started may have them too, as the jobs of Salt's minion do. For sockets of a living process
// the error names it.
func TestSocketOfAnEndedProcess(t *testing.T) {
	if paths := os.Getenv(forkWith); paths != "" {
		leaveSockets(t, strings.Split(paths, "\n"))
		return
	}
	s := MasterSockets(shortDir(t))
	program := exec.Command(os.Args[0], "-test.run=^TestSocketOfAnEndedProcess$")
	program.Env = append(os.Environ(), forkWith+"="+s.Pub+"\n"+s.Pull)
	out, err := program.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("no process is left: %s", out)
	}
	left, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer left.Kill()
	conn, err := net.Dial("unix", s.Pub)
	if err != nil {
		t.Fatalf("nobody has the socket: %v", err)
	}
	conn.Close()
	ctx, stop := context.WithCancel(t.Context())
	if err := New(Options{}).Serve(ctx, s, ServeOptions{Ready: stop}); err != nil {
		t.Errorf("Serve = %v", err)
	}

	live, _ := serve(t, New(Options{}), ServeOptions{})
	want := fmt.Sprintf("another process listens there: process %d, ", os.Getpid())
	if err := New(Options{}).Serve(t.Context(), live, ServeOptions{}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("Serve = %v, want %q", err, want)
	}
}

// leaveSockets leaves sockets in a process that it starts, and prints its number.
func leaveSockets(t *testing.T, paths []string) {
	holder := exec.Command("sleep", "3600")
	for _, path := range paths {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := l.(*net.UnixListener).File()
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		holder.ExtraFiles = append(holder.ExtraFiles, file)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Println(holder.Process.Pid)
	os.Exit(0)
}
