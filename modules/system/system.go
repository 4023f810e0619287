// Package system is Salt's module system: reboot, shutdown, the clock and the computer name
// (salt/modules/system.py).
//
// Differences from Salt: /etc/machine-info is replaced atomically. The functions for NI Linux RT
// exist only on that system.
package system

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module system.
func Plugin() loader.Plugin { return loader.Plugin{Name: "system", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	switch runtime.GOOS {
	case "windows":
		return nil, errors.New("This module is not available on Windows") //nolint:staticcheck // Salt's text
	case "darwin":
		return nil, errors.New("This module is not available on Mac OS") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	funcs := []loader.Func{
		loader.F("get_computer_desc", m.getComputerDesc),
		loader.F("get_computer_name", m.getComputerName),
		loader.F("get_system_date", m.getSystemDate),
		loader.F("get_system_date_time", m.getSystemDateTime),
		loader.F("get_system_time", m.getSystemTime),
		loader.F("halt", m.halt),
		loader.F("has_settable_hwclock", m.hasSettableHwclock),
		loader.F("init", m.initTo),
		loader.F("poweroff", m.poweroff),
		loader.F("reboot", m.reboot),
		loader.F("set_computer_desc", m.setComputerDesc),
		loader.F("set_computer_name", m.setComputerName),
		loader.F("set_system_date", m.setSystemDate),
		loader.F("set_system_date_time", m.setSystemDateTime),
		loader.F("set_system_time", m.setSystemTime),
		loader.F("shutdown", m.shutdown),
	}
	if env.GrainsNow().Text("os_family") == "NILinuxRT" {
		funcs = append(funcs, loader.F("get_reboot_required_witnessed",
			m.getRebootRequiredWitnessed),
			loader.F("set_reboot_required_witnessed", m.setRebootRequiredWitnessed))
	}
	return &loader.Module{Funcs: funcs}, nil
}

func (m *module) at(path string) string { return filepath.Join("/", m.env.Root, path) }

// output runs a program and returns its output.
func (m *module) output(ctx context.Context, argv ...string) (string, error) {
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: argv})
}

// halt halts the system.
//
// CLI Example:
//
//	salt '*' system.halt
func (m *module) halt(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.output(ctx, "halt")
}

// poweroff turns the system off.
//
// CLI Example:
//
//	salt '*' system.poweroff
func (m *module) poweroff(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.output(ctx, "poweroff")
}

type initArgs struct{ Runlevel any }

// initTo changes the runlevel.
//
// CLI Example:
//
//	salt '*' system.init 3
func (m *module) initTo(ctx context.Context, a initArgs) (any, error) {
	return m.output(ctx, "init", data.Str(a.Runlevel))
}

type timeArgs struct {
	AtTime any `default:"None"`
}

func (a timeArgs) when() string {
	if data.Truth(a.AtTime) {
		return data.Str(a.AtTime)
	}
	return "now"
}

// reboot reboots the system.
//
// at_time
//
//	How many minutes to wait. Default: do not wait.
//
// CLI Example:
//
//	salt '*' system.reboot
func (m *module) reboot(ctx context.Context, a timeArgs) (any, error) {
	return m.output(ctx, "shutdown", "-r", a.when())
}

// shutdown shuts the system down.
//
// at_time
//
//	How many minutes to wait. Default: do not wait.
//
// CLI Example:
//
//	salt '*' system.shutdown 5
func (m *module) shutdown(ctx context.Context, a timeArgs) (any, error) {
	flag := "-h"
	if strings.HasSuffix(runtime.GOOS, "bsd") {
		flag = "-p"
	}
	return m.output(ctx, "shutdown", flag, a.when())
}

const machineInfo = "/etc/machine-info"

var pretty = regexp.MustCompile(`^\s*PRETTY_HOSTNAME=(.*)$`)

