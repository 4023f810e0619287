package web

import (
	"bufio"
	"fmt"
	"net"
	"net/textproto"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/fileclient"
)

// ftpServer serves files by FTP on loopback, one connection after the other. extended says whether
// it supports EPSV.
func ftpServer(t *testing.T, extended bool, files map[string]string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			(&ftpSession{Conn: conn, extended: extended, files: files}).run()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

type ftpSession struct {
	net.Conn
	extended bool
	files    map[string]string
	user     string
	in       bool
	data     net.Listener
}

func (s *ftpSession) say(format string, args ...any) { fmt.Fprintf(s, format+"\r\n", args...) }

func (s *ftpSession) run() {
	defer s.Close()
	s.say("220-Welcome")
	s.say("220 ready")
	lines := bufio.NewScanner(s)
	for lines.Scan() {
		verb, arg, _ := strings.Cut(lines.Text(), " ")
		if verb == "QUIT" {
			s.say("221 bye")
			return
		}
		s.do(verb, arg)
	}
}

func (s *ftpSession) do(verb, arg string) {
	switch {
	case verb == "USER":
		s.user = arg
		s.say("331 password, please")
	case verb == "PASS":
		if s.in = s.user == "anonymous" || s.user+arg == "uspa"; !s.in {
			s.say("530 Login incorrect.")
			return
		}
		s.say("230 in")
	case !s.in:
		s.say("530 no")
	case verb == "TYPE" && arg == "I":
		s.say("200 binary")
	case verb == "EPSV" && s.extended:
		s.listen()
		s.say("229 Entering Extended Passive Mode (|||%d|)", s.data.Addr().(*net.TCPAddr).Port)
	case verb == "PASV":
		s.listen()
		port := s.data.Addr().(*net.TCPAddr).Port
		// of another host, which the client ignores
		s.say("227 Entering Passive Mode (10,9,8,7,%d,%d).", port>>8, port&255)
	case verb == "RETR":
		s.retrieve(arg)
	default:
		s.say("500 what?")
	}
}

func (s *ftpSession) listen() { s.data, _ = net.Listen("tcp", "127.0.0.1:0") }

func (s *ftpSession) retrieve(name string) {
	defer s.data.Close()
	body, ok := s.files[name]
	if !ok {
		s.say("550 Failed to open file.")
		return
	}
	s.say("150 here it comes")
	conn, err := s.data.Accept()
	if err != nil {
		return
	}
	fmt.Fprint(conn, body)
	conn.Close()
	s.say("226 done")
}

func TestFTP(t *testing.T) {
	big := strings.Repeat("0123456789", 100_000)
	for _, extended := range []bool{true, false} {
		address := ftpServer(t, extended, map[string]string{"pub/x": big, "empty": ""})
		c, dir := client(t)
		for path, want := range map[string]string{"/pub/x": big, "/empty": ""} {
			for _, who := range []string{"", "us:pa@"} {
				got, err := c.CacheFile(t.Context(), "ftp://"+who+address+path, "base", fileclient.Fetch{})
				if err != nil || got != filepath.Join(dir, "extrn_files",
					"base", strings.ReplaceAll(address, ":", ""), path) || read(t, got) != want {
					t.Errorf("CacheFile(%s) = %q, %v", path, got, err)
				}
			}
		}
		for url, want := range map[string]string{
			"ftp://us:pa@" + address + "/none": "Could not retrieve ftp://" + address +
				"/none from FTP server. Exception: 550 Failed to open file.",
			"ftp://us:SECRET@" + address + "/pub/x": "Could not retrieve ftp://" + address +
				"/pub/x from FTP server. Exception: 530 Login incorrect.",
			"ftp://us:SECRET@127.0.0.1:1/x": "Could not retrieve ftp://127.0.0.1:1/x from FTP server. Exception: [Errno 111] Connection refused",
			"ftp://" + address + "/a%0d%0aDELE%20b": "Could not retrieve ftp://" + address +
				"/a%0d%0aDELE%20b from FTP server. Exception: a control character in the URL",
		} {
			if _, err := c.CacheFile(t.Context(), url, "base", fileclient.Fetch{}); err == nil ||
				err.Error() != want {
				t.Errorf("CacheFile(%s) = %v", url, err)
			}
		}
	}
}

// FuzzPassive reads replies to PASV and EPSV.
func FuzzPassive(f *testing.F) {
	f.Add("229 Entering Extended Passive Mode (|||6446|)\r\n227 Entering Passive Mode (127,0,0,1,19,137).\r\n")
	f.Add("500 no\r\n227 (1,2,3,4,300,5)\r\n")
	f.Add("229 ||||||\r\n")
	f.Fuzz(func(t *testing.T, answers string) {
		ours, theirs := net.Pipe()
		go func() {
			go func() { // the requests do not matter
				b := make([]byte, 100)
				for {
					if _, err := theirs.Read(b); err != nil {
						return
					}
				}
			}()
			fmt.Fprint(theirs, answers)
			theirs.Close()
		}()
		c := &session{text: textproto.NewConn(ours)}
		defer ours.Close()
		port, err := c.passive()
		if _, lookErr := net.LookupPort("tcp", port); err == nil && lookErr != nil {
			t.Errorf("port %q of %q", port, answers)
		}
	})
}
