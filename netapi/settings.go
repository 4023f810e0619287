package netapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// ClientNames returns the clients of Salt's HTTP API, in the order in which GET / lists them.
func ClientNames() []string {
	return []string{"local", "local_async", "local_batch", "local_subset", "runner", "runner_async", "ssh", "wheel",
		"wheel_async"}
}

// Settings are the options of a master's configuration that concern salt-api.
type Settings struct {
	Clients  []string      // netapi_enable_clients: those not in it are refused
	RawShell bool          // netapi_allow_raw_shell
	Timeout  time.Duration // rest_timeout: how long a runner is waited for
	Cherrypy *Door         // rest_cherrypy; nil if there is no such section or it has no port
	Tornado  *Door         // rest_tornado, likewise
	Console  bool          // console: the web page for people is served
}

// A Door is the section of one door.
type Door struct {
	Host              string
	Port              int
	Cert, Key, Chain  string // ssl_crt, ssl_key, ssl_chain: files
	ClientCA          string // ssl_client_ca: a file; clients need a certificate of these authorities
	SecureCookie      bool   // secure_cookie: cookies are for TLS alone, which a proxy may speak
	Plain             bool   // disable_ssl
	AccessLog         string // log_access_file
	ErrorLog          string // log_error_file
	WebhookURL        string
	OpenWebhook       bool // webhook_disable_auth
	HookSecrets       []HookSecret
	MaxBody           int64
	Stats, OpenStats  bool // collect_stats, stats_disable_auth
	Static            string
	StaticPath        string
	Sessions          bool // enable_sessions
	App, AppPath      string
	Prefix            string // root_prefix
	Favicon           string
	ACL               *ACL
	Addresses         []netip.Addr // authorized_ips; nil allows all
	Origins           []string     // cors_origin
	Websockets        bool         // of rest_tornado
	MaxStreams        int          // max_streams: event streams at a time
	MaxStreamsPerUser int
	MaxOrders         int // max_orders: orders at a time; 0 means any number
	MaxOrdersPerUser  int
	OwnEvents         bool  // events: own: users without wide rights read the events of their jobs alone
	OIDC              *OIDC // oidc; nil if users do not log in at a provider
}

// A HookSecret is shared with a program that calls the hooks at and below a path (webhook_secrets). It
// proves itself by that in place of a session.
type HookSecret struct {
	Path   string // below the address of hooks, without slashes around it; "" is that of all
	Secret string
}

// An ACL says from which addresses a user may come (api_acl). Names in another spelling, as LDAP takes
// them, count as equal.
type ACL struct{ users map[string][]allowed }

type allowed struct {
	all  bool
	from []netip.Prefix
}

// Allows reports whether a user may come from an address. A user who is not named has the addresses
// of '*', and none if that is not named either.
func (a *ACL) Allows(user string, from netip.Addr) bool {
	if a == nil {
		return true
	}
	rules, ok := a.users[sameName(user)]
	if !ok {
		rules = a.users["*"]
	}
	from = from.Unmap()
	for _, rule := range rules { // several for names that differ in their spelling
		if !rule.allows(from) {
			return false
		}
	}
	return len(rules) > 0
}

func (a allowed) allows(from netip.Addr) bool {
	return a.all || slices.ContainsFunc(a.from, func(p netip.Prefix) bool { return p.Contains(from) })
}

