package http

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/payload"
)

// A session is the file of session cookies: a MessagePack dictionary with the header Cookie, or an
// empty string (session_cookie_jar of salt/utils/http.py).
type session struct{ path string }

func (q *query) session() session {
	return session{q.file("session_cookie_jar",
		"cookies.session.p")}
}

// maxSession is the maximum size of the file in bytes.
const maxSession = 1 << 20

// read adds the cookies to headers, and creates the file if it does not exist.
func (s session) read(headers *data.Map) error {
	src, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.write("")
	}
	if err != nil {
		return err
	}
	v, err := payload.UnmarshalText(src, payload.Limits{Size: maxSession})
	if err != nil {
		return &fs.PathError{Op: "read cookies of a session from", Path: s.path, Err: err}
	}
	if all, ok := v.(*data.Map); ok {
		headers.Update(all)
	}
	return nil
}

// keep stores the cookies of a response, if it sets any.
func (s session) keep(answer *http.Response) error {
	var pairs []string
	for _, c := range answer.Cookies() {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	if len(pairs) == 0 {
		return nil
	}
	return s.write(data.NewMap("Cookie", strings.Join(pairs, "; ")))
}

func (s session) write(v any) error {
	src, err := payload.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path, src, atomicfile.Options{Mode: 0o600, Keep: true})
}
