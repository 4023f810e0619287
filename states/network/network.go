// Package network is Salt's state network: interfaces, routes and the settings of the network
// (salt/states/network.py). It uses the module ip.
//
// Differences from Salt: a state fails with the output of a program such as ifup, ifdown or ifenslave
// that fails, and if the network does not take its changed settings. It fails if slaves are missing in
// a bond and the program ifenslave is not installed. The slaves of a bond are read from a file and not
// by cat. After a failing ifdown, ifup runs nevertheless.
package network

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/internal/netconf"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state network. It is available on hosts with the module ip.
func Plugin() loader.Plugin { return loader.Plugin{Name: "network", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("ip.get_interface") {
		return nil, errors.New("ip module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("managed", m.managed),
		loader.F("routes", m.routes),
		loader.F("system", m.system),
	}}, nil
}

type managedArgs struct {
	Name    string
	Enabled any       `default:"True"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

type settingsArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// refused returns the failed state for settings that the module ip refuses, and for a program that
// fails. It marks other errors.
func refused(ret *data.Map, err error) (any, error) {
	if e, ok := errors.AsType[*loader.Error](err); ok && (e.Class == "AttributeError" ||
		e.Kind == loader.KindExecution) {
		ret.Set("result", false)
		ret.Set("comment", e.Error())
		return ret, nil
	}
	return nil, change.Raise(err)
}

// A part is a part of the configuration that is compared before and after.
type part struct {
	get, build []any // the functions and their arguments
	key        string
	added      string // the change of a new part
	// comments: what is added, and updated with a difference
	wouldAdd, wouldUpdate, adds, updates string
}

// keep builds a part and reports in ret what changes. In test mode nothing is written.
func (m *module) keep(ctx context.Context, ret, kwargs *data.Map, p part) (changed bool, err error) {
	old, err := m.ask(ctx, p.get, nil)
	if err != nil {
		return false, err
	}
	now, err := m.ask(ctx, p.build, kwargs)
	if err != nil || data.Equal(old, now) || !data.Truth(old) && !data.Truth(now) {
		return false, err
	}
	is, diff := data.Truth(old), ""
	if is {
		diff = strings.Join(difflib.Unified(data.Texts(data.ListOf(old)), data.Texts(data.ListOf(now)), "", "",
			""), "\n")
	}
	switch {
	case change.Test(ctx) && is:
		ret.Set("result", nil)
		ret.Set("comment", p.wouldUpdate+":\n"+diff)
	case change.Test(ctx):
		ret.Set("result", nil)
		ret.Set("comment", p.wouldAdd)
	case is:
		ret.Set("comment", p.updates)
		ret.Value("changes").(*data.Map).Set(p.key, diff)
	default:
		ret.Set("comment", p.adds)
		ret.Value("changes").(*data.Map).Set(p.key, p.added)
	}
	return true, nil
}

func (m *module) ask(ctx context.Context, call []any, kwargs *data.Map) (any, error) {
	return m.env.Call(ctx, "ip."+data.Str(call[0]), call[1:], kwargs)
}

// managed keeps the configuration of a network interface, and brings it up or down. All other
// arguments are options of the interface.
//
// enabled
//
//	Whether the interface is up.
//
// type
//
//	The type of the interface, eth by default.
//
// noifupdown
//
//	With any value, the interface is not brought up or down.
//
// Example:
//
//	eth0:
//	  network.managed:
//	    - type: eth
//	    - proto: static
//	    - ipaddr: 192.0.2.7
//	    - netmask: 255.255.255.0
func (m *module) managed(ctx context.Context, a managedArgs) (any, error) {
	ret := change.New(a.Name, true, data.NewMap(), "Interface "+a.Name+" is up to date.")
	params := a.Kwargs.Clone()
	kind := "eth"
	if v, ok := params.Get("type"); ok {
		kind = data.Str(v)
		params.Delete("type")
	}
	warn(ret, params)
	params.Set("test", change.Test(ctx))
	of := "Interface " + a.Name
	changed, err := m.keep(ctx, ret, params, part{
		get: []any{"get_interface", a.Name}, build: []any{"build_interface", a.Name, kind, a.Enabled},
		key: "interface", added: "Added network interface.",
		wouldAdd: of + " is set to be added.", wouldUpdate: of + " is set to be updated",
		adds: of + " added.", updates: of + " updated.",
	})
	if err != nil {
		return refused(ret, err)
	}
	if kind == "source" {
		return ret, nil
	}
	if kind == "bond" && m.env.Functions.Has("ip.get_bond") {
		of := "Bond interface " + a.Name
		more, err := m.keep(ctx, ret, params, part{
			get: []any{"get_bond", a.Name}, build: []any{"build_bond", a.Name},
			key: "bond", added: "Added bond " + a.Name + ".",
			wouldAdd: of + " is set to be added.", wouldUpdate: of + " is set to be updated",
			adds: of + " added.", updates: of + " updated.",
		})
		if err != nil {
			return refused(ret, err)
		}
		changed = changed || more
	}
	if change.Test(ctx) {
		return ret, nil
	}
	if strings.Contains(a.Name, "range") {
		return m.restart(ctx, ret, changed)
	}
	return m.turn(ctx, ret, a, kind, params)
}

// warn replaces the option addr by hwaddr, with a warning.
func warn(ret, params *data.Map) {
	addr, ok := params.Get("addr")
	if !ok {
		return
	}
	params.Delete("addr")
	text := "it has been ignored in favor of 'hwaddr'."
	if !params.Has("hwaddr") {
		text = "its value has been assigned to 'hwaddr' instead."
		params.Set("hwaddr", addr)
	}
	ret.Set("warnings", []any{"'addr' is not a valid argument name, " + text +
		" Update your SLS file to get rid of this warning."})
}

// restart restarts the network for a changed range of interfaces.
func (m *module) restart(ctx context.Context, ret *data.Map, changed bool) (any, error) {
	if !changed {
		ret.Set("comment", "no change, passing it")
		return ret, nil
	}
	done, err := calls.ServiceRestart(ctx, m.env, "network", nil)
	if err != nil {
		ret.Set("result", false)
		ret.Set("comment", err.Error())
		return ret, ctx.Err()
	}
	ret.Set("result", done)
	ret.Set("comment", "network restarted for change of ranged interfaces")
	if !done {
		ret.Set("comment", "the service network could not be restarted for change of ranged interfaces")
	}
	return ret, nil
}

// turn brings the interface up or down, and adds the slaves of a bond.
func (m *module) turn(ctx context.Context, ret *data.Map, a managedArgs, kind string, params *data.Map) (any,
	error) {
	up, err := m.upOrDown(ctx, ret, a, kind, params)
	if err != nil {
		ret.Set("result", false)
		ret.Set("comment", err.Error())
		return ret, ctx.Err()
	}
	if kind == "bond" && !params.Has("noifupdown") && m.env.GrainsNow().Text("os_family") != "Suse" {
		if err := m.enslave(ctx, ret, a.Name, params.Value("slaves")); err != nil {
			return nil, err
		}
	}
	if data.Truth(a.Enabled) && up {
		return ret, nil
	}
	return ret, change.Do(ctx, m.env, "saltutil.refresh_grains", nil, nil)
}

// upOrDown runs ifup and ifdown as needed, and returns whether the interface was up before.
func (m *module) upOrDown(ctx context.Context, ret *data.Map, a managedArgs, kind string,
	params *data.Map) (bool, error) {
	known, err := loader.CallAs[*data.Map](ctx, m.env, "network.interfaces", nil, nil)
	if err != nil {
		return false, err
	}
	up := isUp(known, a.Name)
	if params.Has("noifupdown") {
		return up, nil
	}
	changes := ret.Value("changes").(*data.Map)
	do := func(status string, funs ...string) error {
		var failed []error // an interface that does not go down is brought up all the same
		for _, fun := range funs {
			if _, err := m.ask(ctx, []any{fun, a.Name, kind}, nil); err != nil {
				failed = append(failed, err)
			}
		}
		if len(failed) == 0 {
			changes.Set("status", "Interface "+a.Name+" "+status)
		}
		return errors.Join(failed...)
	}
	switch {
	case !data.Truth(a.Enabled) && up:
		return up, do("down", "down")
	case !data.Truth(a.Enabled):
		return up, nil
	case !up:
		return up, do("is up", "up")
	case changes.Len() > 0:
		return up, do("restart to validate", "down", "up")
	}
	return up, nil
}

// isUp reports whether an interface is up, or whether another one has an address with its name as the label.
func isUp(known *data.Map, name string) bool {
	if info, ok := known.Value(name).(*data.Map); ok {
		return data.Truth(info.Value("up"))
	}
	labelled := func(list any) bool {
		return slices.ContainsFunc(data.ListOf(list), func(v any) bool {
			entry, ok := v.(*data.Map)
			return ok && entry.Value("label") == name
		})
	}
	for _, v := range known.All() {
		if info, ok := v.(*data.Map); ok && labelled(info.Value("secondary")) {
			return true
		}
	}
	lo, _ := known.Value("lo").(*data.Map)
	for _, family := range []string{"inet", "inet6"} {
		if list := data.ListOf(lo.Value(family)); len(list) > 1 && labelled(list) {
			return true
		}
	}
	return false
}

// enslave adds the missing slaves of a bond. On SUSE, ifup does so.
func (m *module) enslave(ctx context.Context, ret *data.Map, name string, slaves any) error {
	wanted := data.Texts(data.ListOf(slaves))
	if text, ok := slaves.(string); ok {
		wanted = strings.Fields(text)
	}
	failed := func(text string) error {
		ret.Set("result", false)
		ret.Set("comment", text)
		return nil
	}
	src, err := os.ReadFile(filepath.Join("/", m.env.Root, "sys/class/net", name, "bonding/slaves"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return failed("read the slaves of " + name + ": " + err.Error())
	}
	present := strings.Fields(string(src))
	missing := slices.DeleteFunc(slices.Clone(wanted), func(s string) bool {
		return slices.Contains(present, s)
	})
	if len(missing) == 0 {
		return nil
	}
	list := strings.Join(missing, " ")
	program := process.Find("ifenslave")
	err = process.PlainOperands(missing...)
	if program == "" {
		err = errors.New("Command 'ifenslave' not found") //nolint:staticcheck // Salt's text
	}
	if err == nil {
		_, err = netconf.Run(ctx, m.env, append([]string{program, name}, missing...)...)
	}
	if err != nil {
		return failed("slaves '" + list + "' are not in " + name + ": " + err.Error())
	}
	ret.Value("changes").(*data.Map).Set("enslave", "Added slaves '"+list+"' to master '"+name+"'")
	return nil
}

// routes keeps the static routes of an interface. routes is their list; each has ipaddr, and may
// have name, netmask and gateway.
//
// Example:
//
//	eth0:
//	  network.routes:
//	    - routes:
//	      - name: secure_network
//	        ipaddr: 10.2.0.0
//	        netmask: 255.255.255.0
//	        gateway: 10.1.0.3
func (m *module) routes(ctx context.Context, a settingsArgs) (any, error) {
	of := "Interface " + a.Name + " routes"
	ret := change.New(a.Name, true, data.NewMap(), of+" are up to date.")
	return m.apply(ctx, ret, a.Kwargs, part{
		get: []any{"get_routes", a.Name}, build: []any{"build_routes", a.Name},
		key: "network_routes", added: "Added interface " + a.Name + " routes.",
		wouldAdd: of + " are set to be added.", wouldUpdate: of + " are set to be updated",
		adds: of + " added.", updates: of + " updated.",
	})
}

// system keeps the settings of the network of the whole system, such as hostname, gateway and
// enabled. With apply_hostname, it changes the host name, with require_reboot it does not restart
// the network. With retain_settings, other settings stay.
//
// Example:
//
//	system:
//	  network.system:
//	    - enabled: True
//	    - hostname: server1.example.com
//	    - gateway: 192.0.2.1
func (m *module) system(ctx context.Context, a settingsArgs) (any, error) {
	same := "Global network settings are up to date."
	ret := change.New(a.Name, true, data.NewMap(), same)
	return m.apply(ctx, ret, a.Kwargs, part{
		get: []any{"get_network_settings"}, build: []any{"build_network_settings"},
		key: "network_settings", added: "Added global network settings.",
		wouldAdd:    "Global network settings are set to be added.",
		wouldUpdate: "Global network settings are set to be updated",
		adds:        same, updates: same,
	})
}

// apply keeps a part and makes its change take effect.
func (m *module) apply(ctx context.Context, ret, kwargs *data.Map, p part) (any, error) {
	params := kwargs.Clone()
	params.Set("test", change.Test(ctx))
	changed, err := m.keep(ctx, ret, params, p)
	if err == nil && changed && !change.Test(ctx) {
		var done any
		done, err = m.ask(ctx, []any{"apply_network_settings"}, params)
		if err == nil && !data.Truth(done) {
			ret.Set("result", false)
			ret.Set("comment", ret.Text("comment")+" They are written, but ip.apply_network_settings reports "+
				"that the network does not use them.")
		}
	}
	if err != nil {
		return refused(ret, err)
	}
	return ret, nil
}
