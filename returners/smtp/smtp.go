// Package smtp is Salt's returner of that name (salt/returners/smtp_return.py): returns or events
// by mail.
//
// Options are below smtp.: from, to (several separated by commas) and host are required; port (25),
// username and password, tls (STARTTLS), subject ("Email from Salt"), fields (comma-separated, of
// the return, shown in the subject) and template, a file.
//
// Differences from Salt: a password is only sent with TLS or to this host, and the server's
// certificate is verified. In subjects and templates {{name}} is replaced by a field of the return
// or event; no other Jinja is supported, and a template with more is an error. With gpgowner
// nothing is sent, because encrypted mail is not supported. The submitter of a job cannot choose
// the template.
package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/mail"
	"net/smtp"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
)

// Name is the returner's name.
const Name = "smtp"

// limit is the timeout of a mail.
const limit = 30 * time.Second

// maxSubject is the limit of a subject, in bytes.
const maxSubject = 500

const doc = `
    Send an email with the data

    CLI Example:

        salt '*' test.ping --return smtp
    `

const template = "id: {{id}}\r\nfunction: {{fun}}\r\nfunction args: {{fun_args}}\r\njid: {{jid}}\r\nreturn: {{return}}\r\n"

func known() []returners.Setting {
	return []returners.Setting{
		{Name: "from"}, {Name: "to"}, {Name: "host", Fixed: true},
		{Name: "port", Default: int64(25), Fixed: true},
		{Name: "username", Fixed: true}, {Name: "password"}, {Name: "tls", Fixed: true},
		{Name: "subject", Default: "Email from Salt"}, {Name: "fields"},
		{Name: "gpgowner", Fixed: true}, {Name: "template", Fixed: true},
	}
}

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &mailer{from: returners.EnvSource(env)}), nil
	}}
}

// OpenEvents returns an EventReturner that mails the events of a master with these options.
func OpenEvents(opts *data.Map) returners.EventReturner {
	return &mailer{from: returners.MapSource(opts)}
}

type mailer struct {
	from  returners.Source
	roots *tls.Config // for tests; nil verifies certificates with the system's roots
}

// ReturnEvents sends a mail for each event that has data.
func (m *mailer) ReturnEvents(ctx context.Context, events []returners.Event) error {
	for _, e := range events {
		if e.Data.Len() == 0 {
			continue
		}
		if err := m.Return(ctx, e.Data); err != nil {
			return fmt.Errorf("event %q: %w", e.Tag, err)
		}
	}
	return nil
}

// Close does nothing.
func (m *mailer) Close() error { return nil }

// Return sends a mail.
func (m *mailer) Return(ctx context.Context, ret *data.Map) error {
	s := m.from.Read(ret, known(), Name)
	l, err := letterOf(s, returners.Passed(ret), time.Now())
	if err != nil {
		return err
	}
	port, err := s.Int("port")
	if err != nil {
		return fmt.Errorf("smtp.%w", err)
	}
	at := net.JoinHostPort(s.Text("host"), strconv.Itoa(port))
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := m.send(ctx, s, at, l); err != nil {
		return fmt.Errorf("mail by %s: %w", at, err)
	}
	return nil
}

func (m *mailer) send(ctx context.Context, s *returners.Settings, at string, l *letter) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return err
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return err
		}
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	c, err := smtp.NewClient(conn, s.Text("host"))
	if err != nil {
		return err
	}
	if s.Value("tls") == true {
		if err := c.StartTLS(m.security(s.Text("host"))); err != nil {
			return err
		}
	}
	if err := login(c, s); err != nil {
		return err
	}
	return l.deliver(c)
}

func (m *mailer) security(host string) *tls.Config {
	if m.roots != nil {
		return m.roots
	}
	return &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
}

func login(c *smtp.Client, s *returners.Settings) error {
	user, pass := s.Text("username"), s.Text("password")
	if user == "" || pass == "" {
		return nil
	}
	if _, ways := c.Extension("AUTH"); strings.Contains(ways, "CRAM-MD5") {
		return c.Auth(smtp.CRAMMD5Auth(user, pass))
	}
	return c.Auth(smtp.PlainAuth("", user, pass, s.Text("host")))
}

