// Package django is Salt's module django: commands of Django's program django-admin for a site
// (salt/modules/djangomod.py).
//
// Differences from Salt: arguments are words of their own, so that blanks in them do not make further
// ones. Names that django-admin would read as options are refused, and so are line ends.
package django

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module django.
func Plugin() loader.Plugin { return loader.Plugin{Name: "django", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("collectstatic", m.collectstatic),
		loader.F("command", m.command),
		loader.F("createsuperuser", m.createsuperuser),
		loader.F("loaddata", m.loaddata),
		loader.F("migrate", m.migrate),
		loader.F("syncdb", m.syncdb),
	}}, nil
}

// program returns the path of django-admin: of a virtual environment, the path itself, or on the search
// path.
func program(binEnv any) (string, error) {
	dir := calls.Text(binEnv)
	if dir == "" {
		for _, name := range []string{"django-admin.py", "django-admin"} {
			if process.Find(name) != "" {
				return name, nil
			}
		}
		return "", loader.Execution("django-admin or django-admin.py not found on PATH")
	}
	for _, name := range []string{"django-admin.py", "django-admin"} {
		if path := filepath.Join(dir, "bin", name); paths.Exists(path) {
			return path, nil
		}
	}
	return dir, nil
}

// A where says how django-admin runs.
type where struct {
	SettingsModule         string
	binEnv, pythonpath, as any
	env                    any
}

// run runs a command of django-admin. operands are names among the words.
func (m *module) run(ctx context.Context, w where, words, operands, options []string) (any, error) {
	if err := process.PlainOperands(operands...); err != nil {
		return nil, loader.Execution("%w", err)
	}
	options = append([]string{"settings=" + w.SettingsModule}, options...)
	if path := calls.Text(w.pythonpath); path != "" {
		options = append(options[:1:1], append([]string{"pythonpath=" + path}, options[1:]...)...)
	}
	bin, err := program(w.binEnv)
	if err != nil {
		return nil, err
	}
	argv := append(append([]string{bin}, words...), operands...)
	for _, option := range options {
		if strings.ContainsAny(option, "\n\r\x00") {
			return nil, loader.Execution("%q has more than one line", option)
		}
		argv = append(argv, "--"+option)
	}
	more := &data.Map{}
	if w.env != nil {
		more.Set("env", w.env)
	}
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: argv, As: calls.Text(w.as), More: more})
}

