// Package ldap is Salt's external pillar pillar_ldap: entries of an LDAP server
// (salt/pillar/pillar_ldap.py).
//
//	ext_pillar:
//	  - pillar_ldap: /etc/salt/master.d/pillar_ldap.yaml
//
// The file is a Jinja template of YAML, whose variables are the grains of the minion:
//
//	ldap: &defaults
//	  server: localhost
//	  port: 389
//	  tls: False
//	  scope: 2
//	  dn: o=customer,o=x
//	  binddn: uid=admin,o=x
//	  bindpw: secret
//	  attrs: [saltKeyValue]
//	  lists: [saltList]
//	  mode: map            # split (the default), map or dict; dict_key_attr: dn
//	hosts:
//	  <<: *defaults
//	  filter: (&(uid={{ fqdn }})(objectclass=salt))
//	search_order: [ldap, hosts]
//
// Salt's options ldap.uri, ldap.server, ldap.port, ldap.basedn, ldap.scope and ldap.no_verify apply
// where a search does not set them. With mode split attributes hold NAME=VALUE, which in Salt fails
// for each entry found. If a search fails, that is logged, and it adds nothing. In the text of
// grains all characters that mean something in a filter, a DN or YAML are escaped, as \XX, so that a
// minion cannot change the search or its server.
package ldap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-ldap/ldap/v3"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render/saltjinja"
	"github.com/brineproject/brine/yaml"
)

// Limits of one search, and of concurrent compilations.
const (
	dialTimeout    = 5 * time.Second
	requestTimeout = 30 * time.Second
	searchTimeout  = 2 * time.Minute
	maxEntries     = 10_000
	maxBytes       = 64 << 20 // of the values
	places         = 16
)

// A Source is the external pillar pillar_ldap.
type Source struct{ places chan struct{} }

// New returns the source.
func New() *Source { return &Source{make(chan struct{}, places)} }

var (
	_ pillar.Checker         = (*Source)(nil)
	_ pillar.OnDemandChecker = (*Source)(nil)
)

// Name implements pillar.Source.
func (*Source) Name() string { return "pillar_ldap" }

// CheckOnDemand implements pillar.OnDemandChecker: minions must not choose a file of the master.
func (*Source) CheckOnDemand(any, *data.Map) error {
	return errors.New("a minion may not choose a file that the master reads")
}

func configFile(argument any) (string, error) {
	args, err := pillar.Bind(argument, 1, "config_file")
	if err != nil {
		return "", err
	}
	path, ok := args.Value("config_file").(string)
	if !ok || !filepath.IsAbs(path) {
		return "", errors.New("config_file: expected the path of a file")
	}
	return path, nil
}

// Check implements pillar.Checker.
func (*Source) Check(argument any, _ *data.Map) error {
	path, err := configFile(argument)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("config_file: %w", err)
	}
	return nil
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	path, err := configFile(q.Argument)
	if err != nil {
		return nil, err
	}
	conf, err := configuration(ctx, q, path)
	if conf == nil || err != nil {
		return nil, err
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := data.NewMap()
	for _, name := range data.ListOf(conf.Value("search_order")) {
		if !data.Hashable(name) {
			return nil, errors.New("search_order: expected names of searches")
		}
		one, ok := conf.Value(name).(*data.Map)
		if !ok {
			return nil, fmt.Errorf("the search %s of search_order is not in the configuration", data.Str(name))
		}
		if !one.Has("filter") {
			return nil, errors.New("missing filter")
		}
		found, err := search(ctx, one, q.Opts, maxBytes)
		if err != nil {
			q.Log.Errorf("Failed to retrieve pillar data from LDAP: search %s for %s: %s",
				data.Str(name), q.ID, err)
			continue
		}
		if len(found) > 0 {
			add(out, found, one, name)
		}
	}
	return out, nil
}

