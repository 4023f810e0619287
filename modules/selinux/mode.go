package selinux

import (
	"context"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
)

// configuration is the file with the mode of the next boot.
const configuration = "/etc/selinux/config"

// selinuxFsPath returns the directory at which the kernel shows SELinux, or None without it.
//
// CLI Example:
//
//	salt '*' selinux.selinux_fs_path
func (m *module) selinuxFsPath(context.Context, noArgs) (any, error) {
	if dir := m.kernelDir(); dir != "" {
		return dir, nil
	}
	return nil, nil
}

func (m *module) kernelDir() string {
	for _, dir := range []string{"/sys/fs/selinux", "/selinux"} {
		if info, err := os.Stat(m.path(dir + "/enforce")); err == nil && info.Mode().IsRegular() {
			return dir
		}
	}
	return ""
}

// getenforce returns the current mode: Enforcing, Permissive or Disabled.
//
// CLI Example:
//
//	salt '*' selinux.getenforce
func (m *module) getenforce(context.Context, noArgs) (string, error) { return m.mode(), nil }

func (m *module) mode() string {
	dir := m.kernelDir()
	if dir == "" {
		return "Disabled"
	}
	text, err := os.ReadFile(m.path(path.Join(dir, "enforce")))
	switch first, _, _ := strings.Cut(string(text), "\n"); {
	case err != nil:
		return "Disabled"
	case strings.TrimSpace(first) == "0":
		return "Permissive"
	}
	return "Enforcing"
}

// getconfig returns the mode of the next boot from the configuration, or None if there is none.
//
// CLI Example:
//
//	salt '*' selinux.getconfig
func (m *module) getconfig(context.Context, noArgs) (any, error) {
	text, err := os.ReadFile(m.path(configuration))
	if err != nil {
		return nil, nil //nolint:nilerr // Salt's answer
	}
	for line := range strings.Lines(string(text)) {
		if mode, ok := strings.CutPrefix(strings.TrimSpace(line), "SELINUX="); ok {
			mode, _, _ = strings.Cut(mode, "=")
			return strings.TrimSpace(capitalized(mode)), nil
		}
	}
	return nil, nil
}

func capitalized(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + strings.ToLower(s[1:])
}

type modeArgs struct{ Mode any }

// setenforce sets the current mode and that of the next boot, and returns the current mode.
//
// mode
//
//	enforcing, permissive or disabled, or a number: 0 for permissive, others for enforcing. The mode
//	disabled comes with the next boot; until then it is permissive.
//
// CLI Example:
//
//	salt '*' selinux.setenforce enforcing
func (m *module) setenforce(_ context.Context, a modeArgs) (string, error) {
	word := ""
	switch v := a.Mode.(type) {
	case string:
		word = strings.ToLower(v)
	case int64, bool:
		word = "permissive"
		if data.Truth(v) {
			word = "enforcing"
		}
	}
	number, ok := map[string]string{"enforcing": "1", "permissive": "0", "disabled": "0"}[word]
	if !ok {
		return "Invalid mode " + data.Str(a.Mode), nil
	}
	if dir := m.kernelDir(); m.mode() != "Disabled" {
		if err := os.WriteFile(m.path(dir+"/enforce"), []byte(number), 0o644); err != nil {
			return "", loader.Execution("Could not write SELinux enforce file: %w", loader.OSError(err))
		}
	}
	if err := m.configure(word); err != nil {
		return "", err
	}
	return m.mode(), nil
}

// configure writes the mode of the next boot. A configuration without one gets it as its last line.
func (m *module) configure(mode string) error {
	file := m.path(configuration)
	text, err := os.ReadFile(file)
	if err != nil {
		return loader.Execution("Could not read SELinux config file: %w", loader.OSError(err))
	}
	line := []byte("SELINUX=" + mode)
	var now []byte
	if entry := regexp.MustCompile(`(?m)^SELINUX=.*$`); entry.Match(text) {
		now = entry.ReplaceAllLiteral(text, line)
	} else {
		if len(text) > 0 && text[len(text)-1] != '\n' {
			line = append([]byte("\n"), line...)
		}
		now = slices.Concat(text, line, []byte("\n"))
	}
	if string(now) == string(text) {
		return nil
	}
	if err := atomicfile.Write(file, now, atomicfile.Options{Mode: 0o644, Keep: true}); err != nil {
		return loader.Execution("Could not write SELinux config file: %w", loader.OSError(err))
	}
	return nil
}
