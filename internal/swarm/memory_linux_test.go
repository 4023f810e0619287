//go:build !race

package swarm_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/swarm"
)

// masterProcess is the environment variable that makes the test binary a master, which ends with
// its standard input.
const masterProcess = "BRINE_TEST_MASTER"

// TestMasterProcess is the master of the tests below, in a process of its own.
func TestMasterProcess(t *testing.T) {
	if os.Getenv(masterProcess) == "" {
		t.Skip("it is started by the tests of memory")
	}
	m := fileMaster(t, bytes.Repeat([]byte("0123456789abcdef"), 5<<20>>4))
	fmt.Println("\nmaster at " + m.Address)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// masterMemory returns a master's memory as reported by the kernel, in bytes.
type masterMemory struct{ pid int }

func (m masterMemory) read(t *testing.T, field string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); name == field {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no %s", field)
	return 0
}

// startMaster starts a master in a process of its own and returns its address.
func startMaster(t *testing.T) (string, masterMemory) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestMasterProcess$", "-test.v")
	cmd.Env = append(os.Environ(), masterProcess+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	t.Cleanup(func() {
		_ = stdin.Close()
		for lines.Scan() { // it may say more while it ends
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "master at "); ok {
			return address, masterMemory{cmd.Process.Pid}
		}
	}
	t.Fatal("the master did not start")
	return "", masterMemory{}
}

// TestLongReturnCostsTwiceItsLength sends a return of 60 MB to a master in a process of its own,
// whose memory grows meanwhile by at most twice that.
func TestLongReturnCostsTwiceItsLength(t *testing.T) {
	address, memory := startMaster(t)
	keys := t.TempDir()
	simulated := func(size int) {
		s := run(t, swarm.Options{Count: 1, Prefix: "web", Master: address,
			Keys: swarm.Keys{Distinct: 1, Dir: keys}, Returns: 1, Size: size})
		if n := s.Stats.Failures.Load(); n > 0 {
			t.Errorf("%d failures", n)
		}
	}
	simulated(100)
	// begins the peak anew
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", memory.pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	before := memory.read(t, "VmRSS")
	const size = 60_000_000
	simulated(size)
	if grown := memory.read(t, "VmHWM") - before; grown > 2*size {
		t.Errorf("the master grew by %d bytes, %.2f times the return", grown, float64(grown)/size)
	} else {
		t.Logf("the master grew by %.2f times the return", float64(grown)/size)
	}
}

// TestFilesLeaveNoMemory makes 20 clients download a file repeatedly: after eight rounds the master has at
// most 20 MiB more than after four. Of each four rounds the least counts, as the memory also depends on
// when the runtime last collected garbage.
func TestFilesLeaveNoMemory(t *testing.T) {
	address, memory := startMaster(t)
	keys := swarm.Keys{Distinct: 1, Dir: t.TempDir()}
	least := func() int {
		all := make([]int, 4)
		for i := range all {
			run(t, swarm.Options{Count: 20, Prefix: "web", Master: address, Keys: keys, Fetch: "big", Load: 20})
			all[i] = memory.read(t, "VmRSS")
		}
		return slices.Min(all)
	}
	before := least()
	if grown := least() - before; grown > 20<<20 {
		t.Errorf("the master has %d MiB more", grown>>20)
	} else {
		t.Logf("the master has %d MiB more", grown>>20)
	}
}
