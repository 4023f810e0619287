package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestColumns checks the width of the bar: the terminal's, which may change, or that of COLUMNS if
// there is no terminal.
func TestColumns(t *testing.T) {
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals: %v", err)
	}
	defer control.Close()
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(filepath.Join("/dev/pts", strconv.Itoa(number)), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	env := map[string]string{"COLUMNS": "40"}
	width := (&Printer{stderr: terminal}).columns(func(name string) string { return env[name] })
	for _, want := range []int{0, 132} {
		if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ,
			&unix.Winsize{Col: uint16(want), Row: 24}); err != nil {
			t.Fatal(err)
		}
		if got := width(); got != want {
			t.Errorf("a terminal of %d columns has %d", want, got)
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "errors"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	width = (&Printer{stderr: file}).columns(func(name string) string { return env[name] })
	for columns, want := range map[string]int{"40": 39, "": 79, "wide": 79, "1000000000": 79} {
		if env["COLUMNS"] = columns; width() != want {
			t.Errorf("COLUMNS=%s: %d, want %d", columns, width(), want)
		}
	}
}
