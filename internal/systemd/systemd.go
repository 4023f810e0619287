// Package systemd detects systemd and its version (salt/utils/systemd.py).
package systemd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Booted reports whether the system below root, "" meaning /, was booted with systemd. The test is
// that of sd_booted(3).
func Booted(root string) bool {
	_, err := os.Stat(filepath.Join("/", root, "run/systemd/system"))
	return err == nil
}

// Version returns the version number that systemctl prints. run runs the program.
func Version(ctx context.Context, run func(context.Context, *exec.Cmd) error) (int, error) {
	var out bytes.Buffer
	cmd := exec.Command("systemctl", "--version")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := run(ctx, cmd); err != nil {
		return 0, fmt.Errorf("ask systemctl for its version: %w", err)
	}
	return parseVersion(out.String())
}

// parseVersion parses the number after the first word, as in "systemd 252 (252.39-1~deb12u1)".
func parseVersion(text string) (int, error) {
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	if len(words) < 2 {
		return 0, errors.New("systemctl printed no version:  " + strconv.Quote(line))
	}
	digits := words[1][:len(words[1])-len(strings.TrimLeft(words[1], "0123456789"))]
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, errors.New("systemctl printed no version:  " + strconv.Quote(line))
	}
	return n, nil
}
