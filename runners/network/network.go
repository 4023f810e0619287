// Package network is Salt's runner network: it wakes hosts with Wake-on-LAN packets
// (salt/runners/network.py).
package network

import (
	"context"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner network.
func Plugin() loader.Plugin { return loader.Plugin{Name: "network", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("wol", m.wol),
		loader.F("wollist", m.wollist),
		loader.F("wolmatch", m.wolmatch),
	}}, nil
}

// wake sends a packet through the execution function network.wol.
func (m *module) wake(ctx context.Context, mac, bcast, port any) (any, error) {
	return m.env.Registry("modules").Invoke(ctx, "network.wol", []any{mac, bcast, port}, nil)
}

type wolArgs struct {
	Mac      any
	Bcast    any `default:"'255.255.255.255'"`
	Destport any `default:"9"`
}

// wol wakes a host by the hardware address of its network card.
//
// bcast
//
//	The address to send the packet to.
//
// destport : 9
//
//	The destination port.
//
// CLI Example:
//
//	salt-run network.wol 08-00-27-13-69-77
//	salt-run network.wol 080027136977 255.255.255.255 7
//	salt-run network.wol 08:00:27:13:69:77 255.255.255.255 7
func (m *module) wol(ctx context.Context, a wolArgs) (any, error) {
	return m.wake(ctx, a.Mac, a.Bcast, a.Destport)
}

type wollistArgs struct {
	Maclist  string
	Bcast    any `default:"'255.255.255.255'"`
	Destport any `default:"9"`
}

// wollist wakes the hosts whose hardware addresses are the lines of a file on the master, and
// returns the addresses. It stops at a line that is no address; then the list is empty and a
// progress event has the error.
//
// CLI Example:
//
//	salt-run network.wollist '/path/to/maclist'
//	salt-run network.wollist '/path/to/maclist' 255.255.255.255 7
func (m *module) wollist(ctx context.Context, a wollistArgs) (any, error) {
	run, list := runners.RunOf(ctx), []any{}
	text, err := os.ReadFile(a.Maclist)
	if err != nil {
		err = loader.OSError(err)
	}
	for line := range strings.Lines(string(text)) {
		mac := strings.TrimSpace(line)
		if _, err = m.wake(ctx, mac, a.Bcast, a.Destport); err != nil {
			break
		}
		run.Printf("Waking up %s\n", mac)
		list = append(list, mac)
	}
	if err != nil {
		// nobody may be listening
		_ = run.Fire(ctx, "progress", data.NewMap("error",
			"Failed to open the MAC file. Error: "+err.Error()))
		return []any{}, nil
	}
	return list, nil
}

type wolmatchArgs struct {
	Tgt      any
	TgtType  any `default:"'glob'"`
	Bcast    any `default:"'255.255.255.255'"`
	Destport any `default:"9"`
}

// wolmatch wakes the minions that match a target, by the hardware addresses in their cached grains,
// and returns the addresses.
//
// CLI Example:
//
//	salt-run network.wolmatch minion_id
//	salt-run network.wolmatch 192.168.0.0/16 tgt_type='ipcidr' bcast=255.255.255.255 destport=7
func (m *module) wolmatch(ctx context.Context, a wolmatchArgs) (any, error) {
	minions, err := loader.CallAs[*data.Map](ctx, m.env, "cache.grains",
		[]any{a.Tgt, a.TgtType}, nil)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, v := range minions.All() {
		grains, _ := v.(*data.Map)
		cards, ok := grains.Value("hwaddr_interfaces").(*data.Map)
		if !ok {
			return nil, loader.Exception("KeyError", "'hwaddr_interfaces'")
		}
		for name, address := range cards.All() {
			if name == "lo" {
				continue
			}
			mac := strings.TrimSpace(data.Str(address))
			if _, err := m.wake(ctx, mac, a.Bcast, a.Destport); err != nil {
				return nil, err
			}
			m.env.Log.Infof("Waking up %s", mac)
			list = append(list, mac)
		}
	}
	return list, nil
}
