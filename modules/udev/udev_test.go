package udev

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// program puts a program udevadm into the search path; it is never run.
func program(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "udevadm"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18 for output of udev 252.
func TestCalls(t *testing.T) {
	program(t)
	replay.Check(t, "testdata/calls.json", replay.Options{Root: t.TempDir(),
		Plugins: []loader.Plugin{Plugin()}})
}

// A device is one word of the option, and has one line. Output without devices is an error.
func TestDevice(t *testing.T) {
	program(t)
	answer := data.NewMap("retcode", int64(0), "stdout", "", "stderr", "")
	shell := &replay.Shell{Answers: data.NewMap("udevadm info --export --query=all --name=-x y", answer)}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for dev, want := range map[string]string{"a\nb": `the device "a\nb" has more than one line`,
		"-x y": "udevadm reports nothing of -x y"} {
		if got, err := r.Invoke(t.Context(), "udev.info", []any{dev}, nil); err == nil ||
			err.Error() != want {
			t.Errorf("%q gives %s, %v", dev, data.Repr(got), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("P: /devices/x\nE: A=1\nE: B\nS: a\nS: b\n\nP: y\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, device := range parse(text) {
			if device.(*data.Map).Len() == 0 {
				t.Errorf("%q has an empty device", text)
			}
		}
	})
}
