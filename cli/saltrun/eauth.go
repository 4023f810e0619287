package saltrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// callOnMaster calls the runner on the master for a user of external_auth, and prints its events
// and result (salt/runner.py, run).
func (r *run) callOnMaster(ctx context.Context, call runners.Call, wire []any) int {
	login, err := r.host.LogIn(ctx, r.o.EAuth, r.o.MakeToken)
	var exit *cli.Exit
	if errors.As(err, &exit) {
		r.out.Printf("%s", exit.Stdout)
		r.out.PrintErr("%s", exit.Stderr)
		return exit.Code
	}
	if err != nil {
		return r.refuseWith(ctx, call, wire, err, nil)
	}
	bus, err := eventbus.Dial(ctx, r.host.Sockets(),
		eventbus.ClientOptions{Subscribe: eventbus.SubscribeOptions{Prefixes: []string{eventbus.Tagify("run") + "/"}}})
	if err != nil {
		r.host.ReportDeniedBus(err)
		r.out.PrintErr("%v\n", client.ErrNoMaster)
		return exitGeneric
	}
	defer bus.Close()
	tag, err := r.order(ctx, call, login)
	if err != nil {
		return r.refuseWith(ctx, call, wire, err, nil)
	}
	if r.o.Async {
		r.log.Warnf("Running in asynchronous mode. Results of this execution may be collected by attaching to the master event bus or by "+
			"examining the master job cache, if configured. This execution is running under tag %s",
			tag)
		return exitOK
	}
	body, err := r.await(ctx, bus, tag)
	if err != nil {
		return r.refuseWith(ctx, call, wire, err, nil)
	}
	v := body.Value("return")
	inner, outputter, ok := withOutputter(v)
	if !ok {
		inner, outputter = v, ""
	}
	if r.out.Print(inner, outputter, exitOK) != nil {
		return exitGeneric
	}
	return codeIn(v)
}

// order submits the call to the master and returns the tag of its events. The error has the text of
// the master's refusal.
func (r *run) order(ctx context.Context, call runners.Call, login *data.Map) (string, error) {
	out, err := r.host.Requester()
	if err != nil {
		return "", err
	}
	defer out.Close()
	args := call.Args
	if args == nil {
		args = []any{}
	}
	load := data.NewMap("fun", call.Fun, "kwarg", data.NewMap("kwarg", call.Kwargs, "arg", args))
	load.Update(login)
	load.Set("cmd", "runner")
	limited, cancel := context.WithTimeout(ctx, r.requestTimeout())
	defer cancel()
	reply, err := channel.Clear(limited, out, load)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return "", client.ErrTimeout
	}
	if err != nil {
		return "", err
	}
	m, _ := reply.(*data.Map)
	if refusal, ok := m.Value("error").(*data.Map); ok {
		return "", loader.Exception(refusal.Text("name"), "%s", refusal.Text("message"))
	}
	if tag := m.Text("tag"); tag != "" {
		return tag, nil
	}
	return "", fmt.Errorf("call runner: unexpected reply of the master: %s", data.Repr(reply))
}

// requestTimeout returns how long the master may take to check a login.
func (r *run) requestTimeout() time.Duration { return max(r.cfg.Timeout, 15*time.Second) }

// await waits for the end of a call and returns its last event.
func (r *run) await(ctx context.Context, bus *eventbus.Client, tag string) (*data.Map, error) {
	limit := 300 * time.Second
	if n, err := loader.Float(r.opts.Value("rest_timeout")); err == nil && n > 0 {
		limit = time.Duration(n * float64(time.Second))
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		e, err := bus.Next(limited)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			// Salt's text
			return nil, fmt.Errorf("RunnerClient job '%s' timed out",
				tag[len(eventbus.Tagify("run"))+1:])
		case err != nil:
			return nil, err
		case e.Tag != tag+"/ret":
			continue
		}
		return e.Map()
	}
}
