package netapi

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/loglimit"
)

// Options configure a Gate.
type Options struct {
	Settings *Settings
	Door     *Door
	Master   Master
	Tokens   Tokens
	// External is the option external_auth, for the rights that an answer to a login lists.
	External *data.Map
	// Permissive is the option permissive_acl.
	Permissive bool
	// KeepACLInToken is the option of that name: rights that a token has count, not those of external_auth.
	KeepACLInToken bool
	// TokenExpire is the option token_expire, for the tokens that the gate makes itself.
	TokenExpire time.Duration
	Audit       *Audit // nil writes none
	Pace        *Pace  // of the logins of all doors; nil means one of its own
	Now         func() time.Time
	Log         logrus.FieldLogger
}

// Tokens are the stored tokens of a master, as auth.Tokens.
type Tokens interface {
	// Get returns the contents of a token. The error is one for a token that is not there or expired.
	Get(token string) (*data.Map, error)
	// Add stores a token and sets its field token.
	Add(contents *data.Map) error
	Delete(token string) error
}

// A Gate decides who may order what through one door. It is safe for concurrent use.
type Gate struct {
	Options
	sessions    *sessions
	credentials *credentials
	lives       *lives
	dispatcher  *dispatcher
	refusals    loglimit.Limiter
}

// NewGate returns a Gate.
func NewGate(o Options) *Gate {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Pace == nil {
		o.Pace = NewPace(o.Now)
	}
	g := &Gate{Options: o, refusals: loglimit.Limiter{Now: o.Now}}
	g.credentials = &credentials{gate: &g.Options, past: &past{}}
	g.sessions = newSessions(o.Now, g.credentials.past)
	g.dispatcher = &dispatcher{gate: &g.Options, credentials: g.credentials, orders: newOrders(o.Door)}
	g.lives = &lives{now: o.Now, ask: g.Valid, known: map[string]life{}}
	return g
}

// A Caller is who sends a request, and from where. A request without a login has no user.
type Caller struct {
	Token string // of the master
	User  string
	From  netip.Addr
}

// Admit returns a *Fault for an address that may not use the door (authorized_ips).
func (g *Gate) Admit(from netip.Addr) error {
	if g.Door.Addresses == nil || slices.Contains(g.Door.Addresses, from.Unmap()) {
		return nil
	}
	return fault(http.StatusForbidden, textBadAddress)
}

// LogIn makes a session for a login: eauth, username and password, and token_expire where the master
// lets the user choose it. old is the id of a session that the client has, which then ends with its token.
// The error is a *Fault. A wrong name, a wrong password and a system that does not exist have the same one.
// For a missing field it names the field. For a user who has given too many wrong passwords from that address
// its status is 429.
func (g *Gate) LogIn(ctx context.Context, login *data.Map, from netip.Addr, old string) (*Session, error) {
	token, err := g.NewToken(ctx, login, from)
	if err != nil {
		return nil, err
	}
	return g.begin(token, old), nil
}

// begin makes a session for a token, and ends the session with the id old.
func (g *Gate) begin(token Token, old string) *Session {
	g.credentials.past.note(token.Value, trace{token.User, "", token.Expire, ""})
	made := g.sessions.add(old, token)
	g.tidy()
	return made
}

// deleteEnded deletes the tokens of sessions that have ended: nobody else knows them.
func (g *Gate) deleteEnded() error {
	var last error
	for _, t := range g.sessions.taken() {
		if err := g.Tokens.Delete(t.Value); err != nil {
			last = fmt.Errorf("delete the token of a session of %s that has ended: %w", clip(t.User), err)
		}
		g.lives.forget(t.Value)
	}
	return last
}

// tidy is deleteEnded where other sessions than that of the request have ended.
func (g *Gate) tidy() {
	if err := g.deleteEnded(); err != nil {
		g.Log.Error(err)
	}
}

// Close ends all sessions with their tokens.
func (g *Gate) Close() error {
	g.sessions.endAll()
	return g.deleteEnded()
}

// MakeToken returns a token of the master for a login. As for Salt's POST /token, the client runner
// must be enabled. The error is a *Fault.
func (g *Gate) MakeToken(ctx context.Context, login *data.Map, from netip.Addr) (Token, error) {
	if err := g.Settings.enables("runner"); err != nil {
		return Token{}, err
	}
	return g.NewToken(ctx, login, from)
}

// NewToken returns a token of the master for a login, whatever clients are enabled, as a login of Salt's
// rest_tornado does. The error is a *Fault.
func (g *Gate) NewToken(ctx context.Context, login *data.Map, from netip.Addr) (Token, error) {
	fields := data.NewMap()
	for _, name := range append(loginFields(), "token_expire") {
		if v, ok := login.Get(name); ok {
			fields.Set(name, v)
		}
	}
	user := login.Text("username")
	if err := checkFields(login); err != nil {
		g.Audit.login(user, from, err)
		return Token{}, err
	}
	t, err := g.askToken(ctx, fields, user, from)
	g.Audit.login(user, from, err)
	return t, err
}

