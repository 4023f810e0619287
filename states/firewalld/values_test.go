package firewalld

import "testing"

func TestHoldsRule(t *testing.T) {
	for _, c := range []struct {
		rule, printed string
		same          bool
	}{
		{"rule service name=ssh accept", `rule service name="ssh" accept`, true},
		{"rule family=ipv4 service name='ssh' source address=10.0.0.0/8 accept",
			`rule family="ipv4" source address="10.0.0.0/8" service name="ssh" accept`, true},
		{"rule port protocol=tcp port=80 log level=warn prefix='a b' limit value=3/minute drop",
			`rule port port="80" protocol="tcp" log prefix="a b" level="warning" limit value="3/m" drop`, true},
		{"rule family=ipv4 source address=10.0.0.1 invert=true accept",
			`rule family="ipv4" source NOT address="10.0.0.1" accept`, true},
		{"rule family=ipv4 source address=10.0.0.1 accept",
			`rule family="ipv4" source NOT address="10.0.0.1" accept`, false},
		{"rule source address=a accept", `rule destination address="a" accept`, false},
		{"rule service name=ssh accept", `rule service name="ssh" drop`, false},
		{"rule log limit value=1/s accept", `rule log accept limit value="1/s"`, false},
		{"rule log prefix='a b' accept", `rule log prefix="a" b accept`, false},
		{"rule '", "rule '", true},
	} {
		if got := holdsRule([]any{"rule drop", c.printed}, c.rule); got != c.same {
			t.Errorf("%s as %s: %v", c.rule, c.printed, got)
		}
	}
}

func TestHoldsPort(t *testing.T) {
	open := []any{"8085-8090/tcp", "53/udp", "8080-8084/tcp", "ssh/tcp"}
	for port, want := range map[string]bool{"8080/tcp": true, "8080-8090/tcp": true, "8084-8085/tcp": true,
		"8079-8080/tcp": false, "8090-8091/tcp": false, "8080/udp": false, "53/udp": true, "ssh/tcp": true,
		"ssh/udp": false, "9-8/tcp": false, "": false} {
		if got := holdsPort(open, port); got != want {
			t.Errorf("%s: %v", port, got)
		}
	}
}

func FuzzNormal(f *testing.F) {
	f.Add("rule family='ipv4' source not address=10.0.0.0/8 log limit value=3/minute accept")
	f.Add("invert=yes rule '")
	f.Fuzz(func(t *testing.T, rule string) {
		if !holdsRule([]any{rule}, rule) {
			t.Errorf("%q does not hold itself", rule)
		}
	})
}
