package tops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
)

// sourceTimeout is the time limit of one source for one minion.
const sourceTimeout = time.Minute

// maxConcurrent limits how many minions are served at once, since a program may run for each;
// queueTimeout is how long further requests wait.
const (
	maxConcurrent = 16
	queueTimeout  = 5 * time.Minute
)

// ErrUnknown is wrapped for an unknown system.
var ErrUnknown = errors.New("unknown system of master_tops")

// A Source is one system that the option master_tops may name. It is safe for concurrent use.
type Source interface {
	// Name returns the name in the option.
	Name() string
	// Check returns an error if the source's value in the option is invalid.
	Check(config any) error
	// Top returns the states of a minion: environment → list of SLS. nil means none. It ends with
	// ctx.
	Top(ctx context.Context, q Query) (*data.Map, error)
}

// A Minion is the minion whose states are requested.
type Minion struct {
	ID     string    // the authenticated id
	Opts   *data.Map // its options, as the minion sent them; may be nil
	Grains *data.Map // may be nil
}

// A Query asks a Source. Maps in it must not be changed.
type Query struct {
	Minion
	Config any       // the source's value in the option
	Master *data.Map // the options of the master; never nil
	Log    logrus.FieldLogger
}

// Options configure Tops.
type Options struct {
	// the option master_tops: a map of names to the configuration of each source; nil is none
	Config  any
	Master  *data.Map // the options of the master; may be nil
	Sources []Source  // two of the same name are an error
	// Own returns the system of users' own code with a name, see [Own]; it comes before Sources.
	// nil has none.
	Own func(name string) (s Source, ok bool)
	Log logrus.FieldLogger // nil logs nothing
}

// Tops are the systems of one master. It is safe for concurrent use.
type Tops struct {
	sources []configured
	master  *data.Map
	places  chan struct{}
	log     logrus.FieldLogger
}

type configured struct {
	Source
	config any
}

// Sources returns the systems of this package.
func Sources() []Source { return []Source{Nodes{}, SaltClass{}, Cobbler{}, Reclass{}, Varstack{}} }

// New returns the systems of the option. Unknown ones are left out, and the error wraps ErrUnknown
// for each of them. With any other error there are no Tops.
func New(o Options) (*Tops, error) {
	option, ok := o.Config.(*data.Map)
	if !ok && o.Config != nil {
		return nil, errors.New("master_tops: expected a dictionary of names of systems")
	}
	t := &Tops{master: o.Master, places: make(chan struct{}, maxConcurrent), log: o.Log}
	if t.master == nil {
		t.master = data.NewMap()
	}
	if t.log == nil {
		t.log = logging.Discard()
	}
	var unknown []error
	for name, config := range option.All() {
		s, ok := o.source(data.Str(name))
		if !ok {
			unknown = append(unknown, fmt.Errorf("master_tops: %s: %w", data.Str(name),
				ErrUnknown))
			continue
		}
		if err := s.Check(config); err != nil {
			return nil, fmt.Errorf("master_tops: %s: %w", data.Str(name), err)
		}
		t.sources = append(t.sources, configured{s, config})
	}
	return t, errors.Join(unknown...)
}

// source returns the system of a name.
func (o Options) source(name string) (Source, bool) {
	if o.Own != nil {
		if s, ok := o.Own(name); ok {
			return s, true
		}
	}
	i := slices.IndexFunc(o.Sources, func(s Source) bool { return s.Name() == name })
	if i < 0 {
		return nil, false
	}
	return o.Sources[i], true
}

// Top returns the states that all systems return for a minion: environment → list of SLS. Failures
// of a system are logged.
func (t *Tops) Top(ctx context.Context, m Minion) *data.Map {
	out := data.NewMap()
	if t == nil {
		return out
	}
	for _, s := range t.sources {
		got, err := t.ask(ctx, s, m)
		if err != nil {
			t.log.Errorf("Top function %s.top failed with error %s for minion %s",
				s.Name(), err, m.ID)
			continue
		}
		for env, states := range got.All() {
			out.Set(env, appendMissing(out.Value(env), states))
		}
	}
	return out
}

func (t *Tops) ask(ctx context.Context, s configured, m Minion) (*data.Map, error) {
	wait := time.NewTimer(queueTimeout)
	defer wait.Stop()
	select {
	case t.places <- struct{}{}:
		defer func() { <-t.places }()
	case <-wait.C:
		return nil, errors.New("too many concurrent requests")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	if m.Opts == nil {
		m.Opts = data.NewMap()
	}
	if m.Grains == nil {
		m.Grains = data.NewMap()
	}
	return s.Top(ctx, Query{Minion: m, Config: s.config, Master: t.master, Log: t.log})
}

// appendMissing appends the elements of more that have does not contain. Values that are not lists
// are replaced (salt/utils/dictupdate.py, update).
func appendMissing(have, more any) any {
	below, ok := have.([]any)
	over, both := more.([]any)
	if !ok || !both {
		return more
	}
	out := slices.Clone(below)
	for _, v := range over {
		if !slices.ContainsFunc(below, func(x any) bool { return data.Equal(x, v) }) {
			out = append(out, v)
		}
	}
	return out
}
