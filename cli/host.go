package cli

import (
	"context"
	"errors"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/transport"
)

// A HostProgram is the common part of programs on a master's host: they use its bus and its request
// port, ask for a login and switch to its user.
type HostProgram struct {
	In   Invocation
	Opts *data.Map // the master's options with the command line applied
	Out  *Printer
}

// Sockets returns the sockets of the master's bus.
func (h HostProgram) Sockets() eventbus.Sockets { return masterSockets(h.Opts) }

// Requester opens the request port of the master. The caller closes it.
func (h HostProgram) Requester() (transport.Requester, error) {
	wire, err := HostWire(h.Opts)
	if err != nil {
		return nil, err
	}
	return wire.Request((&saltRun{opts: h.Opts}).dialMaster()), nil
}

// User returns the user who submits an order: the running user or, under sudo, the one who called
// it.
func (h HostProgram) User() string {
	name := userName()
	if sudo := h.In.Env("SUDO_USER"); name == "root" && sudo != "" {
		return "sudo_" + sudo
	}
	return name
}

// Key returns the fields that authenticate the running user to the master by their key file, as the
// program salt does. The error wraps client.ErrKey.
func (h HostProgram) Key() (*data.Map, error) {
	o := client.Options{CacheDir: h.Opts.Text("cachedir"), User: h.Opts.Text("user"),
		Caller: userName(), Sudo: h.In.Env("SUDO_USER")}
	key, user, err := o.Key()
	if err != nil {
		return nil, err
	}
	return data.NewMap("key", key, "user", user), nil
}

// ReportDeniedBus prints a message if err means that the user may not open the socket of the
// master's bus. It ignores other errors.
func (h HostProgram) ReportDeniedBus(err error) {
	(&saltRun{opts: h.Opts, out: h.Out}).reportDeniedBus(err)
}

// LogIn returns the fields that authenticate a user of external_auth to the master by the system
// eauth: those of the token file, or of a login that it asks for. If mkToken is true it stores a
// token of that login.
func (h HostProgram) LogIn(ctx context.Context, eauth string, mkToken bool) (*data.Map, error) {
	s := &saltRun{o: &SaltOptions{AuthOptions: AuthOptions{EAuth: eauth, MakeToken: mkToken}},
		opts: h.Opts, in: h.In, out: h.Out}
	if token := h.Opts.Text("token"); token != "" && !mkToken {
		s.warnUnusedLogin()
		return data.NewMap("token", token), nil
	}
	if !s.hasSystem() {
		return nil, s.noSystem()
	}
	login, err := s.prompt()
	if err != nil || !mkToken {
		return login, err
	}
	out, err := h.Requester()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if s.local, err = client.Open(ctx, s.clientOptions(out)); err != nil {
		return nil, err
	}
	defer s.local.Close()
	return s.makeToken(ctx, login)
}

// Become switches the process to the user of the options, so that files it writes belong to the
// master's user. The error is an *Exit.
func (h HostProgram) Become(log logrus.FieldLogger) error {
	name := h.Opts.Text("user")
	who, err := daemon.LookUp(name)
	if err != nil {
		return noUser(name)
	}
	if err := who.Become(); err != nil {
		log.Errorf("Salt configured to run as user \"%s\" but unable to switch.", name)
		return &Exit{Code: exitOK}
	}
	return nil
}

// IsExit returns the *Exit in err, or nil.
func IsExit(err error) *Exit {
	var exit *Exit
	if errors.As(err, &exit) {
		return exit
	}
	return nil
}
