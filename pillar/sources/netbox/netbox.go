// Package netbox is Salt's external pillar of that name: what a NetBox knows of a device or a
// virtual machine (salt/pillar/netbox.py).
//
//	ext_pillar:
//	  - netbox:
//	      api_url: https://netbox.example.com/api
//	      api_token: secret
//	      devices: True            # the name of the device is the minion's id
//	      virtual_machines: False
//	      interfaces: False        # needed by interface_ips and connected_devices
//	      interface_ips: False
//	      site_details: True
//	      site_prefixes: True
//	      proxy_return: True       # also proxy, for a platform with a napalm_driver
//	      proxy_username: admin
//	      connected_devices: False
//	      api_query_result_limit: 100
//
// Package fileclient/web describes the options for connections. As in Salt, interfaces are in the
// pillar only with interface_ips. Differences: connected_devices works without interface_ips. The
// following pages of a list are read from the server of api_url, whatever host the server names.
package netbox

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient/web"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/version"
)

// Limits of one compilation, and of concurrent ones.
const (
	patience = 2 * time.Minute
	maxPages = 1000
	maxBody  = 32 << 20 // of a response
	maxBytes = 64 << 20 // of all responses
	places   = 16
)

// A Source is the external pillar netbox.
type Source struct {
	places chan struct{}
	room   int
}

// New returns the source.
func New() *Source { return &Source{make(chan struct{}, places), maxBytes} }

var _ pillar.Checker = (*Source)(nil)

// Name implements pillar.Source.
func (*Source) Name() string { return "netbox" }

// An entry holds the arguments of an entry.
type entry struct {
	url, token, username               string
	devices, machines, interfaces, ips bool
	site, prefixes, proxy, connected   bool
	limit                              string // of a page; "" is none
}

func read(argument any) (*entry, error) {
	args, ok := argument.(*data.Map)
	if !ok || !args.Has("api_url") {
		return nil, errors.New("api_url: expected the address of the API")
	}
	flag := func(name string, usual bool) bool {
		if v, set := args.Get(name); set {
			return data.Truth(v)
		}
		return usual
	}
	e := &entry{url: strings.TrimRight(args.Text("api_url"), "/"), devices: flag("devices", true),
		machines: flag("virtual_machines", false), interfaces: flag("interfaces", false),
		ips: flag("interface_ips", false), site: flag("site_details", true),
		prefixes: flag("site_prefixes", true), proxy: flag("proxy_return", true),
		connected: flag("connected_devices", false)}
	e.interfaces = e.interfaces || e.connected
	if v := args.Value("api_token"); data.Truth(v) {
		e.token = data.Str(v)
	}
	if v := args.Value("proxy_username"); data.Truth(v) {
		e.username = data.Str(v)
	}
	switch {
	case rest.CheckURL(e.url) != nil:
		return nil, errors.New("api_url: expected an address of http or https")
	case !e.devices && !e.machines:
		return nil, errors.New("At least one of devices or virtual_machines must be True") //nolint:staticcheck // Salt's text
	case e.ips && !e.interfaces:
		return nil, errors.New("The value for interfaces must be True if interface_ips is True") //nolint:staticcheck // Salt's text
	case e.token == "":
		return nil, errors.New("The value for api_token is not set") //nolint:staticcheck // Salt's text
	}
	if v := args.Value("api_query_result_limit"); data.Truth(v) {
		n, err := loader.Int(v)
		if err != nil || n <= 0 {
			return nil, errors.New("The value for api_query_result_limit must be a postive integer if set") //nolint:staticcheck // Salt's text
		}
		e.limit = fmt.Sprint(n)
	}
	return e, nil
}

// Check implements pillar.Checker.
func (*Source) Check(argument any, _ *data.Map) error {
	_, err := read(argument)
	return err
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	if q.ID == "*" {
		q.Log.Info("There's no data to collect from NetBox for the Master")
		return nil, nil
	}
	e, err := read(q.Argument)
	if err != nil { // Salt has an empty pillar, too
		q.Log.Errorf("ext_pillar netbox: %s", err)
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, errors.New("too many requests are under way")
	}
	client, err := web.Client(q.Opts)
	if err != nil {
		return nil, err
	}
	n := &box{entry: e, http: rest.Of(client, rest.Options{MaxBody: maxBody}), id: q.ID, log: q.Log,
		room: s.room}
	defer n.http.Close()
	return n.pillar(ctx)
}

// A box is a NetBox, asked for one minion.
type box struct {
	*entry
	http *rest.Client
	id   string
	log  logrus.FieldLogger
	room int // how many bytes the responses may still have
}

var errRoom = errors.New("the responses are too large")