// configuration returns the rendered configuration; nil if it cannot be used, which is logged.
func configuration(ctx context.Context, q pillar.Query, path string) (*data.Map, error) {
	dir, name := filepath.Split(path)
	templates, err := saltjinja.NewFolder(dir, q.Engine)
	if err != nil {
		return nil, err
	}
	names := map[string]any{}
	for k, v := range q.Grains.All() {
		if name, ok := k.(string); ok {
			names[name] = escaped(v)
		}
	}
	text, err := templates.Render(ctx, name, names)
	if err != nil {
		q.Log.Errorf("pillar_ldap: failed to render template for %s: %s", path, err)
		return nil, nil
	}
	v, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		q.Log.Warnf("pillar_ldap: error parsing configuration file: %s", path)
		return nil, nil
	}
	m, ok := v.(*data.Map)
	if !ok && data.Truth(v) {
		q.Log.Warnf("pillar_ldap: %s is invalidly formatted, must be a YAML dictionary. See the documentation for more information.", path)
		return nil, nil
	}
	if !m.Has("search_order") {
		q.Log.Warn("pillar_ldap: search_order missing from configuration. See the documentation for more information.")
		return nil, nil
	}
	return m, nil
}

// A record is an entry that a search found, with its attributes in the order of the server.
type record struct {
	dn         string
	attributes *data.Map // name → list of values
}

// setting returns a setting of a search, or else an option ldap.NAME of the master.
func setting(conf, opts *data.Map, name, option string) string {
	if v := conf.Value(name); v != nil {
		return data.Str(v)
	}
	if v := opts.Value("ldap." + option); v != nil {
		return data.Str(v)
	}
	return ""
}

// search returns what a search finds, whose values have room bytes at most.
func search(ctx context.Context, conf, opts *data.Map, room int) ([]record, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	scope, err := scopeOf(setting(conf, opts, "scope", "scope"))
	if err != nil {
		return nil, err
	}
	conn, err := connect(ctx, conf, opts)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	wanted := slices.Concat(data.TextsOf(conf.Value("lists")), data.TextsOf(conf.Value("attrs")),
		[]string{keyAttribute(conf)})
	found := conn.SearchAsync(ctx, ldap.NewSearchRequest(setting(conf, opts, "dn", "basedn"), scope,
		ldap.NeverDerefAliases, maxEntries, int(requestTimeout/time.Second), false,
		data.Str(conf.Value("filter")), wanted, nil), 0)
	var all []record
	for found.Next() {
		e := found.Entry()
		if e == nil {
			continue // a referral
		}
		r := record{e.DN, data.NewMap()}
		for _, a := range e.Attributes {
			var values []any
			for _, b := range a.ByteValues {
				room -= len(b)
				values = append(values, value(b))
			}
			r.attributes.Set(a.Name, values)
		}
		if all = append(all, r); room < 0 || len(all) > maxEntries {
			return nil, errors.New("search: the server sends too much")
		}
	}
	if err := errors.Join(found.Err(), ctx.Err()); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return all, nil
}

func value(b []byte) any {
	if utf8.Valid(b) {
		return string(b)
	}
	return b
}

func scopeOf(text string) (int, error) {
	if text == "" {
		return ldap.ScopeWholeSubtree, nil
	}
	n, err := loader.Int(text)
	if err != nil || n < 0 || n > 2 {
		return 0, fmt.Errorf("scope: expected 0, 1 or 2, not %q", text)
	}
	return int(n), nil
}

func keyAttribute(conf *data.Map) string {
	if v := conf.Value("dict_key_attr"); data.Truth(v) {
		return data.Str(v)
	}
	return "dn"
}

// connect returns a connection that is bound as the search says.
func connect(ctx context.Context, conf, opts *data.Map) (*ldap.Conn, error) {
	uri := opts.Text("ldap.uri")
	host := setting(conf, opts, "server", "server")
	if host == "" {
		host = "localhost"
	}
	if uri == "" {
		port := setting(conf, opts, "port", "port")
		if port == "" {
			port = "389"
		}
		uri = "ldap://" + net.JoinHostPort(host, port)
	} else if _, rest, ok := strings.Cut(uri, "://"); ok {
		host, _, _ = strings.Cut(rest, "/")
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
	}
	trust := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: data.Truth(opts.Value("ldap.no_verify"))} //nolint:gosec // the operator's wish
	conn, err := ldap.DialURL(uri, ldap.DialWithDialer(&net.Dialer{Timeout: dialTimeout}),
		ldap.DialWithTLSConfig(trust))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", uri, err)
	}
	conn.SetTimeout(requestTimeout)
	if err := bind(conn, conf, trust); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, ctx.Err()
}

