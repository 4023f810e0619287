package winservice

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/loader"
)

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("available", m.available),
		loader.F("create", m.create),
		loader.F("delete", m.delete),
		loader.F("disable", m.disable),
		loader.F("disabled", m.disabled),
		loader.F("enable", m.enable),
		loader.F("enabled", m.enabled),
		loader.F("get_all", m.getAll),
		loader.F("get_disabled", m.getDisabled),
		loader.F("get_enabled", m.getEnabled),
		loader.F("get_service_name", m.getServiceName),
		loader.F("getsid", m.getsid),
		loader.F("info", m.info),
		loader.F("missing", m.missing),
		loader.F("modify", m.modify),
		loader.F("restart", m.restart),
		loader.F("start", m.start),
		loader.F("status", m.status),
		loader.F("stop", m.stop),
	}}, nil
}

type nameArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

type timeArgs struct {
	Name    string
	Timeout int64 `default:"90"`
}

// The names of settings by their numbers, as results have them. Arguments have them in small letters.
var (
	states     = []string{"", "Stopped", "Start Pending", "Stop Pending", "Running", "Continue Pending", "Pause Pending", "Paused"}
	startTypes = []string{"Boot", "System", "Auto", "Manual", "Disabled"}
	severities = []string{"Ignore", "Normal", "Severe", "Critical"}
	controls   = []string{"Stop", "Pause/Continue", "Shutdown", "Change Parameters", "Netbind Change",
		"Hardware Profile Change", "Power Event", "Session Change", "Pre-Shutdown", "Time Change", "Trigger Event"}
)

// types are the kinds of services by their bits, with the words of arguments.
var types = []struct {
	bit        uint32
	text, word string
}{{1, "Kernel Driver", "kernel"}, {2, "File System Driver", "filesystem"}, {4, "Adapter Driver", "adapter"},
	{8, "Recognizer Driver", "recognizer"}, {16, "Win32 Own Process", "own"},
	{32, "Win32 Share Process", "share"}, {256, "Interactive", ""}}

// with calls use with a service that is open.
func with(name string, use func(*mgr.Service) error) error {
	m, err := mgr.Connect()
	if err != nil {
		return loader.Execution("Failed to connect to the SCM: %w", err)
	}
	defer m.Disconnect() //nolint:errcheck // nothing helps
	s, err := m.OpenService(name)
	if err != nil {
		return loader.Execution("Failed To Open %s: %w", name, err)
	}
	defer s.Close()
	return use(s)
}

func all() ([]string, error) {
	m, err := mgr.Connect()
	if err != nil {
		return nil, loader.Execution("Failed to connect to the SCM: %w", err)
	}
	defer m.Disconnect() //nolint:errcheck // nothing helps
	names, err := m.ListServices()
	if err != nil {
		return nil, loader.Execution("list services: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// getAll returns the names of all services.
//
// CLI Example:
//
//	salt '*' service.get_all
func (m *module) getAll(context.Context, loader.NoArgs) (any, error) {
	names, err := all()
	return data.Values(names), err
}

// available reports whether a service exists, in capitals or small letters.
//
// CLI Example:
//
//	salt '*' service.available <service name>
func (m *module) available(_ context.Context, a nameArgs) (any, error) {
	names, err := all()
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, a.Name) }), err
}

// missing reports whether no service has exactly this name.
//
// CLI Example:
//
//	salt '*' service.missing <service name>
func (m *module) missing(_ context.Context, a nameArgs) (any, error) {
	names, err := all()
	return !slices.Contains(names, a.Name), err
}

// getEnabled returns the names of services that start with the system.
//
// CLI Example:
//
//	salt '*' service.get_enabled
func (m *module) getEnabled(context.Context, loader.NoArgs) (any, error) { return startingAs("Auto") }

// getDisabled returns the names of services that do not start with the system.
//
// CLI Example:
//
//	salt '*' service.get_disabled
func (m *module) getDisabled(context.Context, loader.NoArgs) (any, error) {
	return startingAs("Manual", "Disabled")
}

func startingAs(kinds ...string) (any, error) {
	names, err := all()
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, name := range names {
		kind, err := startType(name)
		if err == nil && slices.Contains(kinds, kind) {
			list = append(list, name)
		}
	}
	return list, nil
}

func startType(name string) (kind string, err error) {
	err = with(name, func(s *mgr.Service) error {
		c, err := settingsOf(s)
		if err == nil {
			kind = word(startTypes, c.StartType)
		}
		return err
	})
	return kind, err
}

// word returns the word for a number, or the number.
func word(words []string, n uint32) string {
	if int(n) < len(words) {
		return words[n]
	}
	return fmt.Sprint(n)
}

type displayArgs struct {
	Args []any `args:"args"`
}

