package cluster

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

func parse(t *testing.T, text string) (Options, error) {
	t.Helper()
	v, err := yaml.Load([]byte(text), yaml.Options{})
	must(t, err)
	return Parse(v.(*data.Map).Value("cluster"))
}

func TestParse(t *testing.T) {
	got, err := parse(t, `
cluster:
  servers: [nats://10.0.0.1:4222, 10.0.0.2]
  name: prod
  member: master1
  key: /etc/salt/cluster.key
  replicas: 5
  nkey: /etc/salt/user.nk
  tls: {ca: /ca.pem, cert: /c.pem, key: /k.pem}
  domain: hub
  publications_max_bytes: 1048576
  returns_max_bytes: 2097152
  return_max_bytes: 4096
  lease_seconds: 20
  allow_old_server: True
`)
	must(t, err)
	want := Options{Servers: []string{"nats://10.0.0.1:4222", "nats://10.0.0.2"}, Name: "prod",
		Member: "master1", KeyFile: "/etc/salt/cluster.key", Replicas: 5, NKey: "/etc/salt/user.nk",
		TLS: TLS{"/ca.pem", "/c.pem", "/k.pem"}, Domain: "hub", PublicationsBytes: 1 << 20,
		ReturnsBytes: 2 << 20, MaxReturn: 4096, LeaseTime: 20 * time.Second, AllowOldServer: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v, want %+v", got, want)
	}
	got, err = parse(t, "cluster: {servers: nats://a, key: /k}")
	if err != nil || !reflect.DeepEqual(got, Options{Servers: []string{"nats://a"}, Name: "salt", KeyFile: "/k"}) {
		t.Errorf("the least: %+v, %v", got, err)
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"cluster: [a]", `expected a mapping, got a list of 1; write servers: [nats://HOST:4222] and key: FILE, indented, below cluster:`},
		{"cluster: {key: /k}", "servers: is missing; write servers: [nats://HOST:4222, nats://HOST2:4222]"},
		{"cluster: {servers: []}", "servers: expected a list of addresses"},
		{"cluster: {servers: [nats://a, 7]}", "servers: entry 2: expected an address, got the number 7"},
		{"cluster: {servers: [http://a]}", "servers: entry 1: there is no scheme 'http'"},
		{"cluster: {servers: ['nats://']}", "servers: entry 1: is no address of a server; write nats://HOST:4222"},
		{"cluster: {servers: [nats://a, 'nats://b:42222222']}", "servers: entry 2: has no port from 1 to 65535; write nats://HOST:4222"},
		{"cluster: {servers: ['a:0']}", "servers: entry 1: has no port from 1 to 65535"},
		{"cluster: {servers: nats://a}", "key: is missing; write key: /etc/salt/pki/cluster.key"},
		{"cluster: {servers: nats://a, key: k}", `key: expected the absolute path of a file, got the text "k"; write key: /PATH`},
		{"cluster: {servers: nats://a, key: /k, replica: 3}", `replica: there is no option 'replica'; is replicas meant?`},
		{"cluster: {servers: nats://a, key: /k, replicas: 7}", "replicas: expected a whole number from 1 to 5, got the number 7"},
		{"cluster: {servers: nats://a, key: /k, replicas: 2}", "replicas: 2 replicas survive no more losses than 1; write 1, 3 or 5"},
		{"cluster: {servers: nats://a, key: /k, name: a.b}", "name: is not 1 to 32 letters, digits, - and _"},
		{"cluster: {servers: nats://a, key: /k, tls: {cert: /c}}", "tls: cert and key belong together"},
		{"cluster: {servers: nats://a, key: /k, tls: {cafile: /c}}", `tls: cafile: there is no option 'cafile'`},
		{"cluster: {servers: nats://a, key: /k, user: u}", "user and password belong together"},
		{"cluster: {servers: nats://a, key: /k, user: u, password: p, nkey: /n}", "several of credentials, nkey and user are set; leave one"},
		{"cluster: {servers: nats://a, key: /k, allow_old_server: 3}", "allow_old_server: expected True or False, got the number 3"},
		{"cluster: {servers: nats://a, key: /k, name: 5}", "name: expected a text, got the number 5"},
	} {
		_, err := parse(t, tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got  %v\n want %s", tt.text, err, tt.want)
		}
	}
	_, err := parse(t, "cluster: {servers: nats://a, key: k, replicas: 9, nam: x}")
	for _, name := range []string{"key: ", "replicas: ", "nam: "} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("of several faults, that of %s is missing in %v", name, err)
		}
	}
}

func TestErrorsHideThePassword(t *testing.T) {
	for _, value := range []string{"31337", "31337.5", "[31337]", "{31337: 31337}"} {
		_, err := parse(t, "cluster: {servers: nats://a, key: /k, user: u, password: "+value+"}")
		if err == nil || strings.Contains(err.Error(), "31337") || !strings.Contains(err.Error(), "password: expected a text") {
			t.Errorf("password: %s: %v", value, err)
		}
	}
}

func TestAddressesHideThePassword(t *testing.T) {
	o := Options{Servers: []string{"nats://u:geheim@127.0.0.1:1"}}
	if s := o.addresses(); strings.Contains(s, "geheim") || !strings.Contains(s, "127.0.0.1:1") {
		t.Errorf("addresses = %s", s)
	}
}

func TestOldServersAreForOneReplica(t *testing.T) {
	for _, tt := range []struct {
		version  string
		replicas int
		allow    bool
		ok       bool
	}{{"2.9.9", 1, true, false}, {"2.9.10", 1, false, true}, {"2.9.10", 3, false, false},
		{"2.9.10", 3, true, true}, {"2.10.28", 3, false, false}, {"2.10.29", 3, false, true}, {"2.15.2", 5, false, true}} {
		err := checkVersion(tt.version, Options{Replicas: tt.replicas, AllowOldServer: tt.allow})
		if (err == nil) != tt.ok {
			t.Errorf("version %s for %d replicas, allowed %t: %v", tt.version, tt.replicas, tt.allow, err)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for version, want := range map[string]bool{"2.9.10": true, "2.9.9": false, "2.10.0": true, "2.9": false,
		"3.0.0": true, "1.99.99": false, "2.10.0-beta.1": true, "": false, "x": false, "2.9.11": true} {
		if got := atLeast(version, leastVersion); got != want {
			t.Errorf("atLeast(%q) = %t", version, got)
		}
	}
}
