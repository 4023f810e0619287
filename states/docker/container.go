package docker

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// networksOf returns the networks of an argument with the arguments that connect a container to each. The
// networks must be there.
func (m *module) networksOf(ctx context.Context, v any) (*data.Map, error) {
	if !data.Truth(v) {
		return data.NewMap(), nil
	}
	given, ok := v.(*data.Map)
	if !ok {
		given, _ = packages.Repack(words(v))
	}
	if given.Len() == 0 {
		return nil, loader.Execution("Invalid network configuration (see documentation)")
	}
	networks := data.NewMap()
	var errs []any
	for name, conf := range given.All() {
		args, ok := conf.(*data.Map)
		if !ok && conf != nil {
			if args, _ = packages.Repack(conf); args.Len() == 0 {
				return nil, loader.Execution("Invalid configuration for network '%s' (see documentation)", data.Str(name))
			}
		}
		args = args.Clone()
		for k, v := range args.All() {
			switch {
			case v == nil:
				errs = append(errs, "Config option '"+data.Str(k)+"' for network '"+data.Str(name)+"' is missing a value")
			case k == "aliases":
				args.Set(k, words(v))
			case k == "links":
				args.Set(k, linksOf(v))
			}
		}
		networks.Set(data.Str(name), args)
	}
	if len(errs) > 0 {
		return nil, loader.ExecutionInfo("Invalid network configuration", errs)
	}
	return networks, m.haveNetworks(ctx, networks)
}

// linksOf returns links as a dictionary. They are words of a container and an alias with a colon.
func linksOf(v any) any {
	if dict, ok := v.(*data.Map); ok {
		return dict
	}
	links := data.NewMap()
	for _, word := range data.Texts(words(v)) {
		name, alias, _ := strings.Cut(word, ":")
		links.Set(name, alias)
	}
	return links
}

