package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/brineproject/brine/fileclient"
)

// ftpFetcher fetches files by FTP in passive mode (RFC 959, RFC 2428).
type ftpFetcher struct{ settings }

var _ fileclient.Fetcher = (*ftpFetcher)(nil)

// Schemes returns ftp.
func (f *ftpFetcher) Schemes() []string { return []string{"ftp"} }

// Fetch writes the file to w.
func (f *ftpFetcher) Fetch(
	ctx context.Context, get fileclient.Fetch, w io.Writer,
) (fileclient.Fetched, error) {
	if err := f.fetch(ctx, get.URL, w); err != nil {
		text := fmt.Sprintf("Could not retrieve %s from FTP server. Exception: %s",
			fileclient.Redact(get.URL), Reason(err))
		return fileclient.Fetched{}, &fileclient.FetchError{Text: text, Err: err}
	}
	return fileclient.Fetched{}, nil
}

func (f *ftpFetcher) fetch(ctx context.Context, address string, w io.Writer) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("invalid URL")
	}
	port := u.Port()
	if port == "" {
		port = "21"
	}
	c := &session{ftpFetcher: f, host: u.Hostname()}
	if err := c.open(ctx, port); err != nil {
		return err
	}
	defer c.close()
	if err := c.login(u.User); err != nil {
		return err
	}
	return c.retrieve(ctx, strings.TrimLeft(u.Path, "/"), w)
}

// A session is one session with a server.
type session struct {
	*ftpFetcher
	host string
	text *textproto.Conn
	stop func() bool
}

// dial connects to a port; the connection ends with ctx.
func (c *session) dial(ctx context.Context, port string) (net.Conn, func() bool, error) {
	conn, err := (&net.Dialer{Timeout: c.connect}).DialContext(ctx,
		"tcp", net.JoinHostPort(c.host, port))
	if err != nil {
		return nil, nil, err
	}
	return conn, context.AfterFunc(ctx, func() { conn.Close() }), nil
}

func (c *session) open(ctx context.Context, port string) error {
	conn, stop, err := c.dial(ctx, port)
	if err != nil {
		return err
	}
	c.text, c.stop = textproto.NewConn(conn), stop
	if _, _, err := c.text.ReadResponse(220); err != nil {
		c.close()
		return err
	}
	return nil
}

func (c *session) close() {
	_, _ = c.text.Cmd("QUIT")
	c.stop()
	_ = c.text.Close()
}

// ask sends a command and returns the reply, whose code must begin with the digits of code.
func (c *session) ask(code int, format string, args ...any) (int, string, error) {
	line := fmt.Sprintf(format, args...)
	if !printable(line) {
		return 0, "", errors.New("a control character in the URL")
	}
	if _, err := c.text.Cmd("%s", line); err != nil {
		return 0, "", err
	}
	return c.text.ReadResponse(code)
}

// login signs in as the user of the URL, or as anonymous.
func (c *session) login(who *url.Userinfo) error {
	user, password := "anonymous", "anonymous@"
	if who.Username() != "" {
		user = who.Username()
		password, _ = who.Password()
	}
	code, message, err := c.ask(0, "USER %s", user)
	if err == nil && code == 331 {
		_, _, err = c.ask(2, "PASS %s", password)
	} else if err == nil && code/100 != 2 {
		err = &textproto.Error{Code: code, Msg: message}
	}
	if err == nil {
		_, _, err = c.ask(2, "TYPE I")
	}
	return err
}

// retrieve writes a file to w.
func (c *session) retrieve(ctx context.Context, path string, w io.Writer) error {
	port, err := c.passive()
	if err != nil {
		return err
	}
	conn, stop, err := c.dial(ctx, port)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer stop()
	if _, _, err := c.ask(1, "RETR %s", path); err != nil {
		return err
	}
	if err := limited(w, conn, c.most); err != nil {
		return err
	}
	_ = conn.Close()
	_, _, err = c.text.ReadResponse(2)
	return err
}

// passive returns the port for the data connection. The host that the server names is ignored.
func (c *session) passive() (port string, err error) {
	_, message, err := c.ask(229, "EPSV")
	if err == nil {
		if parts := strings.Split(message, "|"); len(parts) == 5 {
			_, err = strconv.ParseUint(parts[3], 10, 16)
			return parts[3], err
		}
	}
	if _, message, err = c.ask(227, "PASV"); err != nil {
		return "", err
	}
	numbers := strings.FieldsFunc(message, func(r rune) bool { return r < '0' || r > '9' })
	if len(numbers) < 6 {
		return "", fmt.Errorf("answer to PASV: %q", message)
	}
	high, highErr := strconv.ParseUint(numbers[len(numbers)-2], 10, 8)
	low, lowErr := strconv.ParseUint(numbers[len(numbers)-1], 10, 8)
	return strconv.FormatUint(high<<8|low, 10), errors.Join(highErr, lowErr)
}
