package docker

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker/translate"
	"github.com/brineproject/brine/state/change"
)

type networkPresentArgs struct {
	Name             string
	SkipTranslate    any       `default:"None"`
	IgnoreCollisions bool      `default:"False"`
	ValidateIPAddrs  bool      `name:"validate_ip_addrs" default:"True"`
	Containers       any       `default:"None"`
	Reconnect        bool      `default:"True"`
	Kwargs           *data.Map `kwargs:"kwargs"`
}

// A wanted network, and what is known of it.
type wanted struct {
	result
	name       string
	args, ipam *data.Map
	now        *data.Map // nil if there is none
	detached   *data.Map // containers by ID that were disconnected to replace the network
}

// networkPresent makes sure that there is a network with these properties. A network that has others is
// replaced.
//
// driver, driver_opts
//
//	Its driver, and options of that.
//
// subnet, gateway, iprange, aux_addresses
//
//	Its addresses. ipam_pools is a list of dictionaries with these keys, for several pools; ipam_driver
//	and ipam_opts are the driver of addresses and its options.
//
// enable_ipv6, internal, attachable, labels
//
//	Further properties.
//
// containers
//
//	Running containers to connect.
//
// reconnect
//
//	False does not connect the containers of a replaced network again.
//
// An example:
//
//	mynet:
//	  docker_network.present:
//	    - subnet: 10.0.20.0/24
//	    - gateway: 10.0.20.1
//	    - containers:
//	      - container1
func (m *module) networkPresent(ctx context.Context, a networkPresentArgs) (*data.Map, error) {
	w := &wanted{result: newResult(a.Name), name: a.Name, detached: data.NewMap()}
	var err error
	if w.now, err = found(ask[*data.Map](ctx, m, "inspect_network", nil, a.Name)); err != nil {
		return w.end(false, err.Error()), nil
	}
	connect := m.toConnect(ctx, w.result, words(a.Containers))
	if err := w.translate(a); err != nil {
		return w.end(false, err.Error()), nil
	}
	create := true
	if w.now != nil {
		ret, same, err := m.replaceNetwork(ctx, w, a)
		if ret != nil || err != nil {
			return ret, err
		}
		create = !same
	}
	if create {
		if change.Test(ctx) {
			return w.end(nil, "Network will be created"), nil
		}
		if ret := m.makeNetwork(ctx, w); ret != nil {
			return ret, nil
		}
	}
	if a.Containers == nil && a.Reconnect && w.detached.Len() > 0 {
		connect = w.detached
	}
	return m.connectAll(ctx, w, connect), nil
}

// toConnect returns the running containers of a list by their IDs, and warns of the others.
func (m *module) toConnect(ctx context.Context, r result, names []any) *data.Map {
	connect := data.NewMap()
	var missing, stopped []string
	for _, name := range names {
		info, err := ask[*data.Map](ctx, m, "inspect_container", nil, name)
		switch {
		case err != nil || !info.Has("Id"):
			missing = append(missing, data.Str(name))
		case !data.Truth(dict(info.Value("State")).Value("Running")):
			stopped = append(stopped, data.Str(name))
		default:
			connect.Set(info.Value("Id"), data.NewMap("Name", name))
		}
	}
	if len(missing) > 0 {
		r.warn("The following containers do not exist: " + strings.Join(missing, ", ") + ".")
	}
	if len(stopped) > 0 {
		r.warn("The following containers are not running: " + strings.Join(stopped, ", ") + ".")
	}
	return connect
}

// mixed is the error of ipam beside its parts.
type mixed struct{}

func (mixed) Error() string {
	return "Cannot mix the 'ipam' argument with any of the IPAM config arguments. See documentation for details."
}

// translate converts the arguments of the state.
func (w *wanted) translate(a networkPresentArgs) error {
	args, err := translate.Network(clean(a.Kwargs), translate.Options{Skip: a.SkipTranslate, Collisions: a.IgnoreCollisions,
		AnyAddress: !a.ValidateIPAddrs})
	if err != nil {
		return err
	}
	own := data.NewMap()
	for _, name := range append([]string{"ipam", "ipam_driver", "ipam_opts", "ipam_pools"}, translate.PoolArgs()...) {
		if v, ok := args.Get(name); ok {
			own.Set(name, v)
			args.Delete(name)
		}
	}
	w.args = args
	if ipam, ok := own.Get("ipam"); ok {
		if own.Len() > 1 {
			return mixed{}
		}
		w.ipam = dict(ipam)
		return nil
	}
	pools, _ := own.Value("ipam_pools").([]any)
	own.Delete("ipam_pools")
	w.ipam, err = translate.IPAM(pools, own)
	return err
}

