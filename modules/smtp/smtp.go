// Package smtp is Salt's module smtp: it sends mails (salt/modules/smtp.py).
//
// smtp.go talks to the server, and letter.go writes the mail.
//
// A profile is an option of the minion, or a value of its pillar:
//
//	my-smtp-login:
//	  smtp.server: smtp.example.com
//	  smtp.tls: True
//	  smtp.sender: admin@example.com
//	  smtp.username: myuser
//	  smtp.password: secret
//
// Differences from Salt: the server's certificate is verified; a password is only sent with TLS or
// to this host; and a mail has a date.
package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// limit is the timeout of a mail.
const limit = 2 * time.Minute

// Plugin returns the module smtp.
func Plugin() loader.Plugin { return plugin(&tls.Config{MinVersion: tls.VersionTLS12}) }

// plugin returns the module with a configuration of TLS, which gets the name of the server.
func plugin(security *tls.Config) loader.Plugin {
	return loader.Plugin{Name: "smtp", New: func(env *loader.Env) (*loader.Module, error) {
		m := &module{env, security}
		return &loader.Module{Funcs: []loader.Func{loader.F("send_msg", m.sendMsg).Secret("password")}}, nil
	}}
}

type module struct {
	env      *loader.Env
	security *tls.Config
}

type sendArgs struct {
	Recipient   string
	Message     string
	Subject     string `default:"'Message from Salt'"`
	Sender      any    `default:"None"`
	Server      any    `default:"None"`
	UseSSL      any    `name:"use_ssl" default:"'True'"`
	Username    any    `default:"None"`
	Password    any    `default:"None"`
	Profile     any    `default:"None"`
	Attachments any    `default:"None"`
}

// sendMsg sends a mail, and returns whether the server took it.
//
// recipient
//
//	The address, or several with commas between them.
//
// message, subject
//
//	The text and the subject.
//
// sender, server, username, password
//
//	The address of the sender, the server with or without a port, and the account there.
//
// use_ssl : True
//
//	With the texts True and true the connection is encrypted from its start. With other values it
//	is if the server offers STARTTLS.
//
// profile
//
//	The name of an option with smtp.server, smtp.tls (in place of use_ssl), smtp.sender,
//	smtp.username and smtp.password.
//
// attachments
//
//	A list of files to attach.
//
// CLI Example:
//
//	salt '*' smtp.send_msg 'admin@example.com' 'This is a test' profile='my-smtp-account'
//	salt '*' smtp.send_msg 'admin@example.com' 'This is a test' profile=p attachments="['/var/log/messages']"
func (m *module) sendMsg(ctx context.Context, a sendArgs) (any, error) {
	if data.Truth(a.Profile) {
		profile, err := calls.Option[any](ctx, m.env, data.Str(a.Profile))
		if err != nil {
			return nil, err
		}
		of, ok := profile.(*data.Map)
		if !ok {
			return nil, loader.Execution("the option %s is no profile of smtp", data.Str(a.Profile))
		}
		a.Server, a.UseSSL, a.Sender = of.Value("smtp.server"), of.Value("smtp.tls"), of.Value("smtp.sender")
		a.Username, a.Password = of.Value("smtp.username"), of.Value("smtp.password")
	}
	l, err := newLetter(a, time.Now())
	if err != nil {
		return nil, err
	}
	switch sent, err := m.send(ctx, a, l); {
	case sent:
		return true, nil
	case refused(err):
		m.env.Log.Debugf("send a mail by %s: %v", data.Str(a.Server), err)
		return false, nil
	default:
		return nil, loader.Execution("send a mail by %s: %w", data.Str(a.Server), err)
	}
}

// refused reports whether a server refused a mail, or does not exist.
func refused(err error) bool {
	if _, ok := errors.AsType[*textproto.Error](err); ok {
		return true
	}
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

// send delivers a letter to its server.
func (m *module) send(ctx context.Context, a sendArgs, l *letter) (bool, error) {
	host, port, encrypted := calls.Text(a.Server), "25", a.UseSSL == "True" || a.UseSSL == "true"
	if host == "" {
		return false, errors.New("there is no server")
	}
	if encrypted {
		port = "465"
	}
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	security := m.security.Clone()
	security.ServerName = host
	var d net.Dialer
	raw, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return false, err
	}
	defer raw.Close()
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	conn := raw
	if encrypted {
		conn = tls.Client(raw, security)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return false, err
	}
	if offered, _ := c.Extension("STARTTLS"); offered && !encrypted {
		if err := c.StartTLS(security); err != nil {
			return false, err
		}
	}
	if data.Truth(a.Username) && data.Truth(a.Password) {
		if err := login(c, host, data.Str(a.Username), data.Str(a.Password)); err != nil {
			return false, err
		}
	}
	if err := l.deliver(c); err != nil {
		return false, err
	}
	// The server has the mail, whatever it says at the end.
	_ = c.Quit()
	return true, nil
}

// login signs in to a server in the best way that it offers.
func login(c *smtp.Client, host, user, password string) error {
	_, ways := c.Extension("AUTH")
	for _, way := range []struct {
		name string
		auth smtp.Auth
	}{
		{"CRAM-MD5", smtp.CRAMMD5Auth(user, password)},
		{"PLAIN", smtp.PlainAuth("", user, password, host)},
		{"LOGIN", &loginAuth{smtp.PlainAuth("", user, password, host), user, password}},
	} {
		for offered := range strings.FieldsSeq(ways) {
			if strings.EqualFold(offered, way.name) {
				return c.Auth(way.auth)
			}
		}
	}
	return errors.New("the server offers no way to sign in")
}

// loginAuth is the way LOGIN, which asks for the name and then for the password.
type loginAuth struct {
	plain          smtp.Auth // says whether a password may be sent
	user, password string
}

// Start begins to sign in, if a password may be sent.
func (l *loginAuth) Start(server *smtp.ServerInfo) (string, []byte, error) {
	_, _, err := l.plain.Start(server)
	return "LOGIN", nil, err
}

// Next answers a question of the server.
func (l *loginAuth) Next(question []byte, more bool) ([]byte, error) {
	switch asked := strings.ToLower(string(question)); {
	case !more:
		return nil, nil
	case strings.HasPrefix(asked, "user"):
		return []byte(l.user), nil
	case strings.HasPrefix(asked, "pass"):
		return []byte(l.password), nil
	default:
		return nil, errors.New("the server asks an unknown question")
	}
}
