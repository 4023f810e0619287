package docker

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type runningArgs struct {
	Name             any
	Image            any       `default:"None"`
	SkipTranslate    any       `default:"None"`
	IgnoreCollisions bool      `default:"False"`
	ValidateIPAddrs  bool      `name:"validate_ip_addrs" default:"True"`
	Force            bool      `default:"False"`
	WatchAction      any       `default:"'force'"`
	Start            bool      `default:"True"`
	ShutdownTimeout  any       `default:"None"`
	ClientTimeout    any       `default:"60"`
	Networks         any       `default:"None"`
	Kwargs           *data.Map `kwargs:"kwargs"`
}

// A container is one that is brought to its wanted form.
type container struct {
	*module
	result
	a        runningArgs
	name     string
	networks *data.Map
	comments []string

	exists       bool
	image        any    // ID of the wanted image; False in test mode if it is not there
	current      any    // ID of the container's image, or None
	pre          any    // its state before
	skip         bool   // nothing is compared: the container is created or replaced anyway
	temp, tempID string // the new container
	remove       bool   // the new container is only for the comparison
	named        bool   // the new container has the name of the one that it replaces
}

// running makes sure that a container runs, and that it has been made with these arguments. One that was
// made with others is replaced.
//
// image
//
//	The image, which is pulled if it is not there. A container of another image is replaced.
//
// force
//
//	Replace the container even if it is as wanted.
//
// watch_action
//
//	The signal to send when a watched state changed, or force to replace the container.
//
// start
//
//	False does not start a container that exists but is stopped.
//
// shutdown_timeout
//
//	Seconds that a container to be replaced has to stop by itself.
//
// networks
//
//	Networks to connect the container to, and to no others: names, or dictionaries of a name and
//	arguments such as aliases, links, ipv4_address, ipv6_address. An empty list disconnects it from all.
//
// skip_translate, ignore_collisions, validate_ip_addrs
//
//	As in docker.create.
//
// Further arguments are those of the container: auto_remove, binds, blkio_weight, blkio_weight_device,
// cap_add, cap_drop, cgroup_parent, command, cpu_period, cpu_shares, cpuset_cpus, cpuset_mems, detach,
// device_read_bps, device_read_iops, device_write_bps, device_write_iops, devices, dns, dns_opt,
// dns_search, domainname, entrypoint, environment, extra_hosts, group_add, healthcheck, hostname, init,
// ipc_mode, isolation, labels, links, log_driver, log_opt, mac_address, mem_limit, mem_swappiness,
// memswap_limit, network_disabled, network_mode, oom_kill_disable, oom_score_adj, pid_mode, pids_limit,
// port_bindings, ports, privileged, publish_all_ports, read_only, restart_policy, runtime, security_opt,
// shm_size, stdin_open, stop_signal, stop_timeout, storage_opt, sysctls, tmpfs, tty, ulimits, user,
// userns_mode, volume_driver, volumes, volumes_from, working_dir. Many have Salt's short names too, such as
// cmd, env, publish, memory, restart, rm, volume and workdir.
//
// An example:
//
//	web:
//	  docker_container.running:
//	    - image: nginx:1.27
//	    - publish: 8080:80
//	    - binds: /srv/www:/usr/share/nginx/html:ro
//	    - restart_policy: always
//	    - environment:
//	      - TZ: UTC
func (m *module) running(ctx context.Context, a runningArgs) (*data.Map, error) {
	c := &container{module: m, result: newResult(a.Name), a: a, name: data.Str(a.Name)}
	if ret, err := c.look(ctx); ret != nil || err != nil {
		return ret, err
	}
	if c.skip && change.Test(ctx) {
		return c.would(), nil
	}
	if err := c.create(ctx); err != nil {
		return c.refusedCreation(err), nil
	}
	ret, err := c.adjust(ctx)
	if ret == nil && err == nil {
		ret = c.keep(ctx)
	}
	failed := ret != nil || err != nil
	if c.remove || failed && !c.named {
		if left := c.discard(ctx); left != nil && !failed {
			return nil, left
		}
	}
	if failed {
		return ret, err
	}
	return c.finish(ctx)
}

