package smtp

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A server is a mail server for one mail.
type server struct {
	offers  string // words of its answer to EHLO, with commas between them
	refuses string // prefix of the commands that it refuses
	certs   *tls.Config
	at      string
	said    chan string // what the client said in the end
}

// serve starts a server. With encrypted, TLS begins at once.
func (s *server) serve(t *testing.T, encrypted bool) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s.at, s.said = l.Addr().String(), make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if encrypted {
			conn = tls.Server(conn, s.certs)
		}
		s.said <- s.talk(conn)
	}()
}

// talk answers a client until it hangs up.
func (s *server) talk(conn net.Conn) string {
	var said strings.Builder
	in, answer, inData := bufio.NewReader(conn), "220 here\r\n", false
	for {
		if _, err := io.WriteString(conn, answer); err != nil {
			return said.String()
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return said.String()
		}
		said.WriteString(line)
		verb, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(line)), " ")
		switch {
		case inData:
			answer = ""
			if line == ".\r\n" {
				inData, answer = false, "250 taken\r\n"
				if s.refuses == "." {
					answer = "554 no\r\n"
				}
			}
		case s.refuses != "" && strings.HasPrefix(line, s.refuses):
			answer = "550 no\r\n"
		case verb == "EHLO":
			answer = "250-here\r\n"
			for word := range strings.SplitSeq(s.offers, ",") {
				answer += "250-" + word + "\r\n"
			}
			answer += "250 HELP\r\n"
		case verb == "STARTTLS":
			if _, err := io.WriteString(conn, "220 go on\r\n"); err != nil {
				return said.String()
			}
			conn = tls.Server(conn, s.certs)
			in, answer, s.offers = bufio.NewReader(conn), "", "AUTH LOGIN"
		case verb == "AUTH" && strings.Contains(line, "LOGIN"):
			answer = "334 " + base64.StdEncoding.EncodeToString([]byte("Username:")) + "\r\n"
		case strings.TrimSpace(line) == base64.StdEncoding.EncodeToString([]byte("user")):
			answer = "334 " + base64.StdEncoding.EncodeToString([]byte("Password:")) + "\r\n"
		case verb == "AUTH" || strings.TrimSpace(line) == base64.StdEncoding.EncodeToString([]byte("secret")):
			answer = "235 welcome\r\n"
		case verb == "DATA":
			inData, answer = true, "354 go on\r\n"
		case verb == "QUIT":
			answer = "221 bye\r\n"
		default:
			answer = "250 fine\r\n"
		}
	}
}

// shelf returns the module with options, and the configuration of TLS for servers that it trusts.
func shelf(t *testing.T, options *data.Map) (*loader.Registry, *tls.Config) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	t.Cleanup(web.Close)
	roots := &tls.Config{MinVersion: tls.VersionTLS12}
	roots.RootCAs = x509.NewCertPool()
	roots.RootCAs.AddCert(web.Certificate())
	type optionArgs struct{ Name string }
	config := loader.Plugin{Name: "config", New: func(*loader.Env) (*loader.Module, error) {
		option := func(_ context.Context, a optionArgs) (any, error) {
			if v, ok := options.Get(a.Name); ok {
				return v, nil
			}
			return "", nil
		}
		return &loader.Module{Funcs: []loader.Func{loader.F("option", option)}}, nil
	}}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{plugin(roots), config})
	if err != nil {
		t.Fatal(err)
	}
	return r, web.TLS
}

// send calls smtp.send_msg. got is the result or the error.
func send(t *testing.T, r *loader.Registry, kwargs ...any) string {
	t.Helper()
	all := data.NewMap("recipient", "a@example.com, b@example.com", "message", "grüße\n.\nend",
		"sender", "me@example.com")
	all.Update(data.NewMap(kwargs...))
	v, err := r.Invoke(t.Context(), "smtp.send_msg", nil, all)
	if err != nil {
		return err.Error()
	}
	return data.Repr(v)
}

// letterIn returns the mail that a client sent.
func letterIn(t *testing.T, said string) *mail.Message {
	t.Helper()
	_, text, _ := strings.Cut(said, "DATA\r\n")
	text, _, ok := strings.Cut(text, "\r\n.\r\n")
	m, err := mail.ReadMessage(strings.NewReader(text + "\r\n"))
	if err != nil || !ok {
		t.Fatalf("no mail in %q: %v", said, err)
	}
	return m
}

