// Package apache is Salt's module apache: version, modules, sites and configuration of Apache's web
// server (salt/modules/apache.py, deb_apache.py and suse_apache.py).
//
// apache.go runs the server's program, enable.go the programs of Debian and SUSE that enable parts of
// the configuration, config.go writes configuration, and status.go reads the status page.
//
// Differences from Salt: numbers in a configuration are written; Salt drops them. Values of the status
// page that are no numbers are texts, and passwords are sent as Basic ones. Names that the programs
// would read as options are refused, and so are line ends.
package apache

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module apache. It is available on hosts with the program of the web server.
func Plugin() loader.Plugin { return loader.Plugin{Name: "apache", New: newModule} }

type module struct {
	env     *loader.Env
	program string
}

func newModule(env *loader.Env) (*loader.Module, error) {
	family := env.GrainsNow().Text("os_family")
	m := &module{env, "apachectl"}
	if family == "Debian" || family == "Suse" {
		m.program = "apache2ctl"
	}
	if process.Find(m.program) == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The apache execution module cannot be loaded: apache is not installed.")
	}
	funcs := []loader.Func{
		loader.F("config", m.config),
		loader.F("directives", m.directives),
		loader.F("fullversion", m.fullversion),
		loader.F("modules", m.modules),
		loader.F("server_status", m.serverStatus),
		loader.F("servermods", m.servermods),
		loader.F("signal", m.signal),
		loader.F("useradd", m.useradd).Secret("password"),
		loader.F("userdel", m.userdel),
		loader.F("version", m.version),
		loader.F("vhosts", m.vhosts),
	}
	return &loader.Module{Funcs: append(funcs, m.enabling(family)...)}, nil
}

type noArgs struct{}

// lines runs the server's program with an option, and returns what it prints by line.
func (m *module) lines(ctx context.Context, option string) ([]string, error) {
	text, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{m.program, option}})
	return strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), err
}

// version returns the version of the server.
//
// CLI Example:
//
//	salt '*' apache.version
func (m *module) version(ctx context.Context, _ noArgs) (any, error) {
	lines, err := m.lines(ctx, "-v")
	if err != nil {
		return nil, err
	}
	_, version, ok := strings.Cut(lines[0], ": ")
	if !ok {
		return nil, loader.Execution("%s -v prints no version", m.program)
	}
	return version, nil
}

var define = regexp.MustCompile(`^\s+-D\s+`)

// fullversion returns what the server says of its build: compiled_with, a list, and its settings.
//
// CLI Example:
//
//	salt '*' apache.fullversion
func (m *module) fullversion(ctx context.Context, _ noArgs) (any, error) {
	lines, err := m.lines(ctx, "-V")
	with, all := []any{}, data.NewMap("compiled_with", nil)
	for _, line := range lines {
		words := strings.Split(line, ": ")
		switch {
		case len(words) > 1:
			key := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(words[0])), " ", "_")
			all.Set(key, strings.TrimSpace(words[1]))
		case strings.Contains(line, " -D"):
			with = append(with, define.ReplaceAllString(line, ""))
		}
	}
	all.Set("compiled_with", with)
	return all, err
}

// modules returns the modules of the server: lists of the static and the shared ones.
//
// CLI Example:
//
//	salt '*' apache.modules
func (m *module) modules(ctx context.Context, _ noArgs) (any, error) {
	lines, err := m.lines(ctx, "-M")
	static, shared := []any{}, []any{}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if strings.Contains(line, "(static)") {
			static = append(static, words[0])
		}
		if strings.Contains(line, "(shared)") {
			shared = append(shared, words[0])
		}
	}
	return data.NewMap("static", static, "shared", shared), err
}

