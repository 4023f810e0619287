// Package publish is Salt's module publish: a minion runs functions on other minions and runners on
// its master, as far as the master's options peer and peer_run allow it (salt/modules/publish.py).
//
// Functions of this module cannot be published themselves. If the master does not allow a call, the
// result is an empty dictionary.
//
// Differences from Salt: a request that fails for a reason other than a timeout reports the reason.
// A timeout given as text is converted to a number.
package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module publish.
func Plugin() loader.Plugin { return loader.Plugin{Name: "publish", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("publish", m.publish),
		loader.F("full_data", m.fullData),
		loader.F("runner", m.runner),
	}}, nil
}

type publishArgs struct {
	Tgt       any
	Fun       string
	Arg       any `default:"None"`
	TgtType   any `default:"'glob'"`
	Returner  any `default:"''"`
	Timeout   any `default:"5"`
	ViaMaster any `default:"None"`
}

// publish runs a function on other minions and returns their results by minion. The master's option
// peer must allow this minion to use the function. Functions of the module publish are never
// allowed.
//
// arg
//
//	The argument of the function, or a list of arguments. Pass a text with an equals sign by the
//	name arg.
//
// tgt_type : glob
//
//	The type of the target: glob, pcre, list, grain, grain_pcre, pillar, pillar_pcre, ipcidr,
//	range, compound or nodegroup. A target on pillar must not match more minions by patterns
//	than by whole values.
//
// returner
//
//	Additional returners for the results of the other minions, separated by commas.
//
// timeout : 5
//
//	How long to wait for results, in seconds.
//
// via_master
//
//	The master to use if the minion has several. Default: the first.
//
// CLI Example:
//
//	salt system.example.com publish.publish '*' cmd.run 'ls -la /tmp'
//	salt system.example.com publish.publish 'os:Fedora' network.interfaces '' grain
//	salt system.example.com publish.publish '*' test.kwarg arg='cheese=spam'
//	salt system.example.com publish.publish '*' test.kwarg arg="['cheese=spam','spam=cheese']"
func (m *module) publish(ctx context.Context, a publishArgs) (any, error) {
	return m.send(ctx, a, "clean")
}

type fullDataArgs struct {
	Tgt      any
	Fun      string
	Arg      any `default:"None"`
	TgtType  any `default:"'glob'"`
	Returner any `default:"''"`
	Timeout  any `default:"5"`
}

// fullData runs a function on other minions as publish.publish does, and returns the results with
// all details. The value is under the key ret.
//
// CLI Example:
//
//	salt system.example.com publish.full_data '*' cmd.run 'ls -la /tmp'
//	salt system.example.com publish.full_data '*' test.kwarg arg='cheese=spam'
func (m *module) fullData(ctx context.Context, a fullDataArgs) (any, error) {
	return m.send(ctx, publishArgs{a.Tgt, a.Fun, a.Arg, a.TgtType, a.Returner, a.Timeout, nil},
		"full")
}

// A requester sends a request to one master.
type requester func(ctx context.Context, load *data.Map) (any, error)

// send publishes a function and waits for results.
func (m *module) send(ctx context.Context, a publishArgs, form string) (any, error) {
	if m.env.Host.Masters == nil {
		m.env.Log.Error("Cannot run publish commands without a connection to a salt master. No command sent.")
		return data.NewMap(), nil
	}
	if strings.HasPrefix(a.Fun, "publish.") {
		m.env.Log.Info("Cannot publish publish calls. Returning {}")
		return data.NewMap(), nil
	}
	timeout, err := loader.Float(a.Timeout)
	if err != nil {
		return nil, err
	}
	request, err := m.master(a.ViaMaster)
	if err != nil {
		return nil, err
	}
	m.env.Log.Infof("Publishing '%s'", a.Fun)
	reply, err := request(ctx, data.NewMap("cmd", "minion_pub", "fun", a.Fun,
		"arg", arguments(a.Arg), "tgt", a.Tgt, "tgt_type", a.TgtType,
		"ret", a.Returner, "tmo", a.Timeout, "form", form, "id", m.env.Option("id"), "no_parse",
		m.noParse()))
	if err != nil {
		return failure(err, a.Fun, "publish")
	}
	sent, _ := reply.(*data.Map)
	if sent.Len() == 0 {
		return data.NewMap(), nil
	}
	found, err := m.await(ctx, request, sent, time.Duration(min(timeout, 1e9)*float64(time.Second)))
	if err != nil || found == nil {
		return nil, err
	}
	if form == "clean" {
		found = values(found)
	}
	return found, nil
}