// look finds out what there is. It returns the result of the state if that ends here.
func (c *container) look(ctx context.Context) (*data.Map, error) {
	if c.a.Image == nil {
		return c.end(false, "The 'image' argument is required"), nil
	}
	var err error
	if c.networks, err = c.networksOf(ctx, c.a.Networks); err != nil {
		return c.refused(err), nil
	}
	if c.image, err = c.module.image(ctx, c.result, data.Str(c.a.Image), c.a.ClientTimeout); err != nil {
		return c.refused(err), nil
	}
	now, err := found(ask[*data.Map](ctx, c.module, "inspect_container", nil, c.name))
	if err != nil {
		return c.end(false, err.Error()), nil
	}
	if c.exists = now != nil; c.exists {
		if c.current = now.Value("Image"); c.current == nil {
			return c.end(false, "Unable to detect current image for container '"+c.name+
				"'. This might be due to a change in the Docker API."), nil
		}
		if c.pre, err = ask[any](ctx, c.module, "state", nil, c.name); err != nil {
			return nil, err
		}
	}
	c.skip = c.a.Force || !c.exists || c.current != c.image
	return nil, nil
}

// word is what happens to the container as a whole.
func (c *container) word() string {
	if c.exists {
		return "replaced"
	}
	return "created"
}

// would returns the result of test mode for a container that is made anew.
func (c *container) would() *data.Map {
	if c.a.Force {
		c.changes.Set("forced_update", true)
	} else if c.current != c.image {
		c.changes.Set("image", change.OldNew(c.current, c.image))
	}
	return c.end(nil, "Container '"+c.name+"' would be "+c.word())
}

// create makes the new container.
func (c *container) create(ctx context.Context) error {
	kwargs := clean(c.a.Kwargs)
	kwargs.Delete("send_signal")
	if c.networks.Len() > 0 {
		kwargs.Set("networks", c.networks)
	}
	for k, v := range data.NewMap("skip_translate", c.a.SkipTranslate, "ignore_collisions", c.a.IgnoreCollisions,
		"validate_ip_addrs", c.a.ValidateIPAddrs, "client_timeout", c.a.ClientTimeout).All() {
		kwargs.Set(k, v)
	}
	if !c.exists {
		kwargs.Set("name", c.name)
	}
	made, err := ask[*data.Map](ctx, c.module, "create", kwargs, data.Str(c.a.Image))
	if err != nil {
		return err
	}
	c.temp, c.tempID, c.remove = made.Text("Name"), made.Text("Id"), !c.skip
	return nil
}

func (c *container) refusedCreation(err error) *data.Map {
	text := err.Error()
	if m, ok := info(err).(*data.Map); ok && m.Has("invalid") {
		text += "\n\nIf you feel this information is incorrect, the skip_translate argument can be used to skip input translation for " +
			"the argument(s) identified as invalid. See the documentation for details."
	}
	return c.end(false, text)
}

// info returns the details of an error.
func info(err error) any {
	if e, ok := errors.AsType[*loader.Error](err); ok {
		return e.Info
	}
	return nil
}

// discard removes the new container, which was for the comparison only or could not get its name.
func (c *container) discard(ctx context.Context) error {
	err := c.do(context.WithoutCancel(ctx), "rm", nil, c.temp)
	if err == nil || missing(err) {
		return nil
	}
	c.warn("Failed to remove temp container '" + c.temp + "': " + err.Error() + ".")
	return err
}

// adjust connects the new container to its networks, and compares it with the one that is there. It
// replaces or adjusts that one. It returns the result of the state if that ends here.
func (c *container) adjust(ctx context.Context) (*data.Map, error) {
	name := c.name
	if !c.exists {
		name = c.temp
	}
	before, err := ask[*data.Map](ctx, c.module, "inspect_container", nil, name)
	if err != nil {
		return nil, err
	}
	for net, args := range c.networks.All() {
		if err := c.do(ctx, "connect_container_to_network", dict(args), c.temp, net); err != nil {
			return c.joined(false, append(c.comments, err.Error())), nil
		}
	}
	after, err := c.onlyNetworks(ctx)
	if err != nil {
		return nil, err
	}
	nets, err := ask[*data.Map](ctx, c.module, "compare_container_networks", nil, before, after)
	if err != nil {
		return nil, err
	}
	if !c.skip {
		if ret, err := c.compare(ctx); ret != nil || err != nil {
			return ret, err
		}
	}
	if nets.Len() == 0 {
		return nil, nil
	}
	c.sub("container").Set("Networks", nets)
	if change.Test(ctx) {
		c.Set("result", nil)
		c.comments = append(c.comments, "Network configuration would be updated")
		return nil, nil
	}
	if c.remove && !c.reconnect(ctx, nets) {
		return c.joined(false, c.comments), nil
	}
	return nil, nil
}

// onlyNetworks disconnects the new container from networks that are not wanted, if any are named, and
// returns what it is then.
func (c *container) onlyNetworks(ctx context.Context) (*data.Map, error) {
	now, err := ask[*data.Map](ctx, c.module, "inspect_container", nil, c.temp)
	if err != nil || c.a.Networks == nil {
		return now, err
	}
	changed := false
	for net := range dict(dict(now.Value("NetworkSettings")).Value("Networks")).All() {
		if c.networks.Has(net) {
			continue
		}
		changed = true
		if err := c.do(ctx, "disconnect_container_from_network", nil, c.temp, net); err != nil {
			return nil, err
		}
	}
	if !changed {
		return now, nil
	}
	return ask[*data.Map](ctx, c.module, "inspect_container", nil, c.temp)
}