// servermods returns the source files of the modules that are part of the server.
//
// CLI Example:
//
//	salt '*' apache.servermods
func (m *module) servermods(ctx context.Context, _ noArgs) (any, error) {
	lines, err := m.lines(ctx, "-l")
	found := []any{}
	for _, line := range lines {
		if strings.Contains(line, ".c") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found, err
}

// directives returns the directives of the server, each with its arguments and where it may stand.
//
// CLI Example:
//
//	salt '*' apache.directives
func (m *module) directives(ctx context.Context, _ noArgs) (any, error) {
	lines, err := m.lines(ctx, "-L")
	all := &data.Map{}
	for line := range strings.SplitSeq(strings.ReplaceAll(strings.Join(lines, "\n"), "\n\t", "\t"), "\n") {
		if line != "" {
			name, rest, _ := strings.Cut(line, "\t")
			all.Set(name, strings.ReplaceAll(rest, "\t", "\n"))
		}
	}
	return all, err
}

// vhosts returns the virtual hosts of the configuration by their addresses.
//
// CLI Example:
//
//	salt -t 10 '*' apache.vhosts
func (m *module) vhosts(ctx context.Context, _ noArgs) (any, error) {
	lines, err := m.lines(ctx, "-S")
	all, hosts := &data.Map{}, (*data.Map)(nil)
	bare := strings.NewReplacer("(", "", ")", "")
	for _, line := range lines {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case strings.Contains(line, "is a NameVirtualHost"):
			hosts = &data.Map{}
			all.Set(words[0], hosts)
		case hosts == nil:
		case words[0] == "default" && len(words) > 3:
			hosts.Set("default", data.NewMap("vhost", words[2], "conf", bare.Replace(words[3])))
		case words[0] == "port" && len(words) > 4:
			hosts.Set(words[3], data.NewMap("vhost", words[3], "conf", bare.Replace(words[4]), "port", words[1]))
		}
	}
	return all, err
}

type signalArgs struct {
	Signal any `default:"None"`
}

// signal makes the server start, stop, restart, graceful or graceful-stop, or asks it for configtest,
// status or fullstatus, and returns what it prints. Other signals are ignored.
//
// CLI Example:
//
//	salt '*' apache.signal restart
func (m *module) signal(ctx context.Context, a signalArgs) (any, error) {
	signal, _ := a.Signal.(string)
	argv := []string{m.program, "-k", signal}
	switch {
	case slices.Contains([]string{"configtest", "status", "fullstatus"}, signal):
		argv = []string{m.program, signal}
	case !slices.Contains([]string{"start", "stop", "restart", "graceful", "graceful-stop"}, signal):
		return nil, nil
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
	switch {
	case err != nil:
		return nil, err
	case ran.Stderr != "":
		return strings.TrimSpace(ran.Stderr), nil
	case ran.Stdout != "":
		return strings.TrimSpace(ran.Stdout), nil
	}
	return fmt.Sprintf("Command: %q completed successfully!", strings.Join(argv, " ")), nil
}

type useraddArgs struct {
	Pwfile   string
	User     string
	Password any
	Opts     string `default:"''"`
}

// useradd sets the password of a user in a file, which it creates if needed, and returns the result
// of the program htpasswd.
//
// opts
//
//	Letters that choose the form of the password: m (MD5, the default), d (crypt), s (SHA), p (plain).
//
// CLI Example:
//
//	salt '*' apache.useradd /etc/httpd/htpasswd larry badpassword
//	salt '*' apache.useradd /etc/httpd/htpasswd larry badpass opts=s
func (m *module) useradd(ctx context.Context, a useraddArgs) (any, error) {
	return m.env.Call(ctx, "webutil.useradd", []any{a.Pwfile, a.User, a.Password, a.Opts}, nil)
}

type userdelArgs struct {
	Pwfile string
	User   string
}

// userdel removes a user from a file of passwords, and returns the output of the program htpasswd by
// line.
//
// CLI Example:
//
//	salt '*' apache.userdel /etc/httpd/htpasswd larry
func (m *module) userdel(ctx context.Context, a userdelArgs) (any, error) {
	return m.env.Call(ctx, "webutil.userdel", []any{a.Pwfile, a.User}, nil)
}
