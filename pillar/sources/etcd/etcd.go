// Package etcd is Salt's external pillar of that name: a tree of keys of an etcd
// (salt/pillar/etcd_pillar.py, salt/utils/etcd_util.py).
//
//	my_etcd:
//	  etcd.host: 127.0.0.1      # etcd.port: 2379, username, password, ca, client_cert, client_key
//	  etcd.require_v2: False    # True uses the API of version 2, which is the default
//	  etcd.encode_values: True  # of version 3: values are MessagePack; encode_keys, raw_values
//	ext_pillar:
//	  - etcd: my_etcd root=/salt/%(minion_id)s
//
// Version 3 is used by its JSON gateway, as by Salt's library. If there is no such key, or no
// answer, that is logged, and the pillar is empty.
//
// Differences: in version 3 only the root itself and keys below it are read. Salt also reads keys
// whose names merely begin with it, so that the minion web1 sees the data of web10. Keys are always
// text (etcd.raw_keys has no effect). etcd.ca with one of client_cert and client_key is an error: Salt
// connects without TLS then.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
)

// patience is the timeout of a request, and places limits concurrent requests.
const (
	patience = 30 * time.Second
	places   = 16
)

// A Source is the external pillar etcd.
type Source struct{ places chan struct{} }

// New returns the source.
func New() *Source { return &Source{make(chan struct{}, places)} }

var _ pillar.Checker = (*Source)(nil)

// Name implements pillar.Source.
func (*Source) Name() string { return "etcd" }

// A config holds the options of a profile.
type config struct {
	address          string // without a path
	user, password   string
	tls              rest.Options
	version3         bool
	packedKeys       bool
	packedValues     bool
	rawValues        bool
	profile, root    string
	defaultedAddress bool
}

// read reads the words of an entry and the options of its profile.
func read(argument any, opts *data.Map) (*config, error) {
	args, err := pillar.Bind(argument, 1, "conf")
	if err != nil {
		return nil, err
	}
	conf, _ := args.Value("conf").(string)
	words := strings.Fields(conf)
	if len(words) == 0 {
		return nil, errors.New("conf: expected PROFILE root=PATH")
	}
	c := &config{profile: words[0], root: "/"}
	if len(words) > 1 && strings.HasPrefix(words[1], "root=") {
		c.root = strings.ReplaceAll(words[1], "root=", "")
	}
	v, set := opts.Get(c.profile)
	if !set {
		v = data.NewMap()
	}
	options, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("%s: expected a dictionary of options etcd.…", c.profile)
	}
	return c, c.options(options)
}

func (c *config) options(o *data.Map) error {
	host, port := text(o, "host"), int64(2379)
	if host == "" {
		host = "127.0.0.1"
	}
	if v := o.Value("etcd.port"); data.Truth(v) {
		var err error
		if port, err = loader.Int(v); err != nil || port < 1 || port > 65535 {
			return errors.New("etcd.port: expected the number of a port")
		}
	}
	c.defaultedAddress = host == "127.0.0.1" && port == 2379
	c.user, c.password = text(o, "username"), text(o, "password")
	if c.user == "" || c.password == "" {
		c.user, c.password = "", ""
	}
	ca, cert, key := text(o, "ca"), text(o, "client_cert"), text(o, "client_key")
	scheme := "http"
	c.tls = rest.Options{Timeout: patience}
	if ca != "" && (cert == "") != (key == "") {
		return errors.New("etcd.client_cert, etcd.client_key: both are needed")
	}
	if ca != "" {
		scheme, c.tls.CA, c.tls.Cert, c.tls.Key = "https", ca, cert, key
	}
	c.address = scheme + "://" + net.JoinHostPort(host, strconv.FormatInt(port, 10))
	c.version3 = !truth(o, "require_v2", true)
	c.packedKeys, c.packedValues = truth(o, "encode_keys", false), truth(o, "encode_values", true)
	c.rawValues = truth(o, "raw_values", false)
	return nil
}

func text(o *data.Map, name string) string {
	if v := o.Value("etcd." + name); data.Truth(v) {
		return data.Str(v)
	}
	return ""
}

func truth(o *data.Map, name string, usual bool) bool {
	if v, ok := o.Get("etcd." + name); ok {
		return data.Truth(v)
	}
	return usual
}

// Check implements pillar.Checker.
func (*Source) Check(argument any, opts *data.Map) error {
	c, err := read(argument, opts)
	if err != nil {
		return err
	}
	if !opts.Has(c.profile) {
		return fmt.Errorf("%s: there is no such profile among the options", c.profile)
	}
	if _, err := pillar.Percent(c.root, data.NewMap("minion_id", "x")); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	return nil
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	c, err := read(q.Argument, q.Opts)
	if err != nil {
		return nil, err
	}
	if c.defaultedAddress {
		q.Log.Warn("Using default etcd host and port, use a profile if needed.")
	}
	path, err := pillar.Percent(c.root, data.NewMap("minion_id", q.ID))
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return nil, errors.New("root: . or .. is a part of it")
		}
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	http, err := rest.New(c.tls)
	if err != nil {
		return nil, err
	}
	defer http.Close()
	read := c.tree2
	if c.version3 {
		read = c.tree3
	}
	m, err := read(ctx, http, path)
	if errors.Is(err, errConflict) {
		return nil, err
	}
	if err != nil {
		q.Log.Errorf("etcd: profile %s, path %s: %s", c.profile, path, err)
		return nil, nil
	}
	return m, nil
}

var (
	errNoKey    = errors.New("there is no such key")
	errForm     = errors.New("the response does not have the form of a tree")
	errConflict = errors.New("a key of etcd has both a value and keys below it")
)
