//go:build unix

package auth

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strings"
	"time"
)

// systemUsers returns the users of this host: those in /etc/passwd and those that getent lists,
// from LDAP or other sources.
func systemUsers() ([]string, error) {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, _, ok := strings.Cut(lines.Text(), ":"); ok && !strings.HasPrefix(name, "#") {
			all = append(all, name)
		}
	}
	for line := range strings.Lines(getent("passwd")) {
		if name, _, ok := strings.Cut(line, ":"); ok && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all, nil
}

// lookUp reports whether the system knows a user. This also finds users from sources that cannot be
// listed.
func lookUp(name string) bool {
	if _, err := user.Lookup(name); err == nil {
		return true
	}
	return getent("passwd", "--", name) != ""
}

// getent returns the output of getent, or "" if the program is missing or fails.
func getent(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "getent", args...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}
