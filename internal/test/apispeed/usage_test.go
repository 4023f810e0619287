package main

import (
	"os"
	"testing"
	"time"
)

// TestParseStat reads the line of a program whose name has brackets and blanks.
func TestParseStat(t *testing.T) {
	line := "42 (a) b (c) S 7 42 42 0 -1 4194560 100 0 0 0 150 50 30 20 20 0 1 0 100 1000 10"
	got, err := parseStat(42, []byte(line))
	if want := (stat{42, 7, 2500 * time.Millisecond}); err != nil || got != want {
		t.Errorf("parseStat = %v, %v, want %v", got, err, want)
	}
	for _, short := range []string{"", "42 (a) S 7", "no brackets"} {
		if _, err := parseStat(42, []byte(short)); err == nil {
			t.Errorf("parseStat(%q) gives no error", short)
		}
	}
}

// TestKibibytes reads a line of smaps_rollup.
func TestKibibytes(t *testing.T) {
	if n, err := kibibytes([]byte("x\nRss:  9 kB\nPss:    1234 kB\n"), "Pss:"); n != 1234 || err != nil {
		t.Errorf("kibibytes = %d, %v", n, err)
	}
	if _, err := kibibytes([]byte("Rss: 9 kB\n"), "Pss:"); err == nil {
		t.Error("a text without the line gives no error")
	}
}

// TestTree finds this process.
func TestTree(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc: " + err.Error())
	}
	all, err := tree(os.Getpid())
	if err != nil || len(all) == 0 || all[0].pid != os.Getpid() || all[0].parent != os.Getppid() {
		t.Errorf("tree = %v, %v", all, err)
	}
}