// compare compares the container with the new one, and replaces it if they differ.
func (c *container) compare(ctx context.Context) (*data.Map, error) {
	version, err := ask[*data.Map](ctx, c.module, "version", nil)
	if err != nil {
		return nil, err
	}
	ignore := "Hostname"
	if v, _ := version.Value("VersionInfo").(data.Tuple); len(v) > 0 {
		if major, ok := v[0].(int64); ok && major >= 25 {
			ignore = "Hostname,MacAddress"
		}
	}
	diff, err := ask[*data.Map](ctx, c.module, "compare_containers", data.NewMap("ignore", ignore), c.name, c.temp)
	if err != nil {
		return nil, err
	}
	if diff.Len() == 0 {
		return c.same(ctx), nil
	}
	if emptied(diff) {
		without := ""
		if change.Test(ctx) {
			without = " without test=True"
		}
		c.warn("The detected changes may be due to incorrect handling of arguments in earlier Salt releases. If this warning persists " +
			"after running the state again" + without + ", and no changes were made to the SLS file, then please report this.")
	}
	for k, v := range diff.All() {
		c.sub("container").Set(k, v)
	}
	if change.Test(ctx) {
		c.Set("result", nil)
		c.comments = append(c.comments, "Container '"+c.name+"' would be "+c.word())
		return nil, nil
	}
	c.remove = false
	if !c.replace(ctx) {
		return c.joined(false, c.comments), nil
	}
	c.sub("container_id").Set("added", c.tempID)
	return nil, nil
}

// emptied reports whether a difference is that something empty is not set any more.
func emptied(diff *data.Map) bool {
	for part, keys := range diff.All() {
		if part == "Networks" {
			continue
		}
		for _, one := range dict(keys).All() {
			if dict(one).Value("new") != nil {
				continue
			}
			old := dict(one).Value("old")
			list, err := loader.Elements(old)
			if _, isText := old.(string); isText {
				list, err = []any{old}, nil
			}
			if old != nil && err == nil && !slices.ContainsFunc(list, func(v any) bool { return v != "" }) {
				return true
			}
		}
	}
	return false
}

// same is for a container that needs no replacement. It sends the signal of a watch.
func (c *container) same(ctx context.Context) *data.Map {
	action := data.Str(c.a.WatchAction)
	switch {
	case !data.Truth(c.a.Kwargs.Value("send_signal")):
		c.comments = append(c.comments, "Container '"+c.name+"' is already configured as specified")
	case change.Test(ctx):
		c.comments = append(c.comments, "Signal "+action+" would be sent to container")
	default:
		if err := c.do(ctx, "signal", data.NewMap("signal", c.a.WatchAction), c.name); err != nil {
			return c.joined(false, append(c.comments, "Failed to signal container: "+err.Error()))
		}
		c.changes.Set("signal", c.a.WatchAction)
		c.comments = append(c.comments, "Sent signal "+action+" to container")
	}
	return nil
}

// replace removes the container and gives its name to the new one.
func (c *container) replace(ctx context.Context) bool {
	kwargs := data.NewMap("stop", true)
	if c.a.ShutdownTimeout != nil {
		kwargs.Set("timeout", c.a.ShutdownTimeout)
	}
	gone, err := ask[[]any](ctx, c.module, "rm", kwargs, c.name)
	if err != nil {
		c.comments = append(c.comments, "Failed to replace container '"+c.name+"': "+err.Error())
		return false
	}
	c.sub("container_id").Set("removed", gone)
	done, err := ask[bool](ctx, c.module, "rename", nil, c.temp, c.name)
	if err != nil {
		c.comments = append(c.comments, "Failed to rename temp container: "+err.Error())
	}
	if !done {
		c.comments = append(c.comments, "Failed to replace container '"+c.name+"'")
		return false
	}
	c.named = true
	c.comments = append(c.comments, "Replaced container '"+c.name+"'")
	return true
}

// keep gives a new container that was not compared the name of the one that it replaces. It returns the
// result of the state if that fails.
func (c *container) keep(ctx context.Context) *data.Map {
	switch {
	case !c.skip:
		return nil
	case !c.exists:
		c.comments = append(c.comments, "Created container '"+c.name+"'")
	case !c.replace(ctx):
		return c.joined(false, c.comments)
	}
	c.sub("container_id").Set("added", c.tempID)
	return nil
}

