// Package elasticsearch is Salt's returner of that name (salt/returners/elasticsearch_return.py):
// returns or events as documents of an Elasticsearch.
//
//	elasticsearch:
//	  host: ['es1:9200', 'https://es2:9200']   # 127.0.0.1:9200; also hosts
//	  use_ssl: False                           # ca_certs, verify_certs, username, password, timeout: 10
//	  index_date: False                        # the name of an index ends in the date
//	  functions_blacklist: [saltutil.find_job]
//	  states_single_index: False               # one index, salt-state_apply, for all functions of states
//	  states_count: False                      # also number_of_shards: 1, number_of_replicas: 0,
//	  states_order_output: False               # doc_type: default, master_event_index and others
//
// Each return goes to an index salt-MODULE_FUNCTION, which is made if it is missing, with an alias.
//
// Differences: all events are stored, and not only the last of a batch. The hosts are tried in the
// order of the option. The submitter of a job cannot choose hosts and passwords, which are not among
// the settings of a job in Salt either. The master's job cache in Elasticsearch is not supported.
package elasticsearch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
)

// Name is the returner's name.
const Name = "elasticsearch"

const doc = `
    Process the return from Salt

    CLI Example:

        salt '*' test.ping --return elasticsearch
    `

func known() []returners.Setting {
	return []returners.Setting{{Name: "doc_type", Default: "default"}, {Name: "functions_blacklist"},
		{Name: "index_date"}, {Name: "master_event_index", Default: "salt-master-event-cache"},
		{Name: "master_event_doc_type", Default: "default"}, {Name: "number_of_shards", Default: int64(1)},
		{Name: "number_of_replicas", Default: int64(0)}, {Name: "states_count"},
		{Name: "states_order_output"}, {Name: "states_single_index"}}
}

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &writer{from: returners.EnvSource(env), now: time.Now}), nil
	}}
}

// OpenEvents returns an EventReturner for a master with these options.
func OpenEvents(opts *data.Map) returners.EventReturner {
	return &writer{from: returners.MapSource(opts), now: time.Now}
}

type writer struct {
	from returners.Source
	now  func() time.Time
}

// Close does nothing.
func (w *writer) Close() error { return nil }

// Return stores a return.
func (w *writer) Return(ctx context.Context, ret *data.Map) error {
	o := w.from.Read(ret, known(), Name)
	fun := returners.FunText(ret.Value("fun"))
	for _, name := range data.TextsOf(o.Value("functions_blacklist")) {
		if name == fun {
			return nil
		}
	}
	if ret.Value("data") == nil && ret.Value("return") == nil {
		return nil // as in Salt
	}
	index, value, counts, err := prepare(o, fun, returners.Decoded(data.Clone(ret.Value("return"))))
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	if o.Bool("index_date") {
		index = dated(index, w.now())
	}
	if order := "-ordered"; o.Bool("states_order_output") && isState(fun) {
		if _, ok := value.(*data.Map); ok && ordered(ret.Value("return")) {
			index += order
		}
	}
	code, has := ret.Get("retcode")
	if !has {
		code = int64(1)
	}
	return w.store(ctx, o, document{index: index, kind: o.Text("doc_type"), body: data.NewMap(
		"@timestamp", w.now().UTC().Format("2006-01-02T15:04:05.000000+00:00"),
		"success", !data.Truth(code), "retcode", code, "minion", ret.Value("id"), "fun", fun,
		"jid", ret.Value("jid"), "counts", counts, "data", convert(value))})
}

// ReturnEvents stores each event.
func (w *writer) ReturnEvents(ctx context.Context, events []returners.Event) error {
	o := w.from.Read(nil, known(), Name)
	index := o.Text("master_event_index")
	if o.Bool("index_date") {
		index = dated(index, w.now())
	}
	for _, e := range events {
		if err := w.store(ctx, o, document{index: index, kind: o.Text("master_event_doc_type"), id: uuid(),
			body: data.NewMap("tag", e.Tag, "data", returners.Decoded(data.Clone(e.Data)))}); err != nil {
			return fmt.Errorf("event %q: %w", e.Tag, err)
		}
	}
	return nil
}

func dated(index string, now time.Time) string { return index + "-" + now.Format("2006.01.02") }

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func isState(fun string) bool {
	return fun == "state.apply" || fun == "state.highstate" || fun == "state.sls"
}

func ordered(v any) bool { _, ok := v.(*data.Map); return ok }

// prepare returns the index of a return without its date, the value to store and the counts of
// states.
func prepare(o *returners.Settings, fun string, value any) (string, any, *data.Map, error) {
	index, counts := "salt-"+strings.ReplaceAll(fun, ".", "_"), data.NewMap()
	if !isState(fun) {
		return index, value, counts, nil
	}
	if o.Bool("states_single_index") {
		index = "salt-state_apply"
	}
	states, ok := value.(*data.Map)
	switch {
	case !ok:
		value = data.NewMap("return", value)
	case o.Bool("states_order_output"):
		var err error
		if value, err = inOrder(states); err != nil {
			return "", nil, nil, err
		}
	}
	if o.Bool("states_count") {
		if !ok {
			return "", nil, nil, errors.New("states_count: the return has no states")
		}
		succeeded, failed := int64(0), int64(0)
		for _, v := range states.All() {
			m, _ := v.(*data.Map)
			if m.Value("result") == false {
				failed++
			} else {
				succeeded++
			}
		}
		counts = data.NewMap("succeeded", succeeded, "failed", failed)
	}
	return index, value, counts, nil
}