// replaceNetwork compares a network with a temporary one, and removes it if they differ. ret is the result
// of the state if that ends here. The temporary one is removed whatever happens.
func (m *module) replaceNetwork(ctx context.Context, w *wanted, a networkPresentArgs) (ret *data.Map, same bool, err error) {
	w.Set("comment", "Network '"+w.name+"' already exists, and is configured as specified")
	temp := "brine" + strings.ToLower(rand.Text())[:15]
	kwargs := w.args.Clone()
	ipv6 := data.Truth(kwargs.Value("enable_ipv6"))
	kwargs.Set("enable_ipv6", false)
	if options, ok := kwargs.Value("options").(*data.Map); ok && kwargs.Value("driver") == "bridge" {
		const key = "com.docker.network.bridge.name"
		if bridge, ok := options.Get(key); ok {
			name := data.Str(bridge) + "comp"
			options = options.Clone()
			options.Set(key, name[max(0, len(name)-14):])
			kwargs.Set("options", options)
		}
	}
	kwargs.Set("skip_translate", true)
	if err := m.do(ctx, "create_network", kwargs, temp); err != nil {
		return w.end(false, "Failed to create temp network for comparison: "+err.Error()), false, nil
	}
	defer func() {
		if err := m.do(context.WithoutCancel(ctx), "remove_network", nil, temp); err != nil {
			result{Map: retOr(ret, w.Map)}.warn("Failed to remove temp network '" + temp + "': " + err.Error() + ".")
		}
	}()
	info, err := ask[*data.Map](ctx, m, "inspect_network", nil, temp)
	if err != nil {
		return w.end(false, "Failed to inspect temp network: "+err.Error()), false, nil
	}
	info.Set("EnableIPv6", ipv6)
	info.Set("IPAM", w.ipam)
	w.dropDefaultPool()
	changes, err := ask[*data.Map](ctx, m, "compare_networks", data.NewMap("ignore", "Name,Id,Created,Containers"), w.now, info)
	if err != nil || changes.Len() == 0 {
		return nil, err == nil, err
	}
	w.changes.Set(w.name, changes)
	if change.Test(ctx) {
		return w.end(nil, "Network would be recreated with new config"), false, nil
	}
	m.detach(ctx, w, a)
	if removed := m.removeNetwork(ctx, w.now); removed.Value("result") != true {
		return removed, false, nil
	}
	w.now.Set("Containers", data.NewMap())
	return nil, false, nil
}

func retOr(ret, other *data.Map) *data.Map {
	if ret != nil {
		return ret
	}
	return other
}

// dropDefaultPool forgets the pool that the engine chose for a network whose state names none.
func (w *wanted) dropDefaultPool() {
	ipam := dict(w.now.Value("IPAM"))
	pools, _ := ipam.Value("Config").([]any)
	if list, _ := w.ipam.Value("Config").([]any); len(list) > 0 || len(pools) != 1 {
		return
	}
	pool := dict(pools[0])
	if pool.Len() == 2 && pool.Has("Gateway") && pool.Has("Subnet") {
		ipam.Set("Config", []any{})
	}
}

// detach notes the containers of a network that is going to be replaced, with what connects them.
func (m *module) detach(ctx context.Context, w *wanted, a networkPresentArgs) {
	for id, one := range dict(w.now.Value("Containers")).All() {
		container := dict(data.Clone(one))
		w.detached.Set(id, container)
		if data.Truth(a.Containers) || !a.Reconnect {
			continue
		}
		info, err := ask[*data.Map](ctx, m, "inspect_container", nil, id)
		if err != nil {
			continue
		}
		end := dict(dict(dict(info.Value("NetworkSettings")).Value("Networks")).Value(w.name))
		for _, key := range []string{"Links", "Aliases"} {
			if v := end.Value(key); data.Truth(v) {
				container.Set(key, v)
			}
		}
	}
}

// makeNetwork creates the network. It returns the result of the state if that fails.
func (m *module) makeNetwork(ctx context.Context, w *wanted) *data.Map {
	kwargs := w.args.Clone()
	kwargs.Set("ipam", w.ipam)
	kwargs.Set("skip_translate", true)
	if err := m.do(ctx, "create_network", kwargs, w.name); err != nil {
		return w.end(false, "Failed to create network '"+w.name+"': "+err.Error())
	}
	if w.now == nil {
		w.changes.Set("created", true)
		w.Set("comment", "Network '"+w.name+"' created")
	} else {
		w.changes.Set("recreated", true)
		w.Set("comment", "Network '"+w.name+"' was replaced with updated config")
	}
	w.now = data.NewMap("Containers", data.NewMap())
	return nil
}