// reconnect brings the networks of a container that stays to what is wanted. nets are the changes, from
// which those are taken out that could not be made.
func (c *container) reconnect(ctx context.Context, nets *data.Map) bool {
	ok := true
	for _, net := range slices.Sorted(slices.Values(data.Texts(nets.Keys()))) {
		var errs []string
		gone, there := false, false
		members, err := ask[[]any](ctx, c.module, "connected", nil, net)
		if err == nil && slices.Contains(members, any(c.name)) {
			err = c.do(ctx, "disconnect_container_from_network", nil, c.name, net)
			gone = err == nil
		}
		if err != nil {
			errs = append(errs, err.Error())
		}
		if args, wanted := c.networks.Get(net); wanted {
			if err := c.do(ctx, "connect_container_to_network", dict(args), c.name, net); err != nil {
				errs = append(errs, err.Error())
				if gone {
					onlyLoss(dict(nets.Value(net)))
				}
			} else {
				there = true
			}
		}
		c.comments = append(c.comments, errs...)
		ok = ok && len(errs) == 0
		switch {
		case gone && there:
			c.comments = append(c.comments, "Reconnected to network '"+net+"' with updated configuration")
		case gone:
			c.comments = append(c.comments, "Disconnected from network '"+net+"'")
		case there:
			c.comments = append(c.comments, "Connected to network '"+net+"'")
		}
	}
	return ok
}

// onlyLoss takes out of the changes of a network what could not be set.
func onlyLoss(changes *data.Map) {
	for _, key := range changes.Keys() {
		if one := dict(changes.Value(key)); one.Value("old") == nil {
			changes.Delete(key)
		} else {
			one.Set("new", nil)
		}
	}
}

// finish starts the container and ends the result.
func (c *container) finish(ctx context.Context) (*data.Map, error) {
	post, ret, err := c.launch(ctx)
	if ret != nil || err != nil {
		return ret, err
	}
	if post == "running" && !change.Test(ctx) {
		if err := c.nameAddresses(ctx); err != nil {
			return nil, err
		}
	}
	verdict := any(true)
	if c.Value("result") == nil {
		verdict = nil
	}
	if c.pre != post {
		c.changes.Set("state", change.OldNew(c.pre, post))
		if c.pre != nil {
			c.comments = append(c.comments, "State changed from '"+data.Str(c.pre)+"' to '"+data.Str(post)+"'")
		}
	}
	if c.exists && c.current != c.image {
		c.comments = append(c.comments, "Container has a new image")
		c.changes.Set("image", change.OldNew(c.current, c.image))
	}
	if post != "running" && c.a.Start {
		verdict = false
		c.comments = append(c.comments, "Container is not running")
	}
	return c.joined(verdict, c.comments), nil
}

// launch starts the container if it should run, and returns its state. ret is the result of the state if
// that ends here.
func (c *container) launch(ctx context.Context) (post any, ret *data.Map, err error) {
	fresh := !c.remove && (!c.exists || c.a.Start)
	if !fresh && (!c.a.Start || !c.remove || c.pre == "running") {
		post, err = ask[any](ctx, c.module, "state", nil, c.name)
		return post, nil, err
	}
	if change.Test(ctx) {
		return nil, c.joined(nil, append(c.comments, "Container would be started")), nil
	}
	got, err := ask[*data.Map](ctx, c.module, "start", nil, c.name)
	if err != nil {
		return nil, c.joined(false, append(c.comments, "Failed to start container '"+c.name+"': '"+err.Error()+"'")), nil
	}
	return dict(got.Value("state")).Value("new"), nil, nil
}

// nameAddresses puts the addresses that the engine gave into the changes of networks.
func (c *container) nameAddresses(ctx context.Context) error {
	keys, err := calls.Option[*data.Map](ctx, c.env, "docker.compare_container_networks")
	if err != nil {
		return err
	}
	var nets *data.Map
	for net, one := range dict(dict(c.changes.Value("container")).Value("Networks")).All() {
		changes := dict(one)
		if dict(changes.Value("IPConfiguration")).Value("new") != "automatic" {
			continue
		}
		if nets == nil {
			now, err := ask[*data.Map](ctx, c.module, "inspect_container", nil, c.name)
			if err != nil {
				return err
			}
			nets = dict(dict(now.Value("NetworkSettings")).Value("Networks"))
		}
		for _, key := range data.TextsOf(keys.Value("automatic")) {
			if v := dict(nets.Value(net)).Value(key); data.Truth(v) {
				changes.Set(key, data.NewMap("old", nil, "new", v))
				changes.Delete("IPConfiguration")
			}
		}
	}
	return nil
}
