package smtp

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// A postbox is a mail server that records its input.
type postbox struct {
	net.Listener
	said chan string // one whole conversation each
}

func open(t *testing.T) (*postbox, *data.Map) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &postbox{l, make(chan string, 10)}
	t.Cleanup(func() { l.Close() })
	go p.serve()
	opts := data.NewMap("smtp.from", "me@example.net", "smtp.to",
		"you@example.com, Ünsal <other@example.com>", "smtp.host", "127.0.0.1",
		"smtp.port", int64(l.Addr().(*net.TCPAddr).Port))
	return p, opts
}

func (p *postbox) serve() {
	for {
		conn, err := p.Accept()
		if err != nil {
			return
		}
		p.talk(conn)
	}
}

// talk answers like a mail server.
func (p *postbox) talk(conn net.Conn) {
	defer conn.Close()
	var said strings.Builder
	in := bufio.NewReader(conn)
	inData := false
	answer := "220 here\r\n"
	for {
		if _, err := conn.Write([]byte(answer)); err != nil {
			return
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		said.WriteString(line)
		answer = ""
		switch verb, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(line)), " "); {
		case inData && line == ".\r\n":
			inData, answer = false, "250 taken\r\n"
		case inData:
		case verb == "EHLO":
			answer = "250-here\r\n250-8BITMIME\r\n250 AUTH PLAIN\r\n"
		case verb == "AUTH":
			answer = "235 welcome\r\n"
		case verb == "DATA":
			inData, answer = true, "354 go on\r\n"
		case verb == "QUIT":
			_, _ = conn.Write([]byte("221 bye\r\n"))
			p.said <- said.String()
			return
		default:
			answer = "250 fine\r\n"
		}
	}
}

func sample() *data.Map {
	return data.NewMap("id", "web1", "fun", "test.ping", "fun_args", []any{"x"}, "jid",
		"20260301120000000000", "return", "a\r\nBcc: evil@example.com\r\n.\r\nRCPT", "success", true)
}

func TestMail(t *testing.T) {
	p, opts := open(t)
	opts.Set("smtp.username", "user")
	opts.Set("smtp.password", "secret")
	opts.Set("smtp.fields", "id,return")
	opts.Set("smtp.subject", "größe of {{ fun }}")
	m := &mailer{from: returners.MapSource(opts)}
	if err := m.Return(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	said := <-p.said
	for _, want := range []string{
		"MAIL FROM:<me@example.net>", "RCPT TO:<you@example.com>\r\nRCPT TO:<other@example.com>\r\nDATA", "AUTH PLAIN",
		"From: <me@example.net>\r\nTo: <you@example.com>, =?utf-8?q?=C3=9Cnsal?= <other@example.com>\r\n",
		"Subject: =?utf-8?q?gr=C3=B6=C3=9Fe_of_test.ping_web1_a_Bcc:_evil@example.com_._RCP?= =?utf-8?q?T?=\r\n",
		"\r\n\r\nid: web1\r\nfunction: test.ping\r\nfunction args: ['x']\r\njid: 20260301120000000000\r\nreturn: a\r\nBcc: evil@example.com\r\n..\r\nRCPT\r\n.\r\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the server was not told %q but\n%s", want, said)
		}
	}
	head, _, _ := strings.Cut(said, "\r\n\r\n")
	if strings.Contains(head, "\nBcc") || strings.Count(said, "RCPT TO") != 2 {
		t.Errorf("a return changed the mail:\n%s", said)
	}
}

func TestEventsByTemplate(t *testing.T) {
	p, opts := open(t)
	file := filepath.Join(t.TempDir(), "mail.j2")
	if err := os.WriteFile(file, []byte("act: {{act}}\nid: {{ id }}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts.Set("smtp.template", file)
	opts.Set("smtp.subject", "Salt Master {{act}}ed key from Minion ID: {{id}}")
	e := OpenEvents(opts)
	events := []returners.Event{{Tag: "salt/key", Data: data.NewMap("act", "accept", "id", "web1",
		"result", true)}, {Tag: "empty", Data: data.NewMap()}}
	if err := e.ReturnEvents(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	said := <-p.said
	if !strings.Contains(said, "Subject: Salt Master accepted key from Minion ID: web1\r\n") ||
		!strings.Contains(said, "\r\n\r\nact: accept\r\nid: web1\r\n.") {
		t.Errorf("the server was told\n%s", said)
	}
	events[0].Data.Delete("act")
	if err := e.ReturnEvents(t.Context(), events); !errors.Is(err, returners.ErrRefused) ||
		!strings.Contains(err.Error(), "'act' is undefined") {
		t.Errorf("a field that is missing: %v", err)
	}
}

func TestRefusedMails(t *testing.T) {
	_, opts := open(t)
	for option, c := range map[string]struct {
		value any
		want  string
	}{
		"smtp.host":     {"", "smtp.host is not set"},
		"smtp.from":     {"", "smtp.from"},
		"smtp.to":       {"a@b\r\nRCPT TO:<c@d>", "smtp.to"},
		"smtp.gpgowner": {"root", "smtp.gpgowner"},
		"smtp.subject":  {"{% for x in y %}", "only {{name}} is supported of Jinja"},
		"smtp.template": {"/nonexistent/template", "smtp.template"},
	} {
		mine := opts.Clone()
		mine.Set(option, c.value)
		if err := (&mailer{from: returners.MapSource(mine)}).Return(t.Context(),
			sample()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %s: %v, want %s", option, err, c.want)
		}
	}
}

// TestSilentServer ends with its context, and the error names the server.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	opts := data.NewMap("smtp.from", "a@example.net", "smtp.to", "b@example.net", "smtp.host",
		"127.0.0.1", "smtp.port", int64(port))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = (&mailer{from: returners.MapSource(opts)}).Return(ctx, sample())
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:"+strconv.Itoa(port)) {
		t.Errorf("Return = %v", err)
	}
}

// TestCallersCannotRedirectThePassword submits a job with the address of another server:
// the mail goes through the configured one, and if mails must be encrypted none is sent.
func TestCallersCannotRedirectThePassword(t *testing.T) {
	p, opts := open(t)
	opts.Set("smtp.username", "user")
	opts.Set("smtp.password", "secret")
	host, port := returnertest.Stranger(t)
	ret := sample()
	ret.Set("ret_kwargs", data.NewMap("host", host, "port", int64(port), "username", "evil",
		"tls", true, "gpgowner", ""))
	if err := (&mailer{from: returners.MapSource(opts)}).Return(t.Context(), ret); err != nil {
		t.Fatal(err)
	}
	if said := <-p.said; !strings.Contains(said, "AUTH PLAIN AHVzZXIAc2VjcmV0\r\n") {
		t.Errorf("the configured server was told\n%s", said)
	}
	opts.Set("smtp.gpgowner", "root")
	if err := (&mailer{from: returners.MapSource(opts)}).Return(t.Context(), ret); err == nil {
		t.Error("a mail that was to be encrypted was sent in the clear")
	}
}