// A letter is a mail to send.
type letter struct {
	from string
	to   []string
	text []byte
}

func (l *letter) deliver(c *smtp.Client) error {
	if err := c.Mail(l.from); err != nil {
		return err
	}
	for _, to := range l.to {
		if err := c.Rcpt(to); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(l.text); err != nil {
		return err
	}
	return errors.Join(w.Close(), c.Quit())
}

func letterOf(s *returners.Settings, ret *data.Map, now time.Time) (*letter, error) {
	if s.Text("host") == "" {
		return nil, errors.New("smtp.host is not set")
	}
	if s.Text("gpgowner") != "" {
		return nil, fmt.Errorf("smtp.gpgowner: %w: mail cannot be encrypted by this program, and is not sent in clear",
			returners.ErrRefused)
	}
	from, err := mail.ParseAddress(s.Text("from"))
	if err != nil {
		return nil, fmt.Errorf("smtp.from: %w", err)
	}
	to, err := mail.ParseAddressList(s.Text("to"))
	if err != nil {
		return nil, fmt.Errorf("smtp.to: %w", err)
	}
	subject, err := subjectOf(s, ret)
	if err != nil {
		return nil, err
	}
	body, err := bodyOf(s, ret)
	if err != nil {
		return nil, err
	}
	l := &letter{from: from.Address}
	var names []string
	for _, a := range to {
		l.to, names = append(l.to, a.Address), append(names, a.String())
	}
	l.text = fmt.Appendf(nil, "From: %s\r\nTo: %s\r\nDate: %s\r\nSubject: %s\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Transfer-Encoding: 8bit\r\n\r\n%s", from, strings.Join(names, ", "),
		now.Format(time.RFC1123Z), mime.QEncoding.Encode("utf-8", subject), body)
	return l, nil
}

// subjectOf returns the subject in one line, so that returns cannot add headers.
func subjectOf(s *returners.Settings, ret *data.Map) (string, error) {
	subject, err := expand("smtp.subject", s.Text("subject"), ret)
	if err != nil {
		return "", err
	}
	for field := range strings.SplitSeq(s.Text("fields"), ",") {
		if v, ok := ret.Get(field); ok {
			subject += " " + data.Str(v)
		}
	}
	subject = strings.Join(strings.Fields(subject), " ")
	return strings.ToValidUTF8(subject[:min(len(subject), maxSubject)], ""), nil
}

func bodyOf(s *returners.Settings, ret *data.Map) (string, error) {
	file := s.Text("template")
	if file == "" {
		return defaultBody(ret), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("smtp.template: %w", err)
	}
	return expand("smtp.template", string(text), ret)
}

// defaultBody fills in Salt's own template; fields missing in the return stay empty.
func defaultBody(ret *data.Map) string {
	return name.ReplaceAllStringFunc(template, func(word string) string {
		v, ok := ret.Get(name.FindStringSubmatch(word)[1])
		if !ok {
			return ""
		}
		return data.Str(v)
	})
}

var (
	name  = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
	jinja = regexp.MustCompile(`\{[{%#]`)
)

// expand replaces the fields that a template names.
func expand(option, text string, ret *data.Map) (string, error) {
	if at := jinja.FindString(name.ReplaceAllString(text, "")); at != "" {
		return "", fmt.Errorf("%s: %w: only {{name}} is supported of Jinja; unsupported text after %q", option, returners.ErrRefused, at)
	}
	var unknown error
	text = name.ReplaceAllStringFunc(text, func(word string) string {
		field := name.FindStringSubmatch(word)[1]
		v, ok := ret.Get(field)
		if !ok {
			unknown = fmt.Errorf("%s: %w: '%s' is undefined", option, returners.ErrRefused, field)
		}
		return data.Str(v)
	})
	return text, unknown
}
