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

// patience is how long one source may take for one minion.
const patience = time.Minute

// mostAtOnce is how many minions are asked for at once, since a program may run for each, and waiting how long others wait for that.
const (
	mostAtOnce = 16
	waiting    = 5 * time.Minute
)

// ErrUnknown is wrapped for a system that is not there.
var ErrUnknown = errors.New("there is no such system of master_tops")

// A Source is one system that the option master_tops may name. Several goroutines may use it.
type Source interface {
	// Name is what the option calls it.
	Name() string
	// Check says what is wrong with what stands behind the name in the option.
	Check(config any) error
	// Top returns the states of a minion: environment → list of SLS. nil is none. It ends with ctx.
	Top(ctx context.Context, q Query) (*data.Map, error)
}

// A Minion is who is asked for.
type Minion struct {
	ID     string    // as it was proved
	Opts   *data.Map // its options, as it tells them; may be nil
	Grains *data.Map // may be nil
}

// A Query asks a Source. Maps in it must not be changed.
type Query struct {
	Minion
	Config any // what stands behind the source's name in the option
	Log    logrus.FieldLogger
}

// Options are what Tops are made of.
type Options struct {
	Config  any                // the option master_tops: a map of names to what each source needs; nil is none
	Sources []Source           // two of one name are an error
	Log     logrus.FieldLogger // nil logs nothing
}

// Tops are the systems of one master. Several goroutines may use them.
type Tops struct {
	sources []configured
	places  chan struct{}
	log     logrus.FieldLogger
}

type configured struct {
	Source
	config any
}

// Sources returns the systems of this package.
func Sources() []Source { return []Source{Nodes{}, SaltClass{}} }

// New returns the systems that the option names. One that is not there is left out, and the error, which wraps ErrUnknown for
// each of these, tells of it; with any other error there are no Tops.
func New(o Options) (*Tops, error) {
	option, ok := o.Config.(*data.Map)
	if !ok && o.Config != nil {
		return nil, errors.New("master_tops: expected a dictionary of names of systems")
	}
	t := &Tops{places: make(chan struct{}, mostAtOnce), log: o.Log}
	if t.log == nil {
		t.log = logging.Discard()
	}
	var unknown []error
	for name, config := range option.All() {
		i := slices.IndexFunc(o.Sources, func(s Source) bool { return s.Name() == name })
		if i < 0 {
			unknown = append(unknown, fmt.Errorf("master_tops: %s: %w", data.Str(name), missing(name)))
			continue
		}
		if err := o.Sources[i].Check(config); err != nil {
			return nil, fmt.Errorf("master_tops: %s: %w", data.Str(name), err)
		}
		t.sources = append(t.sources, configured{o.Sources[i], config})
	}
	return t, errors.Join(unknown...)
}

// missing says why a system is not there.
func missing(name any) error {
	if name == "reclass" {
		return fmt.Errorf("%w: it is a library of Python's; its classes can be read by saltclass, or by reclass-salt behind ext_nodes", ErrUnknown)
	}
	return ErrUnknown
}

// Top returns what all systems say of a minion: environment → list of SLS. One that fails is told of in the log.
func (t *Tops) Top(ctx context.Context, m Minion) *data.Map {
	out := data.NewMap()
	if t == nil {
		return out
	}
	for _, s := range t.sources {
		got, err := t.ask(ctx, s, m)
		if err != nil {
			t.log.Errorf("Top function %s.top failed with error %s for minion %s", s.Name(), err, m.ID)
			continue
		}
		for env, states := range got.All() {
			out.Set(env, joined(out.Value(env), states))
		}
	}
	return out
}

func (t *Tops) ask(ctx context.Context, s configured, m Minion) (*data.Map, error) {
	wait := time.NewTimer(waiting)
	defer wait.Stop()
	select {
	case t.places <- struct{}{}:
		defer func() { <-t.places }()
	case <-wait.C:
		return nil, errors.New("too many minions ask at once")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if m.Opts == nil {
		m.Opts = data.NewMap()
	}
	if m.Grains == nil {
		m.Grains = data.NewMap()
	}
	return s.Top(ctx, Query{Minion: m, Config: s.config, Log: t.log})
}

// joined adds to a list what of another is not in it. What is no list is replaced (salt/utils/dictupdate.py, update).
func joined(have, more any) any {
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
