package partition

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// install makes programs the only ones in the search path; they are never run.
func install(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"parted", "lsblk", "partprobe", "mkfs.ext4", "mkswap", "mkfs.ntfs"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// disks are the block devices of the recorded host, and two with names that no disk should have.
func disks(path string) bool {
	return slices.Contains([]string{"/dev/sda", "/dev/sdb", "/dev/sda1", "-x", "a\nb"}, path)
}

// testdata/calls.json has the commands and results of Salt 3006.18 on a host with disks.
func TestCalls(t *testing.T) {
	install(t)
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{plugin(disks)}})
}

// Operands that a program would read as options, and line ends, reach no program.
func TestRefused(t *testing.T) {
	install(t)
	shell := &replay.Shell{Answers: data.NewMap()}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), plugin(disks)})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"-x", "a\nb"} {
		for fun, args := range map[string][]any{
			"probe": {bad}, "list": {bad}, "align_check": {bad, "minimal", 1}, "check": {bad, 1},
			"cp":     {bad, 1, 2},
			"get_id": {bad, 1}, "mkfs": {bad, "ext4"}, "mklabel": {bad, "gpt"}, "mkpart": {bad, "primary"},
			"name": {bad, 1, "a"}, "rescue": {bad, 1, 2}, "resize": {bad, 1, 1, 2}, "rm": {bad, 1},
			"set": {bad, 1, "boot", "on"}, "toggle": {bad, 1, "boot"}, "disk_set": {bad, "pmbr_boot", "on"},
			"disk_toggle": {bad, "pmbr_boot"},
		} {
			v, err := r.Invoke(t.Context(), "partition."+fun, args, nil)
			if err == nil || !strings.Contains(err.Error(), "dash") && !strings.Contains(err.Error(), "one line") {
				t.Errorf("%s %q gives %s, %v", fun, args, data.Repr(v), err)
			}
		}
		v, err := r.Invoke(t.Context(), "partition.mkpart", []any{"/dev/sda", "primary"}, data.NewMap("start", bad))
		if err == nil {
			t.Errorf("the start %q gives %s", bad, data.Repr(v))
		}
	}
	for _, bad := range []any{int64(-1), "-1", "1 2", 1.5, true, nil} {
		if v, err := r.Invoke(t.Context(), "partition.rm", []any{"/dev/sda", bad}, nil); err == nil ||
			err.Error() != "Invalid minor number passed to partition.rm" {
			t.Errorf("the partition %v gives %s, %v", bad, data.Repr(v), err)
		}
	}
	if data.Truth(shell.Ran) {
		t.Errorf("programs ran: %s", data.Repr(shell.Ran))
	}
}

// A system id that is a number is set.
func TestNumericID(t *testing.T) {
	install(t)
	print := func(text string) *data.Map {
		return data.NewMap("retcode", int64(0), "stdout", text, "stderr", "")
	}
	shell := &replay.Shell{Answers: data.NewMap("sfdisk -T", print("Id  Name\n\n83  Linux\nodd"),
		"sfdisk --change-id /dev/sda 1 83", print("Done"))}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), plugin(disks)})
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Invoke(t.Context(), "partition.set_id", []any{"/dev/sda", int64(1), int64(83)}, nil)
	if err != nil || data.Repr(v) != "['Done']" {
		t.Errorf("%s, %v", data.Repr(v), err)
	}
}

// Files, directories and character devices are no block devices, and the disks of the host are.
func TestBlockDevice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Dir(file), os.DevNull, file + "none", ""} {
		if blockDevice(path) {
			t.Errorf("%s is a block device", path)
		}
	}
	names, _ := filepath.Glob("/sys/class/block/*")
	for _, name := range names {
		path := filepath.Join("/dev", filepath.Base(name))
		if _, err := os.Stat(path); err == nil && !blockDevice(path) {
			t.Errorf("%s is no block device", path)
		}
	}
}

// Without its programs the module names the first that is missing.
func TestNoProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := newModule(&module{})
	if err == nil ||
		err.Error() != "The parted execution module failed to load parted binary is not in the path." {
		t.Errorf("the error is %v", err)
	}
}

// A disk that parted cannot read has no empty list. One without a table has no partitions.
func TestUnreadable(t *testing.T) {
	install(t)
	answer := func(text string) *data.Map {
		return data.NewMap("parted -m -s /dev/sda print", data.NewMap("retcode", int64(1), "stdout", text,
			"stderr", "Error: /dev/sda: unrecognised disk label"))
	}
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), plugin(disks)})
	if err != nil {
		t.Fatal(err)
	}
	for text, fails := range map[string]bool{"": true,
		"BYT;\n/dev/sda:10737MB:scsi:512:512:unknown:Disk:;\n": false} {
		shell.Answers = answer(text)
		if got, err := r.Invoke(t.Context(), "partition.list", []any{"/dev/sda"}, nil); (err != nil) != fails {
			t.Errorf("%q gives %s, %v", text, data.Repr(got), err)
		}
	}
}

func FuzzLayout(f *testing.F) {
	f.Add("BYT;\n/dev/sda:10.7GB:scsi:512:4096:gpt:ATA DISK:pmbr_boot;\n"+
		"1:1049kB:538MB:537MB:fat32:EFI:boot, esp;",
		"")
	f.Add("CHS;\n/dev/sda:1305,80,62:scsi:512:512:msdos:X:;\n1:0,32,32:1305,80,61:ext4::;", "chs")
	f.Fuzz(func(t *testing.T, text, unit string) {
		found, err := layout(text, unit)
		if err != nil {
			return
		}
		for number, v := range found.Value("partitions").(*data.Map).All() {
			if got := v.(*data.Map).Value("number"); got != number {
				t.Errorf("%q: %s has the number %s", text, data.Repr(number), data.Repr(got))
			}
		}
	})
}