// getServiceName returns the names of services by their display names: of all, or of those whose
// name or display name is an argument.
//
// CLI Example:
//
//	salt '*' service.get_service_name 'Google Update Service (gupdate)' 'DHCP Client'
func (m *module) getServiceName(_ context.Context, a displayArgs) (any, error) {
	names, err := all()
	if err != nil {
		return nil, err
	}
	wanted, found := data.Texts(a.Args), data.NewMap()
	for _, name := range names {
		err := with(name, func(s *mgr.Service) error {
			c, err := settingsOf(s)
			if err == nil && (len(wanted) == 0 || slices.Contains(wanted, c.DisplayName) ||
				slices.Contains(wanted, name) || slices.Contains(wanted, strings.ToLower(name))) {
				found.Set(c.DisplayName, name)
			}
			return err
		})
		if err != nil {
			m.env.Log.WithError(err).Debugf("read service %s", name)
		}
	}
	return found, nil
}

// info returns the settings and the state of a service.
//
// CLI Example:
//
//	salt '*' service.info spooler
func (m *module) info(_ context.Context, a nameArgs) (any, error) { return infoOf(a.Name) }

func infoOf(name string) (*data.Map, error) {
	var ret *data.Map
	err := with(name, func(s *mgr.Service) error {
		c, err := settingsOf(s)
		if err != nil {
			return loader.Execution("read the settings of %s: %w", name, err)
		}
		st, err := s.Query()
		if err != nil {
			return loader.Execution("read the state of %s: %w", name, err)
		}
		ret = data.NewMap("sid", sidOf(name), "BinaryPath", c.BinaryPathName,
			"LoadOrderGroup", c.LoadOrderGroup, "TagID", int64(c.TagId),
			"Dependencies", data.Values(c.Dependencies), "ServiceAccount", c.ServiceStartName,
			"DisplayName", c.DisplayName, "Description", c.Description,
			"Status_ServiceCode", int64(st.ServiceSpecificExitCode),
			"Status_CheckPoint", int64(st.CheckPoint), "Status_WaitHint", int64(st.WaitHint),
			"StartTypeDelayed", c.DelayedAutoStart, "ServiceType", kindsOf(c.ServiceType),
			"ControlsAccepted", controlsOf(uint32(st.Accepts)),
			"Status_ExitCode", exitCode(st.Win32ExitCode), "StartType", word(startTypes, c.StartType),
			"ErrorControl", word(severities, c.ErrorControl), "Status", word(states, uint32(st.State)))
		return nil
	})
	return ret, err
}