// checkFields returns a *Fault that names the field which a login lacks. Its status and the beginning of its
// text are Salt's. It counts as no wrong password.
func checkFields(login *data.Map) error {
	for _, field := range loginFields() {
		v := login.Value(field)
		_, isText := v.(string)
		switch {
		case v == nil, v == "":
			return fault(http.StatusUnauthorized, "%s: the field %s is missing", textBadLogin, field)
		case !isText && field != "password":
			return fault(http.StatusUnauthorized, "%s: the field %s must be a text", textBadLogin, field)
		}
	}
	return nil
}

// askToken asks the master for a token. Wrong logins take longer from one to the next.
func (g *Gate) askToken(ctx context.Context, login *data.Map, user string, from netip.Addr) (Token, error) {
	done, err := g.Pace.enter(ctx, login, from)
	if err != nil {
		return Token{}, err
	}
	if !g.Door.ACL.Allows(user, from) {
		done(wrongLogin)
		return Token{}, fault(http.StatusUnauthorized, textNoSession)
	}
	m, err := g.Master.LogIn(ctx, login)
	if err != nil {
		done(outcomeOf(err))
		return Token{}, err
	}
	token, ok := tokenOf(m)
	if !ok || !g.Door.ACL.Allows(token.User, from) {
		done(wrongLogin)
		return Token{}, fault(http.StatusUnauthorized, textBadLogin)
	}
	done(rightLogin)
	return token, nil
}

// Session returns the session with an id for a request from an address, and notes its use. The error is
// a *Fault: there is no such session, or its user may not come from there (api_acl).
func (g *Gate) Session(id string, from netip.Addr) (*Session, error) {
	s := g.sessions.get(id)
	g.tidy()
	switch {
	case s == nil:
		return nil, g.credentials.refuse(id, textNoSession)
	case !g.Door.ACL.Allows(s.Token.User, from):
		return nil, elsewhere(s.Token)
	}
	return s, nil
}

// LogOut ends a session and deletes its token, which Salt leaves valid.
func (g *Gate) LogOut(s *Session) error {
	g.sessions.end(s.ID, whyLoggedOut)
	return g.deleteEnded()
}

// Valid reports whether the token of a caller still counts: it is there and has not expired.
func (g *Gate) Valid(token string) bool {
	_, err := g.credentials.find(token)
	return err == nil
}

// Confirm returns a *Fault if the token of a session does not count any more.
func (g *Gate) Confirm(s *Session) error {
	if _, err := g.credentials.find(s.Token.Value); err != nil {
		return g.credentials.refuse(s.Token.Value, "Authentication error occurred.")
	}
	return nil
}

// Lives is Valid for what asks often, as streams do: an answer counts for a second, but not beyond the
// logout.
func (g *Gate) Lives(token string) bool { return g.lives.valid(token) }

// Caller returns who sends a request with a token of the master, or with the id of a session where
// such a token may stand. The error is a *Fault.
func (g *Gate) Caller(credential string, from netip.Addr) (Caller, error) {
	if s, err := g.Session(credential, from); err == nil {
		return s.Caller(from), nil
	}
	t, err := g.credentials.find(credential)
	if err != nil {
		return Caller{}, g.credentials.refuse(credential, textNoSession)
	}
	if !g.Door.ACL.Allows(t.User, from) {
		return Caller{}, elsewhere(t)
	}
	return Caller{Token: t.Value, User: t.User, From: from}, nil
}

// Until returns when the token of a caller expires; now if there is no such token.
func (g *Gate) Until(token string) time.Time {
	t, err := g.credentials.find(token)
	if err != nil {
		return g.Now()
	}
	return t.Expire
}

// Order carries out one chunk of lowdata. The chunk of a caller with a token gets that token; other
// chunks have their own credentials. The order of the checks is Salt's (salt/netapi/__init__.py,
// run; rest_cherrypy/app.py, exec_lowstate). The error is a *Fault.
func (g *Gate) Order(ctx context.Context, c Caller, low *data.Map) (*Answer, error) {
	return g.order(ctx, c, low, g.Master.Order)
}

// OrderEncoded is Order for callers who only write the answer: what minions have returned may be data.Raw in
// it, as data of the event bus.
func (g *Gate) OrderEncoded(ctx context.Context, c Caller, low *data.Map) (*Answer, error) {
	if m, ok := g.Master.(encodedMaster); ok {
		return g.order(ctx, c, low, m.OrderEncoded)
	}
	return g.Order(ctx, c, low)
}

func (g *Gate) order(ctx context.Context, c Caller, low *data.Map, do carrier) (*Answer, error) {
	low = low.Clone()
	if c.Token != "" {
		low.Set("token", c.Token)
	}
	who, answer, err := g.dispatcher.carryOut(ctx, c, low, do)
	g.Audit.order(who, c.From, low, answer, err)
	return answer, err
}
