package saltmaster

import (
	"context"
	"errors"
	"os"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master"
	"github.com/brineproject/brine/python"
)

// A library performs what Salt's library for users' own code needs of the master. It is made before
// the master, which loads that code.
type library struct {
	master atomic.Pointer[master.Master]
	opts   *data.Map
	log    logrus.FieldLogger
}

var errStarting = errors.New("the master is still starting")

func (l *library) services() python.Services {
	return python.Services{Match: l.match, Pillar: l.pillar, Grains: l.grains}
}

func (l *library) match(
	_ context.Context, tgt any, kind, delimiter string, greedy bool,
) ([]string, error) {
	m := l.master.Load()
	if m == nil {
		return nil, errStarting
	}
	return m.Matching(tgt, kind, delimiter, greedy)
}

func (l *library) pillar(
	ctx context.Context, id string, known *data.Map, q loader.PillarQuery,
) (*data.Map, error) {
	m := l.master.Load()
	if m == nil {
		return nil, errStarting
	}
	return m.CompilePillar(ctx, id, known, q)
}

// grains returns the grains of this host without those of users' own files.
func (l *library) grains(ctx context.Context) (*data.Map, error) {
	return grains.New(grains.Options{Opts: l.opts, Env: os.Getenv, Log: l.log}).Collect(ctx)
}
