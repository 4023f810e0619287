package grains

import (
	"context"
	"net"
	"runtime"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
)

// Limits of one collection.
const (
	lookupTime  = time.Second            // all look-ups of names together
	programTime = 3 * time.Second        // one helper program
	sourceTime  = 10 * time.Second       // all requests of one source
	killTime    = 500 * time.Millisecond // for a program to end after it is killed
	lateTime    = time.Second            // for a source to return after its limit
)

// Options configure a Collector.
type Options struct {
	// the effective options of the minion; nil for none
	Opts *data.Map
	Root string // root of /proc, /etc, /sys and programs; "" is /
	// the environment; nil is that of the process
	Env func(name string) string
	// runs a helper program and returns its standard output; nil runs it through package process
	Run func(ctx context.Context, name string, args ...string) ([]byte, error)
	Log logrus.FieldLogger // nil is silent
	// of the minion, or its directory; "" uses conf_file
	ConfFile string
	// returns users' own grains, in the order in which they are merged into known, the grains of
	// this package; nil for none
	Own func(ctx context.Context, known *data.Map) []*data.Map
}

// A Collector collects the grains of this host. It is safe for concurrent use.
type Collector struct {
	o        Options
	host     *host
	dns      resolver
	links    func() ([]link, error)
	gateways func() (v4, v6 any, ok bool)
	uname    func() *data.Map
	// to metadata servers
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// New returns a Collector.
func New(o Options) *Collector {
	if o.Opts == nil {
		o.Opts = data.NewMap()
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	if o.ConfFile == "" {
		o.ConfFile = o.Opts.Text("conf_file")
	}
	return &Collector{o: o, host: newHost(o), dns: systemResolver(), links: systemLinks,
		gateways: systemGateways, uname: uname,
		dial: systemDial}
}

// Collect returns the grains in Salt's order: those of the system, overridden by the grains file
// and then by the option grains. The caller owns the map. Grains that cannot be determined are left
// out; the error is ctx's if it ended.
//
// It uses these options: grains, grains_blacklist, grains_cache, grains_deep_merge, skip_grains,
// enable_lspci, enable_gpu_grains, enable_fqdns_grains, enable_lvm_grains, nvme_grains,
// iscsi_grains, fibre_channel_grains, metadata_server_grains, grain_opts, append_domain,
// cachedir, id, master.
func (c *Collector) Collect(ctx context.Context) (*data.Map, error) {
	all := data.NewMap()
	if data.Truth(c.o.Opts.Value("skip_grains")) {
		return all, nil
	}
	blocked, err := newBlacklist(c.o.Opts.Value("grains_blacklist"))
	if err != nil {
		c.o.Log.WithError(err).Warn("Part of grains_blacklist is ignored")
	}
	deep := c.o.Opts.Value("grains_deep_merge") == true
	for _, found := range c.gather(ctx) {
		merge(all, blocked.filter(found), deep)
	}
	if c.o.Own != nil {
		for _, found := range c.o.Own(ctx, all) {
			merge(all, blocked.filter(found), deep)
		}
	}
	if set, ok := c.o.Opts.Value("grains").(*data.Map); ok {
		all.Update(data.Clone(set).(*data.Map))
	}
	if ctx.Err() == nil {
		c.writeCache(all)
	}
	return all, ctx.Err()
}

// gather runs all sources concurrently and returns their results, in the order of the sources.
func (c *Collector) gather(ctx context.Context) []*data.Map {
	lookups, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	run := &collection{Collector: c, lookups: lookups, net: c.network()}
	sources := run.sources()
	ctx, cancel = context.WithTimeout(ctx, sourceTime)
	defer cancel()
	results := make([]chan *data.Map, len(sources))
	for i, s := range sources {
		results[i] = make(chan *data.Map, 1)
		go func() { results[i] <- s(ctx) }()
	}
	return await(ctx, results, c.o.Log)
}

// await returns the results of the sources. A source that does not return after ctx ended is
// abandoned: it hangs in a file access that cannot be interrupted.
func await(ctx context.Context, results []chan *data.Map, log logrus.FieldLogger) []*data.Map {
	late, stop := after(ctx, lateTime)
	defer stop()
	found := make([]*data.Map, len(results))
	for i, r := range results {
		select {
		case found[i] = <-r:
			continue
		default:
		}
		select {
		case found[i] = <-r:
		case <-late:
			log.Warnf("Some grains are missing: a program or file did not answer within %s",
				sourceTime+lateTime)
		}
	}
	return found
}

// A collection is one run of a Collector.
type collection struct {
	*Collector
	lookups context.Context // ends when the time for looking up names is over
	net     *network
}

// A source collects some grains; nil means none.
type source func(context.Context) *data.Map

// sources lists the sources in the order in which Salt merges them: salt/grains/core.py by the
// names of its functions, then the other files of that directory by name.
func (c *collection) sources() []source {
	core := []source{
		c.appendDomain, c.cwd, c.gateway, c.resolvConf, c.fqdns, c.machineID, c.master,
		c.serverID, c.hostname, c.hardwareAddresses, c.id, c.ip4Interfaces, c.ip6Interfaces,
		c.addresses, c.ipInterfaces, c.kernelParams, c.localeInfo, c.osData, c.path,
		c.pythonVersion, c.saltVersion, c.saltVersionInfo,
	}
	other := []source{
		c.disks, c.grainsFile, c.shell, c.transactional, c.firmware, c.fibreChannel, c.iscsi,
		c.lvm, c.mdadm, c.mdata, c.metadata, c.process, c.nvme, c.options, c.zfs,
	}
	return append(core, other...)
}

// option reports whether an option is on, with a default.
func (c *Collector) option(name string, byDefault bool) bool {
	v, ok := c.o.Opts.Get(name)
	if !ok {
		return byDefault
	}
	return data.Truth(v)
}

// merge merges from into all; deep merges maps key by key (salt/utils/dictupdate.py, update).
func merge(all, from *data.Map, deep bool) {
	if !deep {
		all.Update(from)
		return
	}
	for k, v := range from.All() {
		old, isMap := all.Value(k).(*data.Map)
		sub, alsoMap := v.(*data.Map)
		if isMap && alsoMap {
			merge(old, sub, true)
			continue
		}
		all.Set(k, v)
	}
}

func onLinux() bool   { return runtime.GOOS == "linux" }
func onWindows() bool { return runtime.GOOS == "windows" }