// sidOf returns the SID of the virtual account of a service.
func sidOf(name string) string {
	sid, _, _, err := windows.LookupSID("", `NT Service\`+name)
	if err != nil {
		return "Failed to get SID"
	}
	return sid.String()
}

func kindsOf(bits uint32) any {
	list := []any{}
	for _, t := range types {
		if bits&t.bit != 0 {
			list = append(list, t.text)
		}
	}
	if len(list) == 0 {
		return int64(bits)
	}
	return list
}

func controlsOf(bits uint32) any {
	list := []any{}
	for i, text := range controls {
		if bits&(1<<i) != 0 {
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		return int64(bits)
	}
	return list
}

func exitCode(code uint32) any {
	switch code {
	case 0:
		return "No Error"
	case uint32(windows.ERROR_SERVICE_SPECIFIC_ERROR):
		return "Service Specific Error"
	}
	return int64(code)
}

// getsid returns the SID of a service.
//
// CLI Example:
//
//	salt '*' service.getsid <service name>
func (m *module) getsid(_ context.Context, a nameArgs) (any, error) {
	info, err := infoOf(a.Name)
	return info.Value("sid"), err
}

type statusArgs struct {
	Name   string
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// status reports whether a service runs. The result is Not Found if it does not exist, and for a
// glob a dictionary of the services that match.
//
// CLI Example:
//
//	salt '*' service.status <service name>
func (m *module) status(_ context.Context, a statusArgs) (any, error) {
	if !strings.ContainsAny(a.Name, "*?[") {
		return runs(a.Name), nil
	}
	names, err := all()
	if err != nil {
		return nil, err
	}
	found := data.NewMap()
	for _, name := range names {
		if loader.Glob(a.Name, name) {
			found.Set(name, runs(name))
		}
	}
	return found, nil
}

func runs(name string) any {
	info, err := infoOf(name)
	if err != nil {
		return "Not Found"
	}
	return info.Value("Status") == "Running" || info.Value("Status") == "Stop Pending"
}

// start starts a service and reports whether it runs. A disabled one is set to manual start first.
//
// timeout : 90
//
//	The seconds to wait for it.
//
// CLI Example:
//
//	salt '*' service.start <service name>
func (m *module) start(ctx context.Context, a timeArgs) (any, error) {
	kind, err := startType(a.Name)
	if err == nil && kind != "Auto" {
		_, err = change(a.Name, modifyArgs{StartType: "Manual"})
	}
	if err != nil {
		return nil, err
	}
	err = with(a.Name, func(s *mgr.Service) error { return s.Start() })
	if err != nil && !errors.Is(err, windows.ERROR_SERVICE_ALREADY_RUNNING) {
		return nil, loader.Execution("Failed To Start %s: %w", a.Name, err)
	}
	return await(ctx, a, "Running", "Start Pending", "Stopped")
}

// stop stops a service and reports whether it has ended.
//
// timeout : 90
//
//	The seconds to wait for that.
//
// CLI Example:
//
//	salt '*' service.stop <service name>
func (m *module) stop(ctx context.Context, a timeArgs) (any, error) {
	err := with(a.Name, func(s *mgr.Service) error {
		_, err := s.Control(svc.Stop)
		return err
	})
	if err != nil && !errors.Is(err, windows.ERROR_SERVICE_NOT_ACTIVE) {
		return nil, loader.Execution("Failed To Stop %s: %w", a.Name, err)
	}
	return await(ctx, a, "Stopped", "Running", "Stop Pending")
}

// await waits while a service has one of these states, and reports whether it has the wanted one.
func await(ctx context.Context, a timeArgs, wanted string, while ...string) (bool, error) {
	for end := time.Now().Add(time.Duration(a.Timeout) * time.Second); ; {
		info, err := infoOf(a.Name)
		if err != nil {
			return false, err
		}
		state := info.Text("Status")
		if !slices.Contains(while, state) || !time.Now().Before(end) {
			return state == wanted, nil
		}
		hint, _ := info.Value("Status_WaitHint").(int64)
		wait := min(max(time.Duration(hint)*time.Millisecond, time.Second), 10*time.Second)
		if err := clock.Sleep(ctx, wait); err != nil {
			return false, err
		}
	}
}

// restart stops and starts a service, and reports whether it runs. The minion's own service is
// restarted soon after the return.
//
// CLI Example:
//
//	salt '*' service.restart <service name>
func (m *module) restart(ctx context.Context, a timeArgs) (any, error) {
	if strings.EqualFold(a.Name, "salt-minion") {
		cmd := exec.Command("cmd", "/c",
			"ping -n 3 127.0.0.1 && net stop salt-minion && net start salt-minion")
		if err := cmd.Start(); err != nil {
			return nil, loader.Execution("restart %s: %w", a.Name, err)
		}
		return true, cmd.Process.Release()
	}
	if stopped, err := m.stop(ctx, a); err != nil || stopped != true {
		return false, err
	}
	return m.start(ctx, a)
}

// enabled reports whether a service starts with the system.
//
// CLI Example:
//
//	salt '*' service.enabled <service name>
func (m *module) enabled(_ context.Context, a nameArgs) (any, error) {
	kind, err := startType(a.Name)
	return kind == "Auto", err
}

// disabled reports whether a service does not start with the system.
//
// CLI Example:
//
//	salt '*' service.disabled <service name>
func (m *module) disabled(_ context.Context, a nameArgs) (any, error) {
	kind, err := startType(a.Name)
	return kind != "Auto", err
}

type enableArgs struct {
	Name         string
	StartType    string    `default:"'auto'"`
	StartDelayed bool      `default:"False"`
	Kwargs       *data.Map `kwargs:"kwargs"`
}

// enable sets how a service starts, and reports whether it does so now.
//
// start_type : auto
//
//	boot, system, auto, manual or disabled.
//
// start_delayed : False
//
//	With auto, start it after the others.
//
// CLI Example:
//
//	salt '*' service.enable <service name>
func (m *module) enable(_ context.Context, a enableArgs) (any, error) {
	if _, err := change(a.Name, modifyArgs{StartType: a.StartType, StartDelayed: a.StartDelayed}); err != nil {
		return nil, err
	}
	info, err := infoOf(a.Name)
	return strings.EqualFold(info.Text("StartType"), a.StartType) && (!strings.EqualFold(a.StartType, "auto") ||
		info.Value("StartTypeDelayed") == a.StartDelayed), err
}

// disable keeps a service from being started, and reports whether that is so now.
//
// CLI Example:
//
//	salt '*' service.disable <service name>
func (m *module) disable(_ context.Context, a nameArgs) (any, error) {
	if _, err := change(a.Name, modifyArgs{StartType: "Disabled"}); err != nil {
		return nil, err
	}
	kind, err := startType(a.Name)
	return kind == "Disabled", err
}

type deleteArgs struct {
	Name    string
	Timeout int64 `default:"90"`
}

// delete removes a service, and reports whether it is gone. One that does not exist is gone.
//
// CLI Example:
//
//	salt '*' service.delete <service name>
func (m *module) delete(ctx context.Context, a deleteArgs) (any, error) {
	err := with(a.Name, func(s *mgr.Service) error { return s.Delete() })
	if errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST) {
		return true, nil
	}
	if err != nil {
		return nil, loader.Execution("Failed to delete %s. %w", a.Name, err)
	}
	for end := time.Now().Add(time.Duration(a.Timeout) * time.Second); ; {
		names, err := all()
		if err != nil || !slices.Contains(names, a.Name) || !time.Now().Before(end) {
			return err == nil && !slices.Contains(names, a.Name), err
		}
		if err := clock.Sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}