func bind(conn *ldap.Conn, conf *data.Map, trust *tls.Config) error {
	if data.Truth(conf.Value("tls")) {
		if err := conn.StartTLS(trust); err != nil {
			return fmt.Errorf("start TLS: %w", err)
		}
	}
	dn, password := conf.Value("binddn"), conf.Value("bindpw")
	if !data.Truth(dn) || !data.Truth(password) {
		if data.Truth(conf.Value("anonymous")) || !data.Truth(dn) {
			return nil
		}
		return errors.New("binddn is set without bindpw")
	}
	if err := conn.Bind(data.Str(dn), data.Str(password)); err != nil {
		return fmt.Errorf("bind as %s: %w", data.Str(dn), err)
	}
	return nil
}

// add adds the records of one search to the pillar, as the mode of the search says.
func add(out *data.Map, found []record, conf *data.Map, source any) {
	attrs, lists := data.TextsOf(conf.Value("attrs")), data.TextsOf(conf.Value("lists"))
	mode := "split"
	if v := conf.Value("mode"); data.Truth(v) {
		mode = data.Str(v)
	}
	switch mode {
	case "map":
		all := []any{}
		for _, r := range found {
			all = append(all, r.entry(attrs, lists))
		}
		out.Set(source, all)
	case "dict":
		out.Set(source, byKey(found, keyAttribute(conf), attrs, lists))
	case "split":
		split(out, found[0], attrs, lists)
	}
}

// entry returns the chosen attributes of a record: the last value of those in attrs, and all of
// those in lists.
func (r record) entry(attrs, lists []string) *data.Map {
	m := data.NewMap()
	if slices.Contains(attrs, "dn") || slices.Contains(attrs, "distinguishedName") {
		m.Set("dn", r.dn)
	}
	for k, v := range r.attributes.All() {
		values, _ := v.([]any)
		if slices.Contains(attrs, data.Str(k)) && len(values) > 0 {
			m.Set(k, values[len(values)-1])
		}
		if slices.Contains(lists, data.Str(k)) {
			m.Set(k, values)
		}
	}
	return m
}

func byKey(found []record, attribute string, attrs, lists []string) *data.Map {
	all := data.NewMap()
	for _, r := range found {
		key := r.dn
		if attribute != "dn" && attribute != "distinguishedName" {
			values := data.TextsOf(r.attributes.Value(attribute))
			slices.Sort(values)
			key = strings.Join(values, ",")
		}
		have, _ := all.Value(key).([]any)
		all.Set(key, append(have, r.entry(attrs, lists)))
	}
	return all
}

// split sets the pairs NAME=VALUE in the attributes of a record.
func split(out *data.Map, r record, attrs, lists []string) {
	for k, v := range r.attributes.All() {
		name := data.Str(k)
		for _, item := range data.TextsOf(v) {
			key, val, ok := strings.Cut(item, "=")
			switch {
			case !ok:
			case slices.Contains(attrs, name):
				out.Set(key, val)
			case slices.Contains(lists, name):
				have, _ := out.Value(key).([]any)
				out.Set(key, append(have, val))
			}
		}
	}
}

// escaped returns a grain whose texts are safe in a filter, a DN and YAML.
func escaped(v any) any {
	switch v := v.(type) {
	case string:
		return escape(v)
	case []byte:
		return escape(string(v))
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = escaped(e)
		}
		return out
	case *data.Map:
		out := data.NewMap()
		for k, e := range v.All() {
			out.Set(escaped(k), escaped(e))
		}
		return out
	}
	return v
}

func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		mapping := c == ':' && (i+1 == len(s) || s[i+1] == ' ')
		if c < ' ' || c == 0x7f || mapping || strings.IndexByte(`*()\"'#,+;<>{}[]&|!`, c) >= 0 {
			fmt.Fprintf(&b, `\%02x`, c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