// get returns the dictionary at an address.
func (b *box) get(ctx context.Context, address string) (*data.Map, error) {
	a, err := b.http.Do(ctx, rest.Request{URL: address, Header: map[string]string{
		"Authorization": "Token " + b.token, "Accept": "application/json",
		"User-Agent": "Salt/" + version.Salt() + " http.query()"}})
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return nil, err
	}
	if b.room -= len(a.Body); b.room < 0 {
		return nil, errRoom
	}
	v, err := a.JSON()
	if err != nil {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, errors.New("the response is not a dictionary")
	}
	return m, nil
}

// list returns the results of all pages of a list, with what they are in log lines.
func (b *box) list(ctx context.Context, path, name, value string) ([]any, error) {
	query := url.Values{name: {value}}
	if b.limit != "" {
		query.Set("limit", b.limit)
	}
	address := b.url + path + "?" + query.Encode()
	var all []any
	for range maxPages {
		page, err := b.get(ctx, address)
		if err != nil {
			return nil, err
		}
		results, ok := page.Value("results").([]any)
		if !ok {
			return nil, errors.New("the response has no list of results")
		}
		all = append(all, results...)
		next := page.Value("next")
		if !data.Truth(next) {
			return all, nil
		}
		if address, err = b.here(data.Str(next)); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("a list has more than %d pages", maxPages)
}

// here returns the address of a next page on the server of api_url, so that the token goes nowhere
// else.
func (b *box) here(next string) (string, error) {
	u, err := url.Parse(next)
	if err != nil {
		return "", errors.New("the address of the next page cannot be read")
	}
	base, err := url.Parse(b.url)
	if err != nil {
		return "", err
	}
	u.Scheme, u.Host, u.User = base.Scheme, base.Host, base.User
	return u.String(), nil
}

// pillar collects what the entry asks for.
func (b *box) pillar(ctx context.Context) (*data.Map, error) {
	node, err := b.node(ctx)
	if node == nil || err != nil {
		return nil, err
	}
	site, ok := node.Value("site").(*data.Map)
	if !ok && (b.site || b.prefixes) {
		return nil, errors.New("the node has no site, which site_details and site_prefixes need")
	}
	interfaces, err := b.addInterfaces(ctx, node)
	if err != nil {
		return nil, err
	}
	if err := b.addSite(ctx, node, site); err != nil {
		return nil, err
	}
	if b.connected {
		node.Set("connected_devices", b.connectedDevices(ctx, interfaces))
	}
	out := data.NewMap("netbox", node)
	if b.proxy && !b.addProxy(ctx, out, node) {
		return nil, nil
	}
	return out, ctx.Err()
}

// node returns the device or the virtual machine; nil if there is none, or more than one.
func (b *box) node(ctx context.Context) (*data.Map, error) {
	var nodes []*data.Map
	for _, kind := range []struct {
		on         bool
		path, name string
	}{{b.devices, "/dcim/devices", "device"},
		{b.machines, "/virtualization/virtual-machines", "virtual-machine"}} {
		if !kind.on {
			continue
		}
		found, err := b.list(ctx, kind.path, "name", b.id)
		if err != nil {
			b.log.Errorf(`API query failed for "%s", error %s`, b.id, err)
			continue
		}
		for _, v := range found {
			m, ok := v.(*data.Map)
			if !ok {
				return nil, errors.New("a result is not a dictionary")
			}
			m.Set("node_type", kind.name)
			nodes = append(nodes, m)
		}
	}
	switch {
	case len(nodes) > 1:
		b.log.Errorf(`More than one node found for "%s"`, b.id)
		return nil, nil
	case len(nodes) == 0:
		b.log.Errorf(`Unable to pull NetBox data for "%s"`, b.id)
		return nil, nil
	}
	return nodes[0], nil
}

// addInterfaces returns the interfaces, and adds them to the node with their addresses.
func (b *box) addInterfaces(ctx context.Context, node *data.Map) ([]*data.Map, error) {
	if !b.interfaces {
		return nil, nil
	}
	param, own := "device_id", "device"
	path := "/dcim/interfaces"
	if node.Value("node_type") == "virtual-machine" {
		param, own, path = "virtual_machine_id", "virtual_machine", "/virtualization/interfaces"
	}
	id := data.Str(node.Value("id"))
	found, err := b.list(ctx, path, param, id)
	if err != nil {
		b.log.Errorf(`Unable to retrieve interfaces for "%s" (Type %s, ID %s), error %s`, b.id,
			node.Text("node_type"), id, err)
		return nil, nil
	}
	interfaces, err := maps(found, own)
	if len(interfaces) == 0 || !b.ips || err != nil {
		return interfaces, err
	}
	addresses, err := b.list(ctx, "/ipam/ip-addresses", param, id)
	if err != nil {
		b.log.Errorf(`Unable to retrieve interface IP addresses for "%s" (Type %s, ID %s), error %s`,
			b.id, node.Text("node_type"), id, err)
	}
	if err := associate(interfaces, addresses); err != nil {
		return nil, err
	}
	node.Set("interfaces", found)
	return interfaces, nil
}

// maps returns a list as dictionaries, without a key.
func maps(list []any, without string) ([]*data.Map, error) {
	all := make([]*data.Map, 0, len(list))
	for _, v := range list {
		m, ok := v.(*data.Map)
		if !ok {
			return nil, errors.New("a result is not a dictionary")
		}
		m.Delete(without)
		all = append(all, m)
	}
	return all, nil
}

// associate adds each address to its interface.
func associate(interfaces []*data.Map, addresses []any) error {
	if len(addresses) == 0 {
		return nil
	}
	list, err := maps(addresses, "")
	if err != nil {
		return err
	}
	for _, i := range interfaces {
		mine := []any{}
		for _, a := range list {
			if v, ok := a.Get("assigned_object_id"); ok && data.Equal(v, i.Value("id")) {
				a.Delete("assigned_object_type")
				a.Delete("assigned_object_id")
				a.Delete("assigned_object")
				mine = append(mine, a)
			}
		}
		i.Set("ip_addresses", mine)
	}
	return nil
}

// addSite replaces the site by its details, and adds its prefixes.
func (b *box) addSite(ctx context.Context, node, site *data.Map) error {
	id, name := data.Str(site.Value("id")), site.Text("name")
	if b.site {
		part, err := rest.Part("the id of the site", id)
		if err != nil {
			return err
		}
		details, err := b.get(ctx, b.url+"/dcim/sites/"+part+"/")
		if err != nil {
			b.log.Errorf("Unable to retrieve site details for %s (ID %s), error %s", name, id, err)
			details = data.NewMap()
		}
		site = details
		node.Set("site", site)
	}
	if !b.prefixes {
		return nil
	}
	prefixes, err := b.list(ctx, "/ipam/prefixes", "site_id", id)
	if err != nil {
		b.log.Errorf("Unable to retrieve site prefixes for %s (ID %s), error %s", name, id, err)
		prefixes = []any{}
	}
	if _, err := maps(prefixes, "site"); err != nil {
		return err
	}
	if prefixes == nil {
		prefixes = []any{}
	}
	site.Set("prefixes", prefixes)
	return nil
}

// connectedDevices returns the devices at the other ends of the interfaces, by id.
func (b *box) connectedDevices(ctx context.Context, interfaces []*data.Map) *data.Map {
	found, seen := data.NewMap(), map[string]bool{}
	for _, i := range interfaces {
		ends, _ := i.Value("connected_endpoints").([]any)
		for _, v := range ends {
			end, _ := v.(*data.Map)
			device, ok := end.Value("device").(*data.Map)
			id := device.Value("id")
			part, err := rest.Part("the id of a device", data.Str(id))
			if !ok || err != nil || seen[part] || !data.Hashable(id) {
				continue
			}
			seen[part] = true
			details, err := b.get(ctx, b.url+"/dcim/devices/"+part)
			if err != nil {
				b.log.Errorf(`API query failed for "%s", error %s`, b.id, err)
				continue
			}
			found.Set(id, details)
		}
	}
	return found
}

// addProxy adds the key proxy. It reports whether the node has what that needs; as in Salt there is
// no pillar otherwise.
func (b *box) addProxy(ctx context.Context, out, node *data.Map) bool {
	platform, ok := node.Value("platform").(*data.Map)
	if !ok || platform.Len() == 0 {
		b.log.Errorf(`You have set "proxy_return" to "True" but you have not set the platform in NetBox for "%s"`, b.id)
		return false
	}
	primary, ok := node.Value("primary_ip").(*data.Map)
	if !ok || primary.Len() == 0 {
		b.log.Errorf(`You have set "proxy_return" to "True" but you have not set the primary IPv4 or IPv6 address in NetBox for "%s"`, b.id)
		return false
	}
	part, err := rest.Part("the id of the platform", data.Str(platform.Value("id")))
	details := data.NewMap()
	if err == nil {
		details, err = b.get(ctx, b.url+"/dcim/platforms/"+part+"/")
	}
	if err != nil {
		b.log.Errorf("Unable to proxy details for %s, error %s", b.id, err)
		return true
	}
	driver := details.Value("napalm_driver")
	if !data.Truth(driver) {
		return true
	}
	host, _, _ := strings.Cut(primary.Text("address"), "/")
	address, err := netip.ParseAddr(host)
	if err != nil {
		b.log.Errorf(`The primary address of "%s" in NetBox is not an address`, b.id)
		return true
	}
	proxy := data.NewMap("host", address.String(), "driver", driver, "proxytype", "napalm")
	if b.username != "" {
		proxy.Set("username", b.username)
	}
	out.Set("proxy", proxy)
	return true
}
