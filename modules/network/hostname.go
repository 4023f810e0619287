package network

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type hostnameArgs struct{ Hostname any }

// modHostname changes the host name: in the running system, in /etc/hosts, and in the system's
// configuration for the next boot.
//
// CLI Example:
//
//	salt '*' network.mod_hostname web1.example.org
func (m *module) modHostname(ctx context.Context, a hostnameArgs) (any, error) {
	if a.Hostname == nil {
		return false, nil
	}
	name := data.Str(a.Hostname)
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n") {
		return nil, loader.Invocation("%s is not a host name", data.Repr(a.Hostname))
	}
	old, done, err := m.rename(ctx, name)
	if err != nil || !done {
		return false, err
	}
	if err := m.edit("/etc/hosts",
		func(line string) string { return renamed(line, old, name) }); err != nil {
		return nil, err
	}
	return true, m.keepName(name)
}

// rename sets the kernel's host name and returns the old one. done is false if hostnamectl fails.
func (m *module) rename(ctx context.Context, name string) (old string, done bool, err error) {
	program := m.find("hostnamectl")
	if program == "" {
		if program = m.find("hostname"); program == "" {
			return "", false, loader.NotFound("neither hostnamectl nor hostname was found in $PATH")
		}
		if old, err = m.fullHostname(ctx); err == nil {
			_, err = m.output(ctx, program, name)
		}
		return old, err == nil, err
	}
	if old, err = m.staticName(ctx, program); err != nil {
		return "", false, err
	}
	ran, err := m.hostnamectl(ctx, program, "set-hostname", name)
	return old, err == nil && ran.Retcode == 0, err
}

func (m *module) hostnamectl(ctx context.Context, argv ...string) (calls.Ran, error) {
	return calls.RunAll(ctx, m.env, calls.Run{Argv: argv, Shell: calls.CmdDecides})
}

// staticName returns the name that hostnamectl reports, or else the host's own name.
func (m *module) staticName(ctx context.Context, program string) (string, error) {
	ran, err := m.hostnamectl(ctx, program, "status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(ran.Stdout) {
		if key, value, ok := strings.Cut(line, ":"); ok &&
			strings.Contains(key, "Static hostname") {
			return strings.TrimSpace(value), nil
		}
	}
	return os.Hostname()
}

// renamed returns a line of /etc/hosts with the first word that equals old replaced by name. It
// returns other lines unchanged.
func renamed(line, old, name string) string {
	words := strings.Fields(line)
	i := slices.Index(words, old)
	if i < 0 {
		return line
	}
	words[i] = name
	return strings.Join(words, "\t") + "\n"
}

// keepName writes the name into the file from which this OS family reads it at boot.
func (m *module) keepName(name string) error {
	switch m.env.GrainsNow().Text("os_family") {
	case "RedHat":
		return m.edit("/etc/sysconfig/network",
			func(line string) string { return sysconfigName(line, name) })
	case "Debian":
		if err := atomicfile.Write(m.at("/etc/hostname"), []byte(name+"\n"),
			atomicfile.Options{Mode: 0o644, KeepMode: true}); err != nil {
			return loader.Execution("store the host name: %w", err)
		}
	}
	return nil
}

// sysconfigName replaces the value of HOSTNAME=… and keeps its quotes.
func sysconfigName(line, name string) string {
	if !strings.HasPrefix(line, "HOSTNAME") {
		return line
	}
	_, old, _ := strings.Cut(strings.TrimRight(line, " \t\n"), "=")
	quote := ""
	if len(old) > 1 && old[0] == old[len(old)-1] && strings.ContainsAny(old[:1], `"'`) {
		quote = old[:1]
	}
	return "HOSTNAME=" + quote + strings.Trim(name, `"'`) + quote + "\n"
}

func (m *module) at(file string) string { return filepath.Join(m.env.Root, path.Clean("/"+file)) }

// edit rewrites the lines of a file. It does not create a missing file.
func (m *module) edit(file string, change func(line string) string) error {
	src, err := os.ReadFile(m.at(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return loader.Execution("change the host name: %w", err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(src)) {
		b.WriteString(change(line))
	}
	if b.String() == string(src) {
		return nil
	}
	if err := atomicfile.Write(m.at(file), []byte(b.String()),
		atomicfile.Options{Keep: true}); err != nil {
		return loader.Execution("change the host name: %w", err)
	}
	return nil
}
