package docker_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCopyFromHasItsModeAtOnce watches the directory of a copied file: nothing may happen to the file once it
// has its name.
func TestCopyFromHasItsModeAtOnce(t *testing.T) {
	m := start(t)
	source, dir := filepath.Join(m.Engine.Root, "file"), t.TempDir()
	write(t, source, "text")
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const events = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_ATTRIB | unix.IN_MODIFY
	if _, err := unix.InotifyAddWatch(fd, dir, events); err != nil {
		t.Fatal(err)
	}
	dest := filepath.Join(dir, "dest")
	ok(t, m, "docker.copy_from", []any{"c", source, dest})
	if info, err := os.Stat(dest); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the copy has %v, %v", info, err)
	}
	buf := make([]byte, 64<<10)
	n, err := unix.Read(fd, buf)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for buf = buf[:n]; len(buf) >= unix.SizeofInotifyEvent; {
		mask, size := int(binary.NativeEndian.Uint32(buf[4:])), int(binary.NativeEndian.Uint32(buf[12:]))
		name := string(bytes.TrimRight(buf[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size], "\x00"))
		if buf = buf[unix.SizeofInotifyEvent+size:]; name == "dest" {
			named = append(named, map[int]string{unix.IN_CREATE: "created", unix.IN_MOVED_TO: "named",
				unix.IN_ATTRIB: "changed", unix.IN_MODIFY: "written"}[mask])
		}
	}
	if got := strings.Join(named, ", "); got != "named" {
		t.Errorf("the file was %s", got)
	}
}

// TestPipes checks that a pipe in place of a file is an error.
func TestPipes(t *testing.T) {
	m := start(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, m, "Source file "+pipe+" does not exist", "docker.load", []any{pipe})
	ok(t, m, "docker.import", []any{pipe, "me/x"}) // a URL for the engine, as a path that is not there
	for file, call := range map[string][]any{
		filepath.Join(filepath.Dir(pipe), ".dockerignore"):         {"docker.build", filepath.Dir(pipe)},
		filepath.Join(os.Getenv("HOME"), ".docker", "config.json"): {"docker.pull", "alpine"},
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkfifo(file, 0o600); err != nil {
			t.Fatal(err)
		}
		fails(t, m, file+" is no regular file", call[0].(string), call[1:])
	}
	fails(t, m, "Source must be a regular file", "docker.copy_to", []any{"c", pipe, filepath.Join(m.Engine.Root, "x")})
}
