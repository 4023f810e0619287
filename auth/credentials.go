package auth

import (
	"net"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// A Kind is a method of authentication.
type Kind int

const (
	ByKey   Kind = iota // key file of a user on the master's host
	ByToken             // token from an earlier login
	ByEauth             // login to an external system
)

// String returns Salt's name of k.
func (k Kind) String() string {
	switch k {
	case ByToken:
		return "token"
	case ByEauth:
		return "eauth"
	}
	return "user"
}

// Credentials are the unverified claims of a request about its sender.
type Credentials struct {
	Kind    Kind
	Key     string    // contents of the key file
	User    string    // on the master's host, or sudo_NAME
	HasUser bool      // the request has a field user
	Token   string    // for ByToken
	Eauth   string    // for ByEauth: name of the system in external_auth
	Fields  *data.Map // for ByEauth: username and password; no other fields are passed to a system
	From    net.Addr  // source of the request, used to limit logins; nil means the master itself
	Size    int       // size of the request in bytes, which occupies memory during the login
}

// fieldNames are the fields of a request, or of its kwargs, that contain credentials.
var fieldNames = [...]string{"key", "user", "token", "eauth", "username", "password"}

// maxField is the maximum encoded size of these fields in bytes. Valid credentials are never
// longer.
const maxField = 16 << 10

// Pick decodes only the credential fields of a request, since its sender is not authenticated yet.
// A field longer than maxField is nil, which never authenticates.
func Pick(fields payload.Fields) *data.Map {
	m := data.NewMap()
	for _, name := range fieldNames {
		raw := fields.Raw(name)
		if raw == nil {
			continue
		}
		var v any
		if len(raw) <= maxField {
			v, _ = payload.Unmarshal(raw, payload.PreAuthLimits())
		}
		m.Set(name, v)
	}
	return m
}

// LoginFields returns the fields of a request that are passed to an external_auth system. Salt's loader
// also passes eauth and token, which none of its modules uses.
func LoginFields() []string { return []string{"username", "password"} }

// FromLoad returns the credentials of a request with the fields at top level: runner, wheel and
// mk_token. A field of the wrong type counts as "", which never authenticates.
func FromLoad(load *data.Map) Credentials { return FromKwargs(load, load) }

// FromLogin returns the login of a token request, which has no other credentials.
func FromLogin(load *data.Map) Credentials {
	c := Credentials{Kind: ByEauth, Eauth: load.Text("eauth"), Fields: data.NewMap()}
	for _, name := range LoginFields() {
		if text, ok := load.Value(name).(string); ok {
			c.Fields.Set(name, text)
		}
	}
	return c
}

// FromKwargs returns the credentials of a publish request. Token and login are in its kwargs, key
// and user in the load itself (salt/master.py, _prep_auth_info).
func FromKwargs(load, kwargs *data.Map) Credentials {
	switch {
	case kwargs.Has("token"):
		return Credentials{Kind: ByToken, Token: kwargs.Text("token"), Fields: data.NewMap()}
	case kwargs.Has("eauth"):
		return FromLogin(kwargs)
	}
	return Credentials{Key: load.Text("key"), User: load.Text("user"), HasUser: load.Has("user"),
		Fields: data.NewMap()}
}
