package loader

import (
	"context"
	"os"
	"os/exec"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// An Env is what the engine lends to plug-ins. Maps that it gives must not be changed.
type Env struct {
	Opts   *data.Map        // effective options: __opts__
	Grains func() *data.Map // grains of now; nil is allowed, see GrainsNow
	Pillar func() *data.Map // pillar of now; nil is allowed, see PillarNow

	// Call runs another function as __salt__[fun](*args, **kwargs) does; NewRegistry sets it when it is nil.
	Call func(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error)
	// Functions are the execution modules; NewRegistry sets it to the new registry when it is nil.
	Functions *Registry
	// Shelves are the other kinds of plug-ins by Salt's name: states, runners, returners, renderers, wheel.
	// A shelf that is not there is empty.
	Shelves map[string]*Registry

	Host Host                                           // the daemon around the plug-ins
	Run  func(ctx context.Context, cmd *exec.Cmd) error // runs a program; nil means process.Run
	Root string                                         // root directory of the system; "" means /
	Log  logrus.FieldLogger                             // never nil after NewRegistry
}

// A Host is what the minion lends to plug-ins that steer it. A field is nil where there is no daemon (salt-call --local).
type Host struct {
	Running    func() []*data.Map                                               // loads of the jobs under way with their pid
	Signal     func(jid string, sig os.Signal, ends bool) bool                  // signals a job; reports whether it is running
	Fire       func(ctx context.Context, tag string, body *data.Map) error      // event on the minion's own bus
	FireMaster func(ctx context.Context, tag string, body *data.Map) error      // event to all masters
	Request    func(ctx context.Context, load *data.Map) (reply any, err error) // encrypted request to the master, id and tok added
	RequestRaw func(ctx context.Context, load *data.Map) (data.Raw, error)      // Request with a reply that is not decoded
	RequestAll func(ctx context.Context, load *data.Map) error                  // Request to every master; the errors of all
	// Masters returns the addresses of the masters, as tcp://HOST:PORT; RequestTo sends an encrypted request to one of them.
	Masters   func() []string
	RequestTo func(ctx context.Context, master string, load *data.Map) (reply any, err error)

	// Control calls a function of the master in whose process the plug-ins are, as a job of its own with its events, and returns the job:
	// fun, jid, user, fun_args, return, success. kind is runner or wheel. Nil elsewhere.
	Control func(ctx context.Context, kind string, c Control) *data.Map

	// CompilePillar returns the pillar of this minion, compiled anew: by its first master, or by itself where it has none.
	CompilePillar func(ctx context.Context, q PillarQuery) (*data.Map, error)

	// Await calls act and returns the body of the first event on the minion's own bus, from then on, whose tag begins with
	// tag. It ends with act's error or with ctx.
	Await func(ctx context.Context, tag string, act func() error) (*data.Map, error)
	// Order gives an order to the master on this host as the program salt does, and hands the answers to yield until that
	// returns false. The fields of order are those of LocalClient.cmd: tgt, tgt_type, fun, arg, ret, jid, timeout,
	// gather_job_timeout, ret_config, ret_kwargs, batch and failhard. With silent true the minions that did not answer come at the end,
	// each with a nil answer. With the field expect_minions those without an accepted key come with failed true, as in Salt, and where
	// it is true those as well that did not answer. With the field client, which is runner or wheel, the order is for the function fun
	// of the master itself, with arg and kwarg; its job is the only answer, of no id.
	Order func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error
}

// A Control is a call of a function of the master itself.
type Control struct {
	Fun    string
	Args   []any
	Kwargs *data.Map
	User   string // who calls
}

// A PillarQuery says which pillar of the minion is asked for. What is "" or nil is left to who compiles.
type PillarQuery struct {
	SaltEnv, PillarEnv string
	Override           *data.Map // what counts before all files, and is seen by them
	External           *data.Map // one external pillar beside those of the configuration
	Clean              bool      // forget what a cache of the master has (pillar_cache)
}

// GrainsNow returns the grains, an empty map when there are none.
func (e *Env) GrainsNow() *data.Map { return now(e.Grains) }

// PillarNow returns the pillar, an empty map when there is none.
func (e *Env) PillarNow() *data.Map { return now(e.Pillar) }

// Option returns the option name, nil when it is not set.
func (e *Env) Option(name string) any { return e.Opts.Value(name) }

// Shelf returns the plug-ins of another kind; nil, which is an empty Registry, when there are none.
func (e *Env) Shelf(kind string) *Registry { return e.Shelves[kind] }

func now(get func() *data.Map) *data.Map {
	if get == nil {
		return &data.Map{}
	}
	if m := get(); m != nil {
		return m
	}
	return &data.Map{}
}