// haveNetworks returns an error if networks are missing.
func (m *module) haveNetworks(ctx context.Context, networks *data.Map) error {
	all, err := ask[[]any](ctx, m, "networks", nil)
	if err != nil {
		return loader.Execution("Failed to get list of existing networks: %w.", err)
	}
	var missing []string
	for name := range networks.All() {
		if !slices.ContainsFunc(all, func(one any) bool { return dict(one).Value("Name") == name }) {
			missing = append(missing, data.Str(name))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return loader.Execution("The following networks are not present: %s", strings.Join(missing, ", "))
	}
	return nil
}

// image returns the ID of an image, which is pulled if it is not there; in test mode False then.
func (m *module) image(ctx context.Context, r result, name string, timeout any) (any, error) {
	id, err := ask[any](ctx, m, "resolve_image_id", nil, name)
	if err != nil || id != false || change.Test(ctx) {
		return id, err
	}
	got, err := pulled(ask[*data.Map](ctx, m, "pull", data.NewMap("client_timeout", timeout), name))
	if err != nil {
		return nil, loader.Execution("Failed to pull %s: %w", name, err)
	}
	r.changes.Set("image", got)
	id, err = ask[any](ctx, m, "resolve_image_id", nil, name)
	if err == nil && id == false {
		err = loader.Execution("Image '%s' not present despite a docker pull raising no errors", name)
	}
	return id, err
}

// refused ends a result with an error. A list of details becomes the comment.
func (r result) refused(err error) *data.Map {
	if list, ok := info(err).([]any); ok {
		return r.joined(false, data.Texts(list))
	}
	return r.end(false, err.Error())
}

type runStateArgs struct {
	Name             any
	Image            any       `default:"None"`
	Bg               bool      `default:"False"`
	Failhard         bool      `default:"True"`
	Replace          bool      `default:"False"`
	Force            bool      `default:"False"`
	SkipTranslate    any       `default:"None"`
	IgnoreCollisions bool      `default:"False"`
	ValidateIPAddrs  bool      `name:"validate_ip_addrs" default:"True"`
	ClientTimeout    any       `default:"60"`
	Kwargs           *data.Map `kwargs:"kwargs"`
}

// run runs a container until it ends, each time that the state runs. The further arguments are those of
// running.
//
// bg
//
//	Do not wait for its end.
//
// failhard
//
//	False makes an exit code other than 0 a success.
//
// replace, force
//
//	Remove a container of that name first; with force even one that runs.
//
// An example:
//
//	myjob:
//	  docker_container.run:
//	    - image: busybox
//	    - command: sh -c 'cat /proc/version'
//	    - replace: True
func (m *module) run(ctx context.Context, a runStateArgs) (*data.Map, error) {
	r := newResult(a.Name)
	kwargs := clean(a.Kwargs)
	for _, name := range []string{"watch_action", "start", "shutdown_timeout", "follow"} {
		if kwargs.Has(name) {
			return r.end(false, "The '"+name+"' argument is not supported"), nil
		}
	}
	if a.Image == nil {
		return r.end(false, "The 'image' argument is required"), nil
	}
	image := data.Str(a.Image)
	if v := kwargs.Value("networks"); v != nil {
		networks, err := m.networksOf(ctx, v)
		if err != nil {
			return r.refused(err), nil
		}
		kwargs.Set("networks", networks)
	}
	if _, err := m.image(ctx, r, image, a.ClientTimeout); err != nil {
		return r.refused(err), nil
	}
	if change.Test(ctx) {
		comment := "Container would be run"
		if a.Bg {
			comment += " in the background"
		}
		return r.end(nil, comment), nil
	}
	remove := false
	if !a.Bg {
		var ok bool
		if remove, ok = takeRemove(kwargs, a.IgnoreCollisions); !ok {
			return r.end(false, "'rm' is an alias for 'auto_remove', they cannot both be used"), nil
		}
	}
	for k, v := range data.NewMap("name", a.Name, "skip_translate", a.SkipTranslate, "ignore_collisions", a.IgnoreCollisions,
		"validate_ip_addrs", a.ValidateIPAddrs, "client_timeout", a.ClientTimeout, "bg", a.Bg, "replace", a.Replace,
		"force", a.Force).All() {
		kwargs.Set(k, v)
	}
	got, err := ask[*data.Map](ctx, m, "run_container", kwargs, image)
	if err != nil {
		return r.end(false, "Encountered error running container: "+err.Error()), nil
	}
	r.Set("changes", got)
	r.end(true, "")
	if code, ok := got.Get("ExitCode"); a.Bg {
		r.end(true, "Container was run in the background")
	} else if ok {
		r.end(code == int64(0) || !a.Failhard, "Container ran and exited with a return code of "+data.Str(code))
	}
	if id := got.Value("Id"); remove && data.Truth(id) {
		if err := m.do(ctx, "rm", nil, id); err != nil {
			r.warn("Failed to auto_remove container: " + err.Error())
		}
	}
	return r.Map, nil
}

// takeRemove takes auto_remove or its alias out of the arguments. The container may only go once its exit
// code is known. ok is false if both are there.
func takeRemove(kwargs *data.Map, collisions bool) (remove, ok bool) {
	given := false
	for _, name := range []string{"auto_remove", "rm"} {
		v, has := kwargs.Get(name)
		if !has {
			continue
		}
		kwargs.Delete(name)
		if given && !collisions {
			return false, false
		}
		if !given {
			remove, given = data.Truth(v), true
		}
	}
	return remove, true
}

type stoppedArgs struct {
	Name            any       `default:"None"`
	Containers      any       `default:"None"`
	ShutdownTimeout any       `default:"None"`
	Unpause         bool      `default:"False"`
	ErrorOnAbsent   bool      `default:"True"`
	Kwargs          *data.Map `kwargs:"kwargs"`
}

// stopped makes sure that containers do not run.
//
// containers
//
//	Several containers instead of the one that name is.
//
// shutdown_timeout
//
//	Seconds that each has to stop by itself.
//
// unpause
//
//	Resume paused containers to stop them; otherwise they are an error.
//
// error_on_absent
//
//	False accepts containers that are not there.
//
// An example:
//
//	stopped_containers:
//	  docker_container.stopped:
//	    - containers:
//	      - foo
//	      - bar
func (m *module) stopped(ctx context.Context, a stoppedArgs) (*data.Map, error) {
	r := newResult(a.Name)
	var targets []string
	switch list, ok := a.Containers.([]any); {
	case !data.Truth(a.Name) && !data.Truth(a.Containers):
		return r.end(false, "One of 'name' and 'containers' must be provided"), nil
	case a.Containers != nil && !ok:
		return r.end(false, "containers must be a list"), nil
	case ok:
		targets = data.Texts(list)
	default:
		targets = []string{data.Str(a.Name)}
	}
	by, err := m.byState(ctx, targets)
	if err != nil {
		return nil, err
	}
	var errs []string
	if a.ErrorOnAbsent && len(by["absent"]) > 0 {
		errs = append(errs, "The following container(s) are absent: "+strings.Join(by["absent"], ", "))
	}
	if !a.Unpause && len(by["paused"]) > 0 {
		errs = append(errs, "The following container(s) are paused: "+strings.Join(by["paused"], ", "))
	}
	if len(errs) > 0 {
		return r.end(false, strings.Join(errs, ". ")), nil
	}
	stop := slices.Concat(by["running"], by["paused"])
	if len(stop) == 0 {
		comment := "All specified containers are "
		if len(targets) == 1 {
			comment = "Container '" + targets[0] + "' is "
		}
		if len(by["absent"]) > 0 {
			comment += "absent or "
		}
		return r.end(true, comment+"not running"), nil
	}
	if change.Test(ctx) {
		return r.end(nil, "The following container(s) will be stopped: "+strings.Join(stop, ", ")), nil
	}
	kwargs := data.NewMap("unpause", a.Unpause)
	if data.Truth(a.ShutdownTimeout) {
		kwargs.Set("timeout", a.ShutdownTimeout)
	}
	for _, name := range stop {
		got, err := ask[*data.Map](ctx, m, "stop", kwargs, name)
		switch {
		case err != nil:
			errs = append(errs, "Failed to stop container '"+name+"': "+err.Error())
		case got.Value("result") == true:
			r.changes.Set(name, got)
		case got.Has("comment"):
			errs = append(errs, got.Text("comment"))
		default:
			errs = append(errs, "Failed to stop container '"+name+"'")
		}
	}
	if len(errs) > 0 {
		return r.end(false, strings.Join(errs, "; ")), nil
	}
	return r.end(true, "The following container(s) were stopped: "+strings.Join(stop, ", ")), nil
}

// byState sorts containers by their states; those that are not there are absent.
func (m *module) byState(ctx context.Context, names []string) (map[string][]string, error) {
	by := map[string][]string{}
	for _, name := range names {
		now, err := ask[string](ctx, m, "state", nil, name)
		if err != nil {
			if !missing(err) {
				return nil, err
			}
			now = "absent"
		}
		by[now] = append(by[now], name)
	}
	return by, nil
}

type containerAbsentArgs struct {
	Name  string
	Force bool `default:"False"`
}

// containerAbsent makes sure that there is no container of that name.
//
// force
//
//	Kill it if it runs.
//
// An example:
//
//	mycontainer:
//	  docker_container.absent:
//	    - force: True
func (m *module) containerAbsent(ctx context.Context, a containerAbsentArgs) (*data.Map, error) {
	r := newResult(a.Name)
	there, err := m.isThere(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	if !there {
		return r.end(true, "Container '"+a.Name+"' does not exist"), nil
	}
	pre, err := ask[string](ctx, m, "state", nil, a.Name)
	switch {
	case err != nil:
		return nil, err
	case pre != "stopped" && !a.Force:
		return r.end(false, "Container is running, set force to True to forcibly remove it"), nil
	case change.Test(ctx):
		return r.end(nil, "Container '"+a.Name+"' will be removed"), nil
	}
	gone, err := ask[[]any](ctx, m, "rm", data.NewMap("force", a.Force), a.Name)
	if err != nil {
		return r.end(false, "Failed to remove container '"+a.Name+"': "+err.Error()), nil
	}
	r.changes.Set("removed", gone)
	if there, err := m.isThere(ctx, a.Name); err != nil || there {
		return r.end(false, "Failed to remove container '"+a.Name+"'"), err
	}
	if a.Force && pre != "stopped" {
		return r.end(true, "Forcibly removed container '"+a.Name+"'"), nil
	}
	return r.end(true, "Successfully removed container '"+a.Name+"'"), nil
}

func (m *module) isThere(ctx context.Context, name string) (bool, error) {
	all, err := ask[[]any](ctx, m, "list_containers", data.NewMap("all", true))
	return slices.Contains(all, any(name)), err
}

// containerWatch replaces a running container, or sends it the signal that watch_action names, when
// something changed that the state watches. It stops or runs the containers of stopped and run.
//
// An example:
//
//	web:
//	  docker_container.running:
//	    - image: nginx
//	    - watch_action: SIGHUP
//	    - watch:
//	      - file: /srv/nginx.conf
func (m *module) containerWatch(ctx context.Context, a watchArgs) (any, error) {
	switch a.Sfun {
	case "running":
		action, ok := a.Kwargs.Get("watch_action")
		if !ok || action == "force" {
			return m.again(ctx, Container(), "running", a, "force", true)
		}
		return m.again(ctx, Container(), "running", a, "force", false, "send_signal", true)
	case "stopped", "run":
		return m.again(ctx, Container(), data.Str(a.Sfun), a)
	}
	return notWatched(a), nil
}