// arguments parses an argument as on the command line and returns it as a list.
func arguments(arg any) []any {
	switch v := loader.YAMLArg(arg).(type) {
	case nil:
		return []any{}
	case []any:
		return v
	default:
		return []any{v}
	}
}

func (m *module) noParse() any {
	if v, ok := m.env.Opts.Get("no_parse"); ok && v != nil {
		return v
	}
	return []any{}
}

// failure returns the result of a failed request: a text after a timeout, else an error.
func failure(err error, fun, what string) (any, error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return "'" + fun + "' " + what + " timed out", nil
	}
	return nil, fmt.Errorf("%s %s: %w", what, fun, err)
}

// master returns the requester for the master to use.
func (m *module) master(via any) (requester, error) {
	if !data.Truth(via) {
		return m.env.Host.Masters.Request, nil
	}
	var match []string
	all := m.env.Host.Masters.URIs()
	for _, uri := range all {
		if strings.Contains(uri, "//"+data.Str(via)+":") {
			match = append(match, uri)
		}
	}
	if len(match) == 0 {
		list := make([]any, len(all))
		for i, uri := range all {
			list[i] = uri
		}
		return nil, loader.Invocation("Could not find match for %s in list of configured masters %s when using `via_master` option", data.Str(via), data.Repr(list))
	}
	uri := match[len(match)-1]
	return func(ctx context.Context, load *data.Map) (any, error) {
		return m.env.Host.Masters.RequestTo(ctx, uri, load)
	}, nil
}

// pause is the time between two requests for results.
const pause = 300 * time.Millisecond

// await requests results until all have arrived or the time is over. It returns nil if no minion
// matched.
func (m *module) await(
	ctx context.Context, request requester, sent *data.Map, limit time.Duration,
) (*data.Map, error) {
	meant, _ := sent.Value("minions").([]any)
	if len(meant) == 0 {
		return nil, nil
	}
	for waited := time.Duration(0); ; waited += pause {
		reply, err := request(ctx, data.NewMap("cmd", "pub_ret", "id", m.env.Option("id"),
			"jid", sent.Value("jid")))
		if err != nil {
			return nil, fmt.Errorf("fetch results of job %s: %w", data.Str(sent.Value("jid")), err)
		}
		found, _ := reply.(*data.Map)
		missing := slices.ContainsFunc(meant, func(id any) bool { return !found.Has(id) })
		if found == nil {
			found = data.NewMap()
		}
		if !missing || waited > limit {
			return found, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// values returns only the values of the results.
func values(found *data.Map) *data.Map {
	all := data.NewMap()
	for id, v := range found.All() {
		one, _ := v.(*data.Map)
		all.Set(id, one.Value("ret"))
	}
	return all
}

type runnerArgs struct {
	Fun     string
	Arg     any `default:"None"`
	Timeout any `default:"5"`
}

// runner runs a runner on the master and returns its result. The master's option peer_run must
// allow this minion to use the runner.
//
// CLI Example:
//
//	salt system.example.com publish.runner manage.down
func (m *module) runner(ctx context.Context, a runnerArgs) (any, error) {
	if m.env.Host.Masters == nil {
		return "No access to master. If using salt-call with --local, please remove.", nil
	}
	m.env.Log.Infof("Publishing runner '%s'", a.Fun)
	reply, err := m.env.Host.Masters.Request(ctx,
		data.NewMap("cmd", "minion_runner", "fun", a.Fun, "arg", arguments(a.Arg), "tmo", a.Timeout,
			"id", m.env.Option("id"), "no_parse", m.noParse()))
	if err != nil {
		return failure(err, a.Fun, "runner publish")
	}
	return reply, nil
}
