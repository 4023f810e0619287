package netapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// An Answer is what an order brought.
type Answer struct {
	// Items are the values for the field return of an answer: one, or for local_batch one for each
	// minion.
	Items []any
	// Missing says why minions did not return, by their ids; nil if all did, or the client does not
	// wait for returns. Their values among the items are false, as Salt's are.
	Missing *data.Map
}

// A Master carries out orders on the master of this host.
type Master interface {
	// Order carries out one chunk of lowdata with its own credentials. Errors are *Fault.
	Order(ctx context.Context, low *data.Map) (*Answer, error)
	// LogIn returns the token for a login: eauth, username, password. Errors are *Fault.
	LogIn(ctx context.Context, login *data.Map) (*data.Map, error)
}

// An encodedMaster can leave what minions return as it came: data.Raw, as data of the event bus.
type encodedMaster interface {
	Master
	OrderEncoded(ctx context.Context, low *data.Map) (*Answer, error)
}

// mostPatience is how long an order may take, and the longest time that a chunk may ask for.
const mostPatience = 24 * time.Hour

// LocalOptions configure a Local.
type LocalOptions struct {
	// Client is how the programs of this host reach the master. All orders share Client.Out.
	Client  client.Options
	Timeout time.Duration // timeout: how long minions are waited for where an order says nothing
	Gather  time.Duration // gather_job_timeout
	Runner  time.Duration // rest_timeout: how long a runner is waited for
	// Nodegroups is the option nodegroups: the groups in targets are expanded before they are sent.
	Nodegroups *data.Map
	Log        logrus.FieldLogger
}

// A Local is the Master of this host, Brine's or Salt's, reached as the program salt reaches it. It
// is safe for concurrent use.
type Local struct{ o LocalOptions }

var _ encodedMaster = (*Local)(nil)

// NewLocal returns a Local.
func NewLocal(o LocalOptions) *Local { return &Local{o} }

// LogIn returns the token for a login.
func (l *Local) LogIn(ctx context.Context, login *data.Map) (*data.Map, error) {
	token, err := client.MakeToken(ctx, l.o.Client.Out, max(l.o.Client.Timeout, 5*time.Second), login)
	switch {
	case errors.Is(err, client.ErrNotAuthenticated):
		return nil, because(http.StatusUnauthorized, err, textBadLogin)
	case errors.Is(err, client.ErrTimeout):
		return nil, because(http.StatusServiceUnavailable, err, textNoMaster)
	case err != nil && ctx.Err() != nil:
		return nil, because(statusGone, err, textGone)
	case err != nil:
		return nil, because(http.StatusInternalServerError, err, "The master made no token")
	}
	return token, nil
}

// Order carries out one chunk.
func (l *Local) Order(ctx context.Context, low *data.Map) (*Answer, error) {
	return l.carryOut(ctx, &order{Local: l, low: low})
}

// OrderEncoded is Order that decodes no more of what minions return than it has to: values may be data.Raw.
func (l *Local) OrderEncoded(ctx context.Context, low *data.Map) (*Answer, error) {
	return l.carryOut(ctx, &order{Local: l, low: low, encoded: true})
}

func (l *Local) carryOut(ctx context.Context, one *order) (*Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, mostPatience, errLate)
	defer cancel()
	c, err := client.Open(ctx, l.o.Client)
	if err != nil {
		if ctx.Err() != nil {
			return nil, faultOf(ctx, ctx.Err())
		}
		return nil, because(http.StatusServiceUnavailable, err, textNoMaster)
	}
	defer c.Close()
	c.LogIn(loginIn(one.low))
	one.client = c
	do, ok := map[string]func(context.Context) (*Answer, error){
		"local": one.local, "local_async": one.async, "local_subset": one.subset, "local_batch": one.batch,
		"runner": one.runner, "runner_async": one.runnerAsync, "wheel": one.wheel, "wheel_async": one.wheelAsync,
	}[one.low.Text("client")]
	if !ok {
		return nil, fault(http.StatusNotImplemented, "The client '%s' is not there yet",
			one.low.Text("client"))
	}
	answer, err := do(ctx)
	if err == nil {
		return answer, nil
	}
	err = faultOf(ctx, err)
	if one.proved && outcomeOf(err) == hiddenLogin {
		f := FaultOf(err)
		err = because(f.Status, fmt.Errorf("%w, but %w", errProved, f.Err), f.Text)
	}
	return nil, err
}