// ReadSettings reads the options of salt-api from those of a master. The findings are about what is
// wrong, or has no effect; those that are no doubt must stop the program.
func ReadSettings(opts *data.Map) (*Settings, []*config.Finding) {
	r := &reader{}
	s := &Settings{RawShell: data.Truth(opts.Value("netapi_allow_raw_shell")),
		Clients: r.clients(opts.Value("netapi_enable_clients")), Timeout: 5 * time.Minute}
	if seconds, err := loader.Float(opts.Value("rest_timeout")); err == nil && seconds > 0 {
		s.Timeout = time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	s.Cherrypy = r.door("rest_cherrypy", opts, cherrypyOptions())
	s.Tornado = r.door("rest_tornado", opts, tornadoOptions())
	r.checkOIDC("rest_cherrypy", s.Cherrypy, opts)
	if opts.Value("rest_wsgi") != nil {
		r.doubt([]any{"rest_wsgi"}, "has no effect: salt-api does not have it", "use rest_cherrypy")
	}
	if s.Console = data.Truth(opts.Value("console")); s.Console {
		s.openConsole(opts)
	}
	if s.Cherrypy == nil && s.Tornado == nil {
		r.wrong([]any{"rest_cherrypy"}, "no port to listen on: salt-api needs the section rest_cherrypy with a port",
			"write rest_cherrypy: {port: 8000, ssl_crt: FILE, ssl_key: FILE}")
	}
	if len(s.Clients) == 0 && !s.Console {
		r.doubt([]any{"netapi_enable_clients"}, "is not set, so that every order is refused",
			"write netapi_enable_clients: [local, runner, wheel]")
	}
	return s, r.findings
}

// openConsole opens a door on this host alone if the configuration has no section for one, so that the
// console can be tried without a certificate.
func (s *Settings) openConsole(opts *data.Map) {
	if opts.Value("rest_cherrypy") != nil || opts.Value("rest_tornado") != nil {
		return
	}
	s.Cherrypy = newDoor()
	s.Cherrypy.Host, s.Cherrypy.Port, s.Cherrypy.Plain = "127.0.0.1", 8000, true
}

// ForConsole returns the settings for the orders of the console, which netapi_enable_clients does not
// limit: whoever switches the console on wants it to work.
func (s *Settings) ForConsole() *Settings {
	all := *s
	all.Clients = ClientNames()
	return &all
}

// newDoor returns a door with the defaults.
func newDoor() *Door {
	return &Door{Host: "0.0.0.0", WebhookURL: "/hook", MaxBody: 1 << 20, StaticPath: "/static", Sessions: true, AppPath: "/app",
		Prefix: "/", MaxStreams: 2000, MaxStreamsPerUser: 1000, MaxOrders: 500, MaxOrdersPerUser: 100}
}

// An entry is one option of a section: how it is read into a door. why is set for one without effect.
type entry struct {
	read func(r *reader, d *Door, path []any, v any)
	why  string
}

func cherrypyOptions() map[string]entry {
	none := func(why string) entry { return entry{why: why} }
	return map[string]entry{
		"port":                 {read: readPort},
		"host":                 {read: text(func(d *Door) *string { return &d.Host })},
		"ssl_crt":              {read: text(func(d *Door) *string { return &d.Cert })},
		"ssl_key":              {read: text(func(d *Door) *string { return &d.Key })},
		"ssl_chain":            {read: text(func(d *Door) *string { return &d.Chain })},
		"ssl_client_ca":        {read: text(func(d *Door) *string { return &d.ClientCA })},
		"disable_ssl":          {read: flag(func(d *Door) *bool { return &d.Plain })},
		"secure_cookie":        {read: flag(func(d *Door) *bool { return &d.SecureCookie })},
		"log_access_file":      {read: text(func(d *Door) *string { return &d.AccessLog })},
		"log_error_file":       {read: text(func(d *Door) *string { return &d.ErrorLog })},
		"webhook_url":          {read: text(func(d *Door) *string { return &d.WebhookURL })},
		"webhook_secrets":      {read: readHookSecrets},
		"webhook_disable_auth": {read: flag(func(d *Door) *bool { return &d.OpenWebhook })},
		"max_request_body_size": {read: func(r *reader, d *Door, path []any, v any) {
			d.MaxBody = int64(r.number(path, v, 0, 1<<30, int(d.MaxBody)))
		}},
		"collect_stats":      {read: flag(func(d *Door) *bool { return &d.Stats })},
		"stats_disable_auth": {read: flag(func(d *Door) *bool { return &d.OpenStats })},
		"static":             {read: text(func(d *Door) *string { return &d.Static })},
		"static_path":        {read: text(func(d *Door) *string { return &d.StaticPath })},
		"enable_sessions":    {read: flag(func(d *Door) *bool { return &d.Sessions })},
		"app":                {read: text(func(d *Door) *string { return &d.App })},
		"app_path":           {read: text(func(d *Door) *string { return &d.AppPath })},
		"root_prefix":        {read: text(func(d *Door) *string { return &d.Prefix })},
		"favicon":            {read: text(func(d *Door) *string { return &d.Favicon })},
		"api_acl":            {read: readACL},
		"authorized_ips":     {read: readAddresses},
		"cors_origin":        {read: readOrigins},
		"oidc":               {read: readOIDC},
		"max_streams": {read: func(r *reader, d *Door, path []any, v any) {
			d.MaxStreams = r.number(path, v, 1, 1_000_000, d.MaxStreams)
		}},
		"max_streams_per_user": {read: func(r *reader, d *Door, path []any, v any) {
			d.MaxStreamsPerUser = r.number(path, v, 1, 1_000_000, d.MaxStreamsPerUser)
		}},
		"max_orders": {read: func(r *reader, d *Door, path []any, v any) {
			d.MaxOrders = r.number(path, v, 1, 1_000_000, d.MaxOrders)
		}},
		"max_orders_per_user": {read: func(r *reader, d *Door, path []any, v any) {
			d.MaxOrdersPerUser = r.number(path, v, 1, 1_000_000, d.MaxOrdersPerUser)
		}},
		"events":            {read: readEvents},
		"debug":             none("answers never have tracebacks"),
		"thread_pool":       none("requests need no threads"),
		"socket_queue_size": none("the system's limit counts"),
		"queue_size":        none("the system's limit counts"),
		"expire_responses":  none("answers that need a login are never cached"),
	}
}

func tornadoOptions() map[string]entry {
	all := cherrypyOptions()
	known := map[string]entry{"address": {read: text(func(d *Door) *string { return &d.Host })},
		"websockets":    {read: flag(func(d *Door) *bool { return &d.Websockets })},
		"num_processes": {why: "one process uses all processors"}, "backlog": {why: "the system's limit counts"}}
	for _, name := range []string{"port", "ssl_crt", "ssl_key", "ssl_client_ca", "disable_ssl", "secure_cookie", "debug",
		"webhook_url", "webhook_disable_auth",
		"cors_origin", "api_acl", "authorized_ips", "max_request_body_size", "max_streams", "max_streams_per_user", "max_orders",
		"max_orders_per_user", "events"} {
		known[name] = all[name]
	}
	return known
}

// reader collects what is wrong with options.
type reader struct{ findings []*config.Finding }

func (r *reader) wrong(path []any, what, suggestion string) {
	r.findings = append(r.findings, &config.Finding{Path: path, Text: what, Suggestion: suggestion})
}

func (r *reader) doubt(path []any, what, suggestion string) {
	r.findings = append(r.findings, &config.Finding{Path: path, Text: what, Suggestion: suggestion, Doubt: true})
}

// clients returns the enabled clients. Salt takes any name; one that is no client is a mistake.
func (r *reader) clients(v any) []string {
	var names []string
	switch v := v.(type) {
	case nil:
	case []any:
		names = data.Texts(v)
	default:
		r.wrong([]any{"netapi_enable_clients"}, "must be a list of clients", "write netapi_enable_clients: [local, runner]")
	}
	for i, name := range names {
		if slices.Contains(ClientNames(), name) {
			continue
		}
		suggestion := "the clients are " + strings.Join(ClientNames(), ", ")
		if near := config.Nearest(name, ClientNames()); near != "" {
			suggestion = "is " + near + " meant?"
		}
		r.doubt([]any{"netapi_enable_clients", config.Entry{Index: i, Value: name}}, "there is no client '"+name+"'", suggestion)
	}
	return names
}

// door returns the door of a section, nil if the section is not there or, as in Salt, has no port.
func (r *reader) door(name string, opts *data.Map, known map[string]entry) *Door {
	v := opts.Value(name)
	if v == nil {
		return nil
	}
	section, ok := v.(*data.Map)
	if !ok {
		r.wrong([]any{name}, "must be a dictionary of options", "write "+name+": {port: 8000}")
		return nil
	}
	d := newDoor()
	for key, value := range section.All() {
		r.option(d, name, data.Str(key), value, known)
	}
	if !section.Has("port") {
		r.doubt([]any{name}, "has no port, so that salt-api does not listen for it", "add port: 8000")
		return nil
	}
	r.places(d, name, section)
	if !d.Plain && (d.Cert == "" || d.Key == "") {
		r.wrong([]any{name}, "has no ssl_crt and ssl_key",
			"name the files of the certificate and its key, or write disable_ssl: true where only this host connects")
	}
	if d.Plain && !isLoopback(strings.Trim(d.Host, "[]")) {
		r.doubt([]any{name, "disable_ssl"}, "other hosts reach "+d.Host+", and passwords travel there unencrypted",
			"add host: 127.0.0.1, or name a certificate with ssl_crt and ssl_key")
	}
	if d.Plain && d.ClientCA != "" {
		r.wrong([]any{name, "ssl_client_ca"}, "needs TLS, which disable_ssl turns off", "remove one of the two")
	}
	return d
}

func (r *reader) option(d *Door, section, name string, v any, known map[string]entry) {
	path := []any{section, name}
	e, ok := known[name]
	switch {
	case !ok:
		suggestion := ""
		if near := config.Nearest(name, slices.Sorted(maps.Keys(known))); near != "" {
			suggestion = "is " + near + " meant?"
		}
		r.doubt(path, "there is no such option", suggestion)
	case e.why != "":
		r.doubt(path, "has no effect: "+e.why, "")
	case v != nil:
		e.read(r, d, path, v)
	case name == "api_acl" || name == "authorized_ips":
		r.wrong(path, "is empty, which would let everybody in", "name the addresses, or remove it")
	}
}

func (r *reader) number(path []any, v any, low, high, otherwise int) int {
	n, err := loader.Int(v)
	if err != nil || n < int64(low) || n > int64(high) {
		r.wrong(path, fmt.Sprintf("must be a whole number from %d to %d, not %s", low, high, data.Repr(v)), "")
		return otherwise
	}
	return int(n)
}

func readPort(r *reader, d *Door, path []any, v any) { d.Port = r.number(path, v, 0, 65535, 0) }

func text(field func(d *Door) *string) func(*reader, *Door, []any, any) {
	return func(r *reader, d *Door, path []any, v any) {
		s, ok := v.(string)
		if !ok {
			r.wrong(path, "must be a text, not "+data.Repr(v), "")
			return
		}
		*field(d) = s
	}
}

func flag(field func(d *Door) *bool) func(*reader, *Door, []any, any) {
	return func(_ *reader, d *Door, _ []any, v any) { *field(d) = data.Truth(v) }
}

func readACL(r *reader, d *Door, path []any, v any) {
	section, _ := v.(*data.Map)
	users, _ := section.Value("users").(*data.Map)
	d.ACL = &ACL{users: map[string][]allowed{}}
	if users.Len() == 0 {
		r.doubt(path, "names no users, so that nobody can log in", "write api_acl: {users: {NAME: [ADDRESS]}}")
		return
	}
	for name, list := range users.All() {
		var rule allowed
		for i, from := range listOf(list) {
			if from == "*" {
				rule.all = true
				continue
			}
			p, err := prefix(from)
			if err != nil {
				r.wrong(append(slices.Clone(path), "users", data.Str(name), config.Entry{Index: i, Value: from}),
					"'"+from+"' is no address and no network", "write 10.0.0.1, 10.0.0.0/8 or '*'")
				continue
			}
			rule.from = append(rule.from, p)
		}
		same := sameName(data.Str(name))
		d.ACL.users[same] = append(d.ACL.users[same], rule)
	}
}

func listOf(v any) []string {
	if list, ok := v.([]any); ok {
		return data.Texts(list)
	}
	if v == nil {
		return nil
	}
	return []string{data.Str(v)}
}

// prefix reads an address, which stands for itself, or a network.
func prefix(s string) (netip.Prefix, error) {
	if strings.Contains(s, "/") {
		p, err := netip.ParsePrefix(s)
		return p.Masked(), err
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	return a.Unmap().Prefix(a.Unmap().BitLen())
}

func readAddresses(r *reader, d *Door, path []any, v any) {
	d.Addresses = []netip.Addr{}
	for i, s := range listOf(v) {
		a, err := netip.ParseAddr(s)
		if err != nil {
			r.wrong(append(slices.Clone(path), config.Entry{Index: i, Value: s}), "'"+s+"' is no address", "write 10.0.0.1")
			continue
		}
		d.Addresses = append(d.Addresses, a.Unmap())
	}
}

func readEvents(r *reader, d *Door, path []any, v any) {
	switch v {
	case "all":
	case "own":
		d.OwnEvents = true
	default:
		r.wrong(path, "must be all or own, not "+data.Repr(v), "")
	}
}

func readOrigins(_ *reader, d *Door, _ []any, v any) { d.Origins = listOf(v) }

// leastHookSecret is the length of the shortest secret, in bytes.
const leastHookSecret = 16

func readHookSecrets(r *reader, d *Door, path []any, v any) {
	secrets, ok := v.(*data.Map)
	if !ok {
		r.wrong(path, "must be a dictionary of paths and their secrets", "write webhook_secrets: {github: SECRET}")
		return
	}
	for name, secret := range secrets.All() {
		text, ok := secret.(string)
		if !ok || len(text) < leastHookSecret {
			r.wrong(append(slices.Clone(path), name), fmt.Sprintf("must be a secret of at least %d characters", leastHookSecret), "")
			continue
		}
		d.HookSecrets = append(d.HookSecrets, HookSecret{strings.Trim(data.Str(name), "/"), text})
	}
	slices.SortFunc(d.HookSecrets, func(a, b HookSecret) int { return len(b.Path) - len(a.Path) }) // the nearest first
}

// HookSecret returns the secret of the hook at a path, "" if there is none.
func (d *Door) HookSecret(path string) string {
	for _, s := range d.HookSecrets {
		if s.Path == "" || path == s.Path || strings.HasPrefix(path, s.Path+"/") {
			return s.Secret
		}
	}
	return ""
}

// enables returns a *Fault for a client that netapi_enable_clients does not name.
func (s *Settings) enables(client string) error {
	if slices.Contains(s.Clients, client) {
		return nil
	}
	return fault(http.StatusBadRequest,
		"Client disabled: '%s'. Add to 'netapi_enable_clients' master config option to enable.", client)
}