type commandArgs struct {
	SettingsModule string
	Command        string
	BinEnv         any       `default:"None"`
	Pythonpath     any       `default:"None"`
	Env            any       `default:"None"`
	Runas          any       `default:"None"`
	Args           []any     `args:"args"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// command runs a command of django-admin, and returns its output. Further arguments become options:
// noinput is --noinput, and database=x is --database=x.
//
// settings_module
//
//	The module of the site's settings, such as mysite.settings.
//
// bin_env
//
//	The directory of a virtual environment, or the path of django-admin.
//
// pythonpath
//
//	A directory that Python also looks for modules in.
//
// env
//
//	Variables for the command.
//
// runas
//
//	The user to run it as.
//
// CLI Example:
//
//	salt '*' django.command mysite.settings check
func (m *module) command(ctx context.Context, a commandArgs) (any, error) {
	words, err := process.Words(a.Command)
	if err != nil {
		return nil, loader.Execution("read the command: %w", err)
	}
	options := data.Texts(a.Args)
	for name, v := range a.Kwargs.All() {
		if name := data.Str(name); !strings.HasPrefix(name, "__") {
			options = append(options, name+"="+data.Str(v))
		}
	}
	return m.run(ctx, where{a.SettingsModule, a.BinEnv, a.Pythonpath, a.Runas, a.Env}, nil, words, options)
}

// flags returns the options whose values are true, and database=NAME if there is one.
func flags(database any, pairs ...any) []string {
	var options []string
	for i := 0; i < len(pairs); i += 2 {
		if data.Truth(pairs[i+1]) {
			options = append(options, pairs[i].(string))
		}
	}
	if name := calls.Text(database); name != "" {
		options = append(options, "database="+name)
	}
	return options
}

type syncArgs struct {
	SettingsModule string
	BinEnv         any `default:"None"`
	Migrate        any `default:"False"`
	Database       any `default:"None"`
	Pythonpath     any `default:"None"`
	Env            any `default:"None"`
	Noinput        any `default:"True"`
	Runas          any `default:"None"`
}

// syncdb runs syncdb, which Django had before 1.9, and returns its output.
//
// migrate
//
//	True: also run the migrations of South.
//
// noinput
//
//	False: Django may ask questions.
//
// CLI Example:
//
//	salt '*' django.syncdb mysite.settings
func (m *module) syncdb(ctx context.Context, a syncArgs) (any, error) {
	return m.run(ctx, where{a.SettingsModule, a.BinEnv, a.Pythonpath, a.Runas, a.Env}, []string{"syncdb"}, nil,
		flags(a.Database, "migrate", a.Migrate, "noinput", a.Noinput))
}

type migrateArgs struct {
	SettingsModule string
	AppLabel       any `default:"None"`
	MigrationName  any `default:"None"`
	BinEnv         any `default:"None"`
	Database       any `default:"None"`
	Pythonpath     any `default:"None"`
	Env            any `default:"None"`
	Noinput        any `default:"True"`
	Runas          any `default:"None"`
}

// migrate runs the migrations of the database, and returns the output.
//
// app_label
//
//	Only those of this application.
//
// migration_name
//
//	Only up to this migration of the application; zero takes all of them back.
//
// database
//
//	The database of the settings. Default: default.
//
// noinput
//
//	False: Django may ask questions.
//
// CLI Example:
//
//	salt '*' django.migrate mysite.settings
//	salt '*' django.migrate mysite.settings polls 0002
func (m *module) migrate(ctx context.Context, a migrateArgs) (any, error) {
	var names []string
	if app := calls.Text(a.AppLabel); app != "" {
		names = append(names, app)
		if migration := calls.Text(a.MigrationName); migration != "" {
			names = append(names, migration)
		}
	}
	return m.run(ctx, where{a.SettingsModule, a.BinEnv, a.Pythonpath, a.Runas, a.Env}, []string{"migrate"}, names,
		flags(a.Database, "noinput", a.Noinput))
}

type superuserArgs struct {
	SettingsModule string
	Username       string
	Email          string
	BinEnv         any `default:"None"`
	Database       any `default:"None"`
	Pythonpath     any `default:"None"`
	Env            any `default:"None"`
	Runas          any `default:"None"`
}

// createsuperuser creates an administrator of the site, without a password, and returns the output.
//
// CLI Example:
//
//	salt '*' django.createsuperuser mysite.settings user user@example.com
func (m *module) createsuperuser(ctx context.Context, a superuserArgs) (any, error) {
	options := []string{"noinput", "email=" + a.Email, "username=" + a.Username}
	return m.run(ctx, where{a.SettingsModule, a.BinEnv, a.Pythonpath, a.Runas, a.Env}, []string{"createsuperuser"}, nil,
		append(options, flags(a.Database)...))
}

type loadArgs struct {
	SettingsModule string
	Fixtures       string
	BinEnv         any `default:"None"`
	Database       any `default:"None"`
	Pythonpath     any `default:"None"`
	Env            any `default:"None"`
}

// loaddata loads fixtures into the database, and returns the output.
//
// fixtures
//
//	The fixtures, separated by commas.
//
// CLI Example:
//
//	salt '*' django.loaddata mysite.settings users,groups
func (m *module) loaddata(ctx context.Context, a loadArgs) (any, error) {
	return m.run(ctx, where{a.SettingsModule, a.BinEnv, a.Pythonpath, nil, a.Env}, []string{"loaddata"},
		strings.Split(a.Fixtures, ","), flags(a.Database))
}

type collectArgs struct {
	SettingsModule  string
	BinEnv          any `default:"None"`
	NoPostProcess   any `default:"False"`
	Ignore          any `default:"None"`
	DryRun          any `default:"False"`
	Clear           any `default:"False"`
	Link            any `default:"False"`
	NoDefaultIgnore any `default:"False"`
	Pythonpath      any `default:"None"`
	Env             any `default:"None"`
	Runas           any `default:"None"`
}

// collectstatic collects the static files of the applications in one directory, and returns the output.
//
// no_post_process, dry_run, clear, link, no_default_ignore
//
//	True: the option of that name.
//
// ignore
//
//	A pattern of files to leave out.
//
// CLI Example:
//
//	salt '*' django.collectstatic mysite.settings
func (m *module) collectstatic(ctx context.Context, a collectArgs) (any, error) {
	options := flags(nil, "noinput", true, "no-post-process", a.NoPostProcess, "dry-run", a.DryRun, "clear", a.Clear,
		"link", a.Link, "no-default-ignore", a.NoDefaultIgnore)
	if pattern := calls.Text(a.Ignore); pattern != "" {
		options = append(options, "ignore="+pattern)
	}
	return m.run(ctx, where{a.SettingsModule, a.BinEnv, a.Pythonpath, a.Runas, a.Env}, []string{"collectstatic"}, nil,
		options)
}