// connectAll connects containers to the network, and ends the result.
func (m *module) connectAll(ctx context.Context, w *wanted, connect *data.Map) *data.Map {
	if change.Test(ctx) {
		return w.wouldConnect(connect)
	}
	var errs []string
	there := dict(w.now.Value("Containers"))
	for id, one := range connect.All() {
		if there.Has(id) {
			continue
		}
		key := "connected"
		kwargs := data.NewMap()
		if w.detached.Has(id) {
			key = "reconnected"
			kwargs = connectionOf(dict(one))
		}
		err := m.do(ctx, "connect_container_to_network", kwargs, id, w.name)
		if err != nil && kwargs.Len() > 0 { // its old addresses may not fit
			err = m.do(ctx, "connect_container_to_network", nil, id, w.name)
		}
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		names, _ := w.changes.Value(key).([]any)
		w.changes.Set(key, append(names, dict(one).Value("Name")))
	}
	for id, one := range w.detached.All() {
		if !connect.Has(id) {
			names, _ := w.changes.Value("disconnected").([]any)
			w.changes.Set("disconnected", append(names, dict(one).Value("Name")))
		}
	}
	comment := w.Text("comment")
	if len(errs) == 0 {
		return w.end(true, comment)
	}
	if comment != "" {
		comment += ". "
	}
	return w.end(false, comment+strings.Join(errs, ". ")+".")
}

// wouldConnect ends the result of test mode for a network that stays.
func (w *wanted) wouldConnect(connect *data.Map) *data.Map {
	there := dict(w.now.Value("Containers"))
	var names []any
	for id, one := range connect.All() {
		if !there.Has(id) {
			names = append(names, dict(one).Value("Name"))
		}
	}
	comment := w.Text("comment")
	if len(names) == 0 {
		return w.end(true, comment)
	}
	w.changes.Set("connected", names)
	return w.end(nil, comment+". The following container(s) would be connected: "+strings.Join(data.Texts(names), ", "))
}

// connectionOf returns the arguments that connect a container as it was connected before.
func connectionOf(container *data.Map) *data.Map {
	kwargs := data.NewMap()
	for _, pair := range [][2]string{{"IPv4Address", "ipv4_address"}, {"IPv6Address", "ipv6_address"}} {
		if address := container.Text(pair[0]); address != "" {
			address, _, _ = strings.Cut(address, "/")
			kwargs.Set(pair[1], address)
		}
	}
	if aliases, ok := container.Get("Aliases"); ok {
		kwargs.Set("aliases", aliases)
	}
	if links, ok := container.Value("Links").([]any); ok {
		pairs := data.NewMap()
		for _, link := range data.Texts(links) {
			name, alias, _ := strings.Cut(link, ":")
			pairs.Set(name, alias)
		}
		kwargs.Set("links", pairs)
	}
	return kwargs
}

type nameArgs struct {
	Name string
}

// networkAbsent makes sure that there is no network of that name. Its containers are disconnected.
//
// An example:
//
//	network_foo:
//	  docker_network.absent:
//	    - name: foo
func (m *module) networkAbsent(ctx context.Context, a nameArgs) (*data.Map, error) {
	r := newResult(a.Name)
	now, err := found(ask[*data.Map](ctx, m, "inspect_network", nil, a.Name))
	switch {
	case err != nil:
		return r.end(false, err.Error()), nil
	case now == nil:
		return r.end(true, "Network '"+a.Name+"' already absent"), nil
	case change.Test(ctx):
		return r.end(nil, "Network '"+a.Name+"' will be removed"), nil
	}
	return m.removeNetwork(ctx, now), nil
}

// removeNetwork disconnects the containers of a network and removes it.
func (m *module) removeNetwork(ctx context.Context, network *data.Map) *data.Map {
	name := network.Text("Name")
	r := newResult(name)
	var errs []string
	var gone []any
	for _, id := range slices.Clone(dict(network.Value("Containers")).Keys()) {
		container := data.Str(id)
		if info, err := ask[*data.Map](ctx, m, "inspect_container", nil, id); err == nil {
			container = strings.TrimLeft(info.Text("Name"), "/")
		}
		if err := m.do(ctx, "disconnect_container_from_network", nil, id, name); err != nil {
			errs = append(errs, "Failed to disconnect container '"+container+"' : "+err.Error())
			continue
		}
		gone = append(gone, container)
	}
	if len(gone) > 0 {
		r.changes.Set("disconnected", gone)
	}
	if len(errs) > 0 {
		return r.end(false, strings.Join(errs, "\n"))
	}
	if err := m.do(ctx, "remove_network", nil, name); err != nil {
		return r.end(false, "Failed to remove network: "+err.Error())
	}
	r.changes.Set("removed", true)
	return r.end(true, "Removed network '"+name+"'")
}
