package winservice

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sys/windows/svc/mgr"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type modifyArgs struct {
	Name            string
	BinPath         any `default:"None"`
	ExeArgs         any `default:"None"`
	DisplayName     any `default:"None"`
	Description     any `default:"None"`
	ServiceType     any `default:"None"`
	StartType       any `default:"None"`
	StartDelayed    any `default:"None"`
	ErrorControl    any `default:"None"`
	LoadOrderGroup  any `default:"None"`
	Dependencies    any `default:"None"`
	AccountName     any `default:"None"`
	AccountPassword any `default:"None"`
	RunInteractive  any `default:"None"`
}

// modify changes settings of a service, and returns what it changed. None keeps a setting.
//
// bin_path, exe_args
//
//	The path of the program and its arguments.
//
// service_type
//
//	kernel, filesystem, adapter, recognizer, own or share.
//
// start_type, start_delayed
//
//	boot, system, auto, manual or disabled; with auto, start it after the others.
//
// error_control
//
//	normal, ignore, severe or critical: what a failed start does to the start of the system.
//
// account_name, account_password
//
//	The account of the service.
//
// CLI Example:
//
//	salt '*' service.modify spooler start_type=disabled
func (m *module) modify(_ context.Context, a modifyArgs) (any, error) { return change(a.Name, a) }

// change changes settings of a service.
func change(name string, a modifyArgs) (*data.Map, error) {
	changes := data.NewMap()
	err := with(name, func(s *mgr.Service) error {
		c, err := settingsOf(s)
		if err != nil {
			return loader.Execution("read the settings of %s: %w", name, err)
		}
		was := c
		if err := a.fill(&c, changes); err != nil {
			return err
		}
		if err := renew(s, was, c); err != nil {
			return loader.Execution("change the settings of %s: %w", name, err)
		}
		return nil
	})
	return changes, err
}

// fill puts the arguments into the settings of a service, and notes them as changes.
func (a modifyArgs) fill(c *mgr.Config, changes *data.Map) error {
	if a.BinPath != nil {
		c.BinaryPathName = quoted(data.Str(a.BinPath), a.ExeArgs)
		changes.Set("BinaryPath", c.BinaryPathName)
	}
	if err := a.fillKind(c, changes); err != nil {
		return err
	}
	if a.StartType != nil {
		n := index(startTypes, a.StartType)
		if n < 0 {
			return loader.Execution("Invalid Start Type: %s", data.Str(a.StartType))
		}
		c.StartType = uint32(n)
		changes.Set("StartType", startTypes[n])
	}
	if a.ErrorControl != nil {
		n := index(severities, a.ErrorControl)
		if n < 0 {
			return loader.Execution("Invalid Error Control: %s", data.Str(a.ErrorControl))
		}
		c.ErrorControl = uint32(n)
		changes.Set("ErrorControl", severities[n])
	}
	a.fillAccount(c, changes)
	for _, text := range []struct {
		v    any
		to   *string
		name string
	}{{a.LoadOrderGroup, &c.LoadOrderGroup, "LoadOrderGroup"}, {a.DisplayName, &c.DisplayName, "DisplayName"},
		{a.Description, &c.Description, "Description"}} {
		if text.v != nil {
			*text.to = data.Str(text.v)
			changes.Set(text.name, text.v)
		}
	}
	if a.Dependencies != nil {
		list, ok := a.Dependencies.([]any)
		if !ok {
			list = []any{a.Dependencies}
		}
		c.Dependencies = data.Texts(list)
		changes.Set("Dependencies", a.Dependencies)
	}
	const auto = 2
	switch {
	case a.StartDelayed == nil:
	case c.StartType == auto:
		c.DelayedAutoStart = data.Truth(a.StartDelayed)
		changes.Set("StartTypeDelayed", a.StartDelayed)
	default:
		changes.Set("Warning", `start_delayed: Requires start_type "auto"`)
	}
	return nil
}

const interactive = 0x100

// fillKind sets the type of the service.
func (a modifyArgs) fillKind(c *mgr.Config, changes *data.Map) error {
	if a.ServiceType == nil && a.RunInteractive == nil {
		return nil
	}
	if a.ServiceType != nil {
		kind, err := kindOf(data.Str(a.ServiceType))
		if err != nil {
			return err
		}
		c.ServiceType = kind
	}
	if a.RunInteractive != nil {
		c.ServiceType &^= interactive
		if data.Truth(a.RunInteractive) {
			c.ServiceType |= interactive
		}
	}
	changes.Set("ServiceType", kindsOf(c.ServiceType))
	return nil
}