// inOrder returns states under keys that begin with their place in the run, each with its function.
func inOrder(states *data.Map) (*data.Map, error) {
	out, width := data.NewMap(), len(fmt.Sprint(states.Len()))
	for k, v := range states.All() {
		tag := data.Str(k)
		m, ok := v.(*data.Map)
		if !ok {
			return nil, fmt.Errorf("%.100q is not the result of a state", tag)
		}
		parts := strings.Split(tag, "_|-")
		m.Set("_func", parts[0]+"."+parts[len(parts)-1])
		number := data.Str(m.Value("__run_num__"))
		out.Set(strings.Repeat("0", max(0, width-len(number)))+number+"_|-"+tag, m)
	}
	return out, nil
}

// convert replaces dots in keys, which separate fields in Elasticsearch. The last key with a dot is
// also kept as _orig_key.
func convert(v any) any {
	switch v := v.(type) {
	case *data.Map:
		out := data.NewMap()
		for k, e := range v.All() {
			name := data.Str(k)
			if strings.Contains(name, ".") {
				out.Set("_orig_key", name)
				name = strings.ReplaceAll(name, ".", "_")
			}
			out.Set(name, convert(e))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = convert(e)
		}
		return out
	}
	return v
}

// A document is stored in an index.
type document struct {
	index, kind string
	id          string // "" lets the server choose one
	body        *data.Map
}

// store makes the index, if it is missing, and stores a document, on the first host that answers.
func (w *writer) store(ctx context.Context, o *returners.Settings, d document) error {
	s, err := w.server()
	if err != nil {
		return err
	}
	defer s.http.Close()
	body, err := output.JSON(d.body)
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	if err := s.ensure(ctx, d.index, o); err != nil {
		return fmt.Errorf("make index %s: %w", d.index, err)
	}
	method, path := "POST", "/"+url.PathEscape(d.index)+"/"+url.PathEscape(d.kind)
	if d.id != "" {
		method, path = "PUT", path+"/"+d.id
	}
	a, err := s.do(ctx, method, path, body)
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return fmt.Errorf("store in index %s: %w", d.index, err)
	}
	return nil
}

// A server is an Elasticsearch of one or more hosts.
type server struct {
	hosts          []string // addresses without a path
	user, password string
	http           *rest.Client
}

// server returns the server in the option elasticsearch (salt/modules/elasticsearch.py,
// _get_instance).
func (w *writer) server() (*server, error) {
	v, _ := w.from(Name)
	p, _ := v.(*data.Map)
	names := data.TextsOf(p.Value("host"))
	if len(names) == 0 {
		names = data.TextsOf(p.Value("hosts"))
	}
	if len(names) == 0 {
		names = []string{"127.0.0.1:9200"}
	}
	s := &server{}
	for _, name := range names {
		if !strings.Contains(name, "://") {
			if data.Truth(p.Value("use_ssl")) {
				name = "https://" + name
			} else {
				name = "http://" + name
			}
		}
		u, err := url.Parse(name)
		if err != nil || u.Host == "" {
			return nil, errors.New("elasticsearch.host: expected HOST:PORT")
		}
		if u.Port() == "" {
			u.Host += ":9200"
		}
		s.hosts = append(s.hosts, strings.TrimRight(u.String(), "/"))
	}
	if user, password := p.Value("username"), p.Value("password"); data.Truth(user) && data.Truth(password) {
		s.user, s.password = data.Str(user), data.Str(password)
	}
	timeout := 10.0
	if v := p.Value("timeout"); data.Truth(v) {
		var err error
		if timeout, err = loader.Float(v); err != nil || timeout < 0 || timeout > 3600 {
			return nil, errors.New("elasticsearch.timeout: expected seconds")
		}
	}
	verify, set := p.Get("verify_certs")
	ca := ""
	if v := p.Value("ca_certs"); data.Truth(v) {
		ca = data.Str(v)
	}
	var err error
	s.http, err = rest.New(rest.Options{Timeout: time.Duration(timeout * float64(time.Second)), CA: ca,
		Insecure: set && !data.Truth(verify)})
	return s, err
}

// do sends a request to the first host that answers.
func (s *server) do(ctx context.Context, method, path, body string) (*rest.Answer, error) {
	var errs []error
	for _, host := range s.hosts {
		r := rest.Request{Method: method, URL: host + path, User: s.user, Password: s.password,
			Header: map[string]string{"Content-Type": "application/json"}}
		if body != "" {
			r.Body = []byte(body)
		}
		a, err := s.http.Do(ctx, r)
		if err == nil {
			return a, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// ensure makes an index and its alias, unless it exists.
func (s *server) ensure(ctx context.Context, index string, o *returners.Settings) error {
	name := url.PathEscape(index)
	a, err := s.do(ctx, "HEAD", "/"+name, "")
	if err != nil || a.OK() {
		return err
	}
	if a.Status != 404 {
		return a.Err()
	}
	body, err := output.JSON(data.NewMap("settings", data.NewMap(
		"number_of_shards", o.Value("number_of_shards"), "number_of_replicas", o.Value("number_of_replicas"))))
	if err != nil {
		return err
	}
	if a, err = s.do(ctx, "PUT", "/"+name+"-v1", body); err == nil && a.Status != 400 {
		err = a.Err() // 400: another minion has made it
	}
	if err != nil {
		return err
	}
	if a, err = s.do(ctx, "PUT", "/"+name+"-v1/_alias/"+name, ""); err == nil {
		err = a.Err()
	}
	return err
}