func decoded(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, r))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A plain mail has its header and its text, and goes to all recipients.
func TestPlain(t *testing.T) {
	r, _ := shelf(t, nil)
	s := &server{offers: "8BITMIME"}
	s.serve(t, false)
	if got := send(t, r, "server", s.at, "use_ssl", false, "subject", "größe"); got != "True" {
		t.Fatal(got)
	}
	said := <-s.said
	for _, want := range []string{"MAIL FROM:<me@example.com>",
		"RCPT TO:<a@example.com>\r\nRCPT TO:<b@example.com>\r\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("the server was not told %q but\n%s", want, said)
		}
	}
	m := letterIn(t, said)
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || subject != "größe" || m.Header.Get("From") != "me@example.com" ||
		m.Header.Get("To") != "a@example.com, b@example.com" {
		t.Errorf("the header is %v, %v", m.Header, err)
	}
	if text := decoded(t, m.Body); text != "grüße\n.\nend" {
		t.Errorf("the text is %q", text)
	}
}

// A profile has the server and the account. The password is sent after STARTTLS.
func TestProfile(t *testing.T) {
	options := data.NewMap("text", "x")
	r, certs := shelf(t, options)
	s := &server{offers: "STARTTLS", certs: certs}
	s.serve(t, false)
	options.Set("p", data.NewMap("smtp.server", s.at, "smtp.tls", true, "smtp.sender", "p@example.com",
		"smtp.username", "user", "smtp.password", "secret"))
	if got := send(t, r, "profile", "p"); got != "True" {
		t.Fatal(got)
	}
	said := <-s.said
	_, after, _ := strings.Cut(said, "STARTTLS")
	if !strings.Contains(after, "AUTH LOGIN") || !strings.Contains(after, "MAIL FROM:<p@example.com>") {
		t.Errorf("the client said %q", said)
	}
	for _, profile := range []string{"none", "text"} {
		want := "the option " + profile + " is no profile of smtp"
		if got := send(t, r, "profile", profile); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Attachments are parts of the mail, here over a connection that is encrypted from its start.
func TestAttachments(t *testing.T) {
	r, certs := shelf(t, nil)
	s := &server{certs: certs}
	s.serve(t, true)
	file := filepath.Join(t.TempDir(), "log 1")
	content := strings.Repeat("a long line of a log\n", 50)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := send(t, r, "server", s.at, "attachments", []any{file}); got != "True" {
		t.Fatal(got)
	}
	m := letterIn(t, <-s.said)
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for _, want := range []struct{ name, text string }{{"", "grüße\n.\nend"}, {"log 1", content}} {
		part, err := parts.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		if text := decoded(t, part); part.FileName() != want.name || text != want.text {
			t.Errorf("the part %q is %q", part.FileName(), text)
		}
	}
	got := send(t, r, "server", s.at, "attachments", file+"none")
	if !strings.HasPrefix(got, "attach a file: ") {
		t.Errorf("a missing file gives %s", got)
	}
}

// What a server refuses gives False, as in Salt 3006.18. A recipient that it refuses is no failure
// if it takes another.
func TestRefused(t *testing.T) {
	r, _ := shelf(t, nil)
	for refused, want := range map[string]string{"MAIL": "False", "RCPT": "False", "RCPT TO:<a@": "True",
		"DATA": "False", ".": "False", "AUTH": "False"} {
		s := &server{offers: "AUTH PLAIN", refuses: refused}
		s.serve(t, false)
		got := send(t, r, "server", s.at, "use_ssl", "False", "username", "user", "password", "secret")
		if got != want {
			t.Errorf("a server that refuses %s gives %s, want %s", refused, got, want)
		}
	}
}

// Nothing is sent to a server whose certificate is not trusted, nor a password to one that offers no
// way to sign in, nor a mail whose header has further lines.
func TestErrors(t *testing.T) {
	r, _ := shelf(t, nil)
	_, other := shelf(t, nil)
	other = other.Clone()
	other.Certificates = nil
	s := &server{certs: other}
	s.serve(t, true)
	if got := send(t, r, "server", s.at); !strings.HasPrefix(got, "send a mail by "+s.at+": ") {
		t.Errorf("a server without a certificate gives %s", got)
	}
	s = &server{}
	s.serve(t, false)
	got := send(t, r, "server", s.at, "use_ssl", nil, "username", "user", "password", "secret")
	if got != "send a mail by "+s.at+": the server offers no way to sign in" {
		t.Errorf("a server without accounts gives %s", got)
	}
	if said := <-s.said; strings.Contains(said, "MAIL") {
		t.Errorf("the client said %q", said)
	}
	if got := send(t, r); got != "send a mail by None: there is no server" {
		t.Errorf("without a server it gives %s", got)
	}
	for _, name := range []string{"recipient", "subject", "sender"} {
		got := send(t, r, "server", "127.0.0.1:1", name, "a\nBcc: b")
		if !strings.HasSuffix(got, "has more than one line") {
			t.Errorf("%s of two lines gives %s", name, got)
		}
	}
}
