package loader

import (
	"context"
	"os"
	"os/exec"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// An Env is the environment that the engine provides to plug-ins. Do not modify its maps.
type Env struct {
	Opts   *data.Map        // effective options: __opts__
	Grains func() *data.Map // current grains; may be nil, see GrainsNow
	Pillar func() *data.Map // current pillar; may be nil, see PillarNow

	// Call runs another function like __salt__[fun](*args, **kwargs). NewRegistry sets it if it is
	// nil.
	Call func(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error)
	// Functions are the execution modules. NewRegistry sets it to the new registry if it is nil.
	Functions *Registry
	// Registries are the registries by Salt's name of the kind: states, runners, returners, wheel,
	// sdb, and renderers and pillar with those of users; on a master also modules. A missing kind
	// is empty.
	Registries map[string]*Registry

	Host Host                                           // the daemon that runs the plug-ins
	Run  func(ctx context.Context, cmd *exec.Cmd) error // runs a program; nil means process.Run
	Root string                                         // root directory of the system; "" means /
	Log  logrus.FieldLogger                             // not nil after NewRegistry
}

// A Host provides the services of the daemon that runs the plug-ins. Services that do not exist are
// nil: salt-call --local has no masters, and a master has no jobs of a minion.
type Host struct {
	Jobs    Jobs    // jobs of the minion that runs the plug-ins
	Bus     Bus     // bus of that minion; Env.Fire and Env.Await also work from other processes
	Masters Masters // masters that the minion is signed in to

	// FireMaster fires an event on the bus of the master, or of every master if there are several.
	FireMaster func(ctx context.Context, tag string, body *data.Map) error

	// Order publishes a job through the master on this host, like the program salt, and calls yield
	// with each reply until yield returns false. The fields of order are those of LocalClient.cmd:
	// tgt, tgt_type, fun, arg, ret, jid, timeout, gather_job_timeout, ret_config, ret_kwargs,
	// metadata, module_executors, batch and failhard. With silent true, minions that did not reply come last, each with a nil answer.
	// With the field expect_minions, minions without an accepted key are reported with failed true,
	// as in Salt; if the field is true, so are those that did not reply. With the field client,
	// runner or wheel, order calls the function fun of the master itself with arg and kwarg; the
	// only answer is its job, with an empty id. With async true the only answer comes at once: jid
	// and minions of the published job, or jid and tag of the call. connected: wait for no absent minion.
	Order func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error

	// Control calls a function of the master that runs the plug-ins, as a job of its own with its
	// events, and returns the job: fun, jid, user, fun_args, return, success. kind is runner or
	// wheel.
	Control func(ctx context.Context, kind string, c MasterCall) *data.Map

	// RefreshGrains collects the grains of this minion again; Env.Grains returns the new ones.
	RefreshGrains func(ctx context.Context) error

	// CompilePillar returns a fresh pillar of this minion, compiled by its first master, or by the
	// minion itself if it has none.
	CompilePillar func(ctx context.Context, q PillarQuery) (*data.Map, error)
}

// Jobs gives access to the running jobs of a minion.
type Jobs interface {
	// Running returns the loads of running jobs, each with its process id as pid, oldest first.
	Running() []*data.Map
	// Signal sends a signal to the programs of a job, and cancels the job itself if ends is true.
	// It reports whether the job is running.
	Signal(jid string, sig os.Signal, ends bool) bool
}

// A Bus is the event bus of a minion.
type Bus interface {
	Fire(ctx context.Context, tag string, body *data.Map) error
	// Await calls act and returns the body of the first event after that whose tag begins with tag.
	// It returns early with act's error or when ctx ends.
	Await(ctx context.Context, tag string, act func() error) (*data.Map, error)
}

// Masters sends requests to the masters that a minion is signed in to. Requests are encrypted; id
// and tok are added to their loads.
type Masters interface {
	// Request sends a request to the first master.
	Request(ctx context.Context, load *data.Map) (reply any, err error)
	// RequestRaw is like Request but returns the reply undecoded.
	RequestRaw(ctx context.Context, load *data.Map) (data.Raw, error)
	// RequestAll sends a request to every master and joins the errors.
	RequestAll(ctx context.Context, load *data.Map) error
	// RequestTo sends a request to the master with the address uri.
	RequestTo(ctx context.Context, uri string, load *data.Map) (reply any, err error)
	// URIs returns the addresses of the masters in the form tcp://HOST:PORT.
	URIs() []string
}

// A MasterCall is a call of a function of the master itself.
type MasterCall struct {
	Fun    string
	Args   []any
	Kwargs *data.Map
	User   string // user who makes the call
}

// A PillarQuery selects a pillar of the minion. The compiler chooses the values of empty and nil
// fields.
type PillarQuery struct {
	SaltEnv, PillarEnv string
	Override           *data.Map // values that override those of all files, and are visible to them
	External           *data.Map // an additional external pillar
	Clean              bool      // discard the copy in the master's cache (pillar_cache)
}

// GrainsNow returns the current grains, or an empty map.
func (e *Env) GrainsNow() *data.Map { return now(e.Grains) }

// PillarNow returns the current pillar, or an empty map.
func (e *Env) PillarNow() *data.Map { return now(e.Pillar) }

// Option returns the value of an option, or nil if it is not set.
func (e *Env) Option(name string) any { return e.Opts.Value(name) }

// Registry returns the plug-ins of a kind. If there are none it returns nil, which is an empty
// Registry.
func (e *Env) Registry(kind string) *Registry { return e.Registries[kind] }

func now(get func() *data.Map) *data.Map {
	if get == nil {
		return &data.Map{}
	}
	if m := get(); m != nil {
		return m
	}
	return &data.Map{}
}