func kindOf(name string) (uint32, error) {
	for _, t := range types {
		if t.word != "" && t.word == strings.ToLower(name) {
			return t.bit, nil
		}
	}
	return 0, loader.Execution("Invalid Service Type: %s", name)
}

// fillAccount sets the account. Accounts of the system have no password.
func (a modifyArgs) fillAccount(c *mgr.Config, changes *data.Map) {
	if a.AccountName == nil {
		return
	}
	c.ServiceStartName = data.Str(a.AccountName)
	changes.Set("ServiceAccount", a.AccountName)
	if a.AccountPassword != nil && !ofSystem(c.ServiceStartName) {
		c.Password = data.Str(a.AccountPassword)
	}
}

// ofSystem reports whether an account is one of the system.
func ofSystem(account string) bool {
	return slices.Contains([]string{"LocalSystem", "LocalService", "NetworkService"},
		strings.TrimPrefix(account, `.\`))
}

func index(words []string, v any) int {
	return slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, data.Str(v)) })
}

// quoted returns a command line for the service manager.
func quoted(path string, args any) string {
	line := `"` + strings.Trim(path, `"'`) + `"`
	if args != nil {
		line += " " + data.Str(args)
	}
	return line
}

type createArgs struct {
	Name            string
	BinPath         string
	ExeArgs         any       `default:"None"`
	DisplayName     any       `default:"None"`
	Description     any       `default:"None"`
	ServiceType     string    `default:"'own'"`
	StartType       string    `default:"'manual'"`
	StartDelayed    bool      `default:"False"`
	ErrorControl    string    `default:"'normal'"`
	LoadOrderGroup  any       `default:"None"`
	Dependencies    any       `default:"None"`
	AccountName     string    `default:"'.\\\\LocalSystem'"`
	AccountPassword any       `default:"None"`
	RunInteractive  bool      `default:"False"`
	Kwargs          *data.Map `kwargs:"kwargs"`
}

// create makes a service, and returns what service.info does. The arguments are those of
// service.modify.
//
// CLI Example:
//
//	salt '*' service.create <service name> <path to exe> display_name='<display name>'
func (m *module) create(_ context.Context, a createArgs) (any, error) {
	names, err := all()
	if err != nil {
		return nil, err
	}
	if slices.Contains(names, a.Name) {
		return nil, loader.Execution("Service Already Exists: %s", a.Name)
	}
	if a.DisplayName == nil {
		a.DisplayName = a.Name
	}
	if a.StartDelayed && !strings.EqualFold(a.StartType, "auto") {
		return nil, loader.Execution(`Invalid Parameter: start_delayed requires start_type "auto"`)
	}
	wanted := modifyArgs{DisplayName: a.DisplayName, Description: a.Description, ServiceType: a.ServiceType,
		StartType: a.StartType, ErrorControl: a.ErrorControl, LoadOrderGroup: a.LoadOrderGroup,
		Dependencies: a.Dependencies, AccountPassword: a.AccountPassword, RunInteractive: a.RunInteractive,
		StartDelayed: a.StartDelayed}
	if !ofSystem(a.AccountName) || strings.TrimPrefix(a.AccountName, `.\`) != "LocalSystem" {
		wanted.AccountName = a.AccountName // the manager's default is LocalSystem
	}
	var c mgr.Config
	if err := wanted.fill(&c, data.NewMap()); err != nil {
		return nil, err
	}
	if err := made(a, c); err != nil {
		return nil, err
	}
	return infoOf(a.Name)
}

// made creates a service with these settings. The arguments are set afterwards, as they were given.
func made(a createArgs, c mgr.Config) error {
	m, err := mgr.Connect()
	if err != nil {
		return loader.Execution("Failed to connect to the SCM: %w", err)
	}
	defer m.Disconnect() //nolint:errcheck // nothing helps
	path := strings.Trim(a.BinPath, `"'`)
	s, err := m.CreateService(a.Name, path, c)
	if err != nil {
		return loader.Execution("create service %s: %w", a.Name, err)
	}
	defer s.Close()
	now, err := settingsOf(s)
	if err != nil {
		return loader.Execution("read the settings of %s: %w", a.Name, err)
	}
	was := now
	now.BinaryPathName = quoted(path, a.ExeArgs)
	if err := renew(s, was, now); err != nil {
		return loader.Execution("change the settings of %s: %w", a.Name, err)
	}
	return nil
}
