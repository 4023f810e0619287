package tops

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/cobbler"
)

// Cobbler is the system cobbler: the management classes of a host, in the environment that is its
// status (salt/tops/cobbler.py). The options are cobbler.url, cobbler.user and cobbler.password. If
// the server does not answer, that is logged, and there are no states.
type Cobbler struct{}

// Name implements Source.
func (Cobbler) Name() string { return "cobbler" }

// Check implements Source. Its value in the option is not used.
func (Cobbler) Check(any) error { return nil }

// Top implements Source.
func (Cobbler) Top(ctx context.Context, q Query) (*data.Map, error) {
	v, err := cobbler.Fetch(ctx, q.Master, q.ID)
	if err != nil {
		q.Log.Errorf("Could not connect to cobbler: states of %s: %s", q.ID, err)
		return nil, nil
	}
	m, _ := v.(*data.Map)
	status, known := m.Get("status")
	classes, ok := m.Value("mgmt_classes").([]any)
	if !known || !ok || !data.Hashable(status) {
		return nil, errors.New("the data of the server have no status, or no list mgmt_classes")
	}
	return data.NewMap(status, classes), nil
}
