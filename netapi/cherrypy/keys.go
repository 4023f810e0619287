package cherrypy

import (
	"archive/tar"
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/web"
	"github.com/brineproject/brine/pki"
)

// keys returns the keys of minions: the lists by state, or the fingerprints of those that a glob
// matches.
func keys(q *request) error {
	if err := q.enterForKeys(); err != nil {
		return err
	}
	low := data.NewMap("client", "wheel", "fun", "key.list_all")
	if id := q.name("mid"); id != "" {
		low = data.NewMap("client", "wheel", "fun", "key.finger", "match", id)
	}
	item, err := q.one(q.caller, low)
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, data.NewMap("return", wheelReturn(item)))
}

// enterForKeys finds the caller: by an API key, or by a session where there are sessions.
func (q *request) enterForKeys() error {
	c, err := q.Gate.Key(web.HeaderCredential(q.r), q.from)
	if err != nil {
		s, err := q.Gate.Session(web.Credential(q.r), q.from)
		if err != nil {
			if q.Door.Sessions {
				return err
			}
			return nil // the order is refused for want of a login
		}
		if err := q.origins.Check(q.r); err != nil {
			return err
		}
		c = s.Caller(q.from)
	}
	q.caller = c
	q.w.Header().Set("Cache-Control", "private")
	return nil
}

func wheelReturn(item any) any {
	done, _ := item.(*data.Map)
	body, _ := done.Value("data").(*data.Map)
	return body.Value("return")
}

// makeKeys makes a pair of keys for a minion, accepts it, and returns it as an archive of tar. The
// body has the login of the user. In contrast to Salt, an id that is no minion's, a number that is
// none and a key that is there already are answered with 400 and 409, not with 500.
func makeKeys(q *request) error {
	low, err := q.body.Low()
	if err != nil {
		return err
	}
	if len(low) == 0 {
		return &netapi.Fault{Status: http.StatusBadRequest, Text: "The body must have mid, username, password and eauth"}
	}
	order, id, err := keyOrder(low[0])
	if err != nil {
		return err
	}
	items, _, err := q.carryOut(netapi.Caller{From: q.from}, []*data.Map{order})
	if err != nil {
		return err
	}
	pair, ok := wheelReturn(items[0]).(*data.Map)
	public, private := pair.Text("pub"), pair.Text("priv")
	if !ok || public == "" || private == "" {
		return &netapi.Fault{Status: http.StatusConflict,
			Text: fmt.Sprintf("The master has made no key for %s; it may have one: force: true replaces it", id)}
	}
	archive, err := tarOf(member{"minion.pub", public}, member{"minion.pem", private})
	if err != nil {
		return err
	}
	h := q.w.Header()
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="saltkeys-%s.tar"`, id))
	h.Set("Content-Type", "application/x-tar")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Length", strconv.Itoa(len(archive)))
	_, err = q.w.Write(archive)
	return err
}

// keyOrder returns the order that makes a key.
func keyOrder(given *data.Map) (order *data.Map, id string, err error) {
	wrong := func(text string) (*data.Map, string, error) {
		return nil, "", &netapi.Fault{Status: http.StatusBadRequest, Text: text}
	}
	order = given.Clone()
	id, _ = given.Value("mid").(string)
	if id == "" {
		return wrong("The field mid must be the id of a minion")
	}
	if err := pki.ValidID(id); err != nil || strings.ContainsAny(id, "\"\\\r\n") {
		return wrong("The field mid must be the id of a minion, not '" + id + "'")
	}
	order.Delete("mid")
	order.Set("client", "wheel")
	order.Set("fun", "key.gen_accept")
	order.Set("id_", id)
	if size, ok := given.Value("keysize").(string); ok {
		n, err := strconv.Atoi(size)
		if err != nil {
			return wrong("The field keysize must be a number of bits, not '" + size + "'")
		}
		order.Set("keysize", int64(n))
	}
	if force, ok := given.Value("force").(string); ok {
		order.Set("force", strings.EqualFold(force, "true") || force == "1")
	}
	if order.Has("token") {
		return wrong("A key is made for a user with a password: send username, password and eauth")
	}
	return order, id, nil
}

type member struct{ name, text string }

func tarOf(members ...member) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o600, Size: int64(len(m.text)), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(m.text)); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