// getComputerDesc returns the description of the computer, False if it has none.
//
// CLI Example:
//
//	salt '*' system.get_computer_desc
func (m *module) getComputerDesc(ctx context.Context, _ loader.NoArgs) (any, error) {
	if ctl := process.Find("hostnamectl"); ctl != "" {
		out, err := m.output(ctx, ctl, "status", "--pretty")
		return unescaped(out), err
	}
	src, err := os.ReadFile(m.at(machineInfo))
	if err != nil {
		return false, nil
	}
	var desc any = false
	for line := range strings.Lines(string(src)) {
		if match := pretty.FindStringSubmatch(strings.TrimRight(line, "\r\n")); match != nil {
			desc = unescaped(unquoted(strings.TrimSpace(match[1])))
		}
	}
	return desc, nil
}

func unquoted(s string) string {
	if len(s) > 1 && s[0] == s[len(s)-1] && strings.ContainsAny(s[:1], `'"`) {
		return s[1 : len(s)-1]
	}
	return s
}

func unescaped(s string) string {
	for _, pair := range [][2]string{{`\\`, `\`}, {`\"`, `"`}, {`\n`, "\n"}, {`\t`, "\t"}} {
		s = strings.ReplaceAll(s, pair[0], pair[1])
	}
	return s
}

type descArgs struct{ Desc string }

// setComputerDesc sets the description of the computer and reports whether that worked.
//
// CLI Example:
//
//	salt '*' system.set_computer_desc "Michael's laptop"
func (m *module) setComputerDesc(ctx context.Context, a descArgs) (any, error) {
	desc := strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(a.Desc)
	if ctl := process.Find("hostnamectl"); ctl != "" {
		return calls.Succeeds(ctx, m.env,
			calls.Run{Argv: []string{ctl, "set-hostname", "--pretty", desc}})
	}
	src, err := os.ReadFile(m.at(machineInfo))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	text := described(string(src), `PRETTY_HOSTNAME="`+desc+`"`)
	err = atomicfile.Write(m.at(machineInfo), []byte(text),
		atomicfile.Options{Mode: 0o644, Keep: true})
	if err != nil {
		m.env.Log.Errorf("Unable to write %s: %v", machineInfo, err)
	}
	return err == nil, nil
}

// described returns the file with the first line that has a description replaced, or with the line
// appended.
func described(text, line string) string {
	var b strings.Builder
	found := false
	for old := range strings.Lines(text) {
		if !found && pretty.MatchString(strings.TrimRight(old, "\r\n")) {
			found, old = true, line+"\n"
		}
		b.WriteString(old)
	}
	if !found {
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

type hostnameArgs struct{ Hostname any }

// setComputerName sets the name of the computer.
//
// CLI Example:
//
//	salt '*' system.set_computer_name master.saltstack.com
func (m *module) setComputerName(ctx context.Context, a hostnameArgs) (any, error) {
	return m.env.Call(ctx, "network.mod_hostname", []any{a.Hostname}, nil)
}

// getComputerName returns the name of the computer.
//
// CLI Example:
//
//	salt '*' system.get_computer_name
func (m *module) getComputerName(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.env.Call(ctx, "network.get_hostname", nil, nil)
}

// witness is a file that the next boot removes.
const witness = "/var/volatile/tmp/salt/reboot_witnessed"

// getRebootRequiredWitnessed reports whether a reboot was marked as required since the last boot.
// It exists only on NI Linux RT.
//
// CLI Example:
//
//	salt '*' system.get_reboot_required_witnessed
func (m *module) getRebootRequiredWitnessed(context.Context, loader.NoArgs) (any, error) {
	_, err := os.Stat(m.at(witness))
	return err == nil, nil
}

// setRebootRequiredWitnessed marks a reboot as required. It exists only on NI Linux RT.
//
// CLI Example:
//
//	salt '*' system.set_reboot_required_witnessed
func (m *module) setRebootRequiredWitnessed(context.Context, loader.NoArgs) (any, error) {
	dir := filepath.Dir(m.at(witness))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, loader.Invocation("Error creating %s: %v", dir, err)
	}
	f, err := os.OpenFile(m.at(witness), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return false, nil
	}
	return f.Close() == nil, nil
}
