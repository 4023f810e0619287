package cli

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/logging"
)

const smaps = `00400000-00c61000 r-xp 00000000 fe:00 17                     /usr/bin/salt minion
Size:               8580 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
00c61000-01679000 r--p 00861000 fe:00 17                     /usr/bin/salt minion
Anonymous:             0 kB
Swap:                  0 kB
01679000-0167a000 r--p 01279000 fe:00 17                     /usr/bin/salt minion
Anonymous:             0 kB
Swap:                  4 kB
0167a000-0167b000 r--p 01279000 fe:00 17                     /usr/bin/salt minion
Anonymous:             0 kB
0167b000-0179f000 rw-p 01279000 fe:00 17                     /usr/bin/salt minion
Anonymous:             0 kB
0179f000-017a0000 r--p 01279000 fe:00 17                     /usr/bin/salt minion
Anonymous:             4 kB
Swap:                  0 kB
017a0000-017a1000 r--s 01279000 fe:00 17                     /usr/bin/salt minion
Anonymous:             0 kB
Swap:                  0 kB
017a1000-017a2000 r-xp 00000000 fe:00 18                     /usr/lib/libc.so
Anonymous:             0 kB
Swap:                  0 kB
017a2000-037eb000 rw-p 00000000 00:00 0
Anonymous:           112 kB
Swap:                  0 kB
7fff02e00000-7fff02e02000 r-xp 00000000 00:00 0              [vdso]
Anonymous:             0 kB
Swap:                  0 kB
`

func TestOnlyUnchangedPartsOfTheProgramAreGivenBack(t *testing.T) {
	got, err := unchanged(strings.NewReader(smaps), "/usr/bin/salt minion")
	if err != nil {
		t.Fatal(err)
	}
	want := []area{{0x400000, 0xc61000}, {0xc61000, 0x1679000}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(area{})); d != "" {
		t.Errorf("areas (-want +got):\n%s", d)
	}
}

func TestInvalidListsHaveNoAreas(t *testing.T) {
	for _, text := range []string{"", "\n", "x", "r-xp /a", "-1 r-xp /a", "2-1 r-xp /a",
		"1-2 r-xp /a", "1-zz r-xp /a\nAnonymous: 0 kB\nSwap: 0 kB\n",
		"2-1 r-xp /a\nAnonymous: 0 kB\nSwap: 0 kB\n", "1-2 r-xp /b\nAnonymous: 0 kB\nSwap: 0 kB\n"} {
		if got, err := unchanged(strings.NewReader(text), "/a"); err != nil || got != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestUnmapReadLeavesTheProcessRunningInLess(t *testing.T) {
	before := fileRSS(t)
	if err := unmapRead(); err != nil {
		t.Fatal(err)
	}
	if after := fileRSS(t); after >= before {
		t.Errorf("%d kB of files are in memory, %d before", after, before)
	}
}

// fileRSS returns the process's resident memory of files, in kB.
func fileRSS(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no RssFile in\n%s", status)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readyRole reports twice that it is ready, and ends.
type readyRole struct{ daemon.Role }

func (readyRole) Run(_ context.Context, ready func()) error {
	ready()
	ready()
	return nil
}

func TestStartIsGivenBackWhenTheRoleIsReady(t *testing.T) {
	calls, before, after := 0, 0, 0
	log, err := logging.New(logging.Settings{}, logging.Options{Console: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	s := &memoryReleaser{Role: readyRole{}, log: log}
	err = s.Run(t.Context(), func() {
		if calls++; calls == 1 {
			before = fileRSS(t)
		} else {
			after = fileRSS(t)
		}
	})
	if err != nil || calls != 2 || after >= before {
		t.Errorf("error %v, ready %d times, %d kB of files in memory before and %d after", err,
			calls, before, after)
	}
}