// An order is one chunk while it is carried out.
type order struct {
	*Local
	client *client.Local
	low    *data.Map
	proved bool // the master has accepted the login
	// encoded leaves the values of returns encoded
	encoded bool
}

// loginIn returns the credentials of a chunk: a token, or a login of external_auth.
func loginIn(low *data.Map) *data.Map {
	if low.Has("token") {
		return data.NewMap("token", low.Value("token"))
	}
	login := data.NewMap()
	for _, field := range loginFields() {
		if v, ok := low.Get(field); ok {
			login.Set(field, v)
		}
	}
	return login
}

func loginFields() []string { return append(auth.LoginFields(), "eauth") }

// faultOf converts an error of package client to a fault. Salt answers many of these with 500; where
// the order itself is at fault it is 400 here.
func faultOf(ctx context.Context, err error) error {
	var refusal *client.Refusal
	var given *Fault
	switch {
	case errors.As(err, &given):
		return given
	case errors.Is(err, client.ErrNotAuthenticated), errors.Is(err, client.ErrNotAuthorized):
		return because(http.StatusUnauthorized, nil, textOf(err))
	case errors.As(err, &refusal) && isRefusal(refusal.Name):
		return because(http.StatusUnauthorized, nil, refusal.Message)
	case errors.As(err, &refusal):
		return because(http.StatusBadRequest, nil, refusal.Message)
	case errors.Is(ctx.Err(), context.Canceled):
		return because(statusGone, err, textGone)
	case errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(ctx), errLate): // also while it waits for the master
		return because(http.StatusGatewayTimeout, err, textLate)
	case errors.Is(err, client.ErrNoMaster), errors.Is(err, client.ErrTimeout):
		return because(http.StatusServiceUnavailable, err, textNoMaster)
	}
	return because(http.StatusInternalServerError, err, "An unexpected error occurred")
}

func textOf(err error) string {
	for _, known := range []error{client.ErrNotAuthenticated, client.ErrNotAuthorized} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// isRefusal reports whether an error of the master is about who the user is, or what they may do.
func isRefusal(name string) bool {
	return slices.Contains([]string{"AuthenticationError", "AuthorizationError", "EauthAuthenticationError",
		"TokenAuthenticationError", "UserAuthenticationError"}, name)
}

// errLate is the cause of a context that ended since an order took too long.
var errLate = errors.New("the order has not ended in time")

// words returns the fields of a chunk that are arguments of a runner or wheel function.
func (o *order) words(without ...string) *data.Map {
	words := o.low.Clone()
	for _, name := range append(append(loginFields(), "client", "token", "fun", "key", "user", "missing"), without...) {
		words.Delete(name)
	}
	return words
}

// fun returns the name of the function.
func (o *order) fun() (string, error) {
	fun, ok := o.low.Value("fun").(string)
	if !ok || fun == "" {
		return "", fault(http.StatusBadRequest, "The field fun must be the name of a function")
	}
	return fun, nil
}

// seconds returns a field as a time. If the field is missing, zero or negative, it returns otherwise.
func (o *order) seconds(field string, otherwise time.Duration) (time.Duration, error) {
	v := o.low.Value(field)
	if v == nil || v == "" {
		return otherwise, nil
	}
	n, err := loader.Float(v)
	if err != nil {
		return 0, fault(http.StatusBadRequest, "The field %s must be a number of seconds", field)
	}
	if n <= 0 {
		return otherwise, nil
	}
	return time.Duration(min(n, mostPatience.Seconds()) * float64(time.Second)), nil
}
