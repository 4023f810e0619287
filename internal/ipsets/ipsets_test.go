package ipsets

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
)

// set returns a set of a type such as hash:ip netmask 24 with members.
func set(kind string, members ...string) *Set {
	name, header, _ := strings.Cut(kind, " ")
	return New(data.NewMap("Type", name, "Header", header), members)
}

func TestHas(t *testing.T) {
	for _, tt := range []struct {
		kind, members, entry string
		want                 bool
	}{
		{"hash:net", "10.0.0.0/8", "10.9.9.9", true},
		{"hash:net", "10.0.0.0/8", "10.1.0.0/16", false},
		{"hash:net", "10.0.0.0/8", "10.255.1.1/8", true},
		{"hash:net", "10.0.0.1", "10.0.0.0/24", false},
		{"hash:net", "10.0.0.1", "10.0.0.1/32", true},
		{"hash:net", "10.0.0.0/8", "10.0.0.0-10.0.0.9", false},
		{"hash:net", "10.0.0.0/29;10.0.0.8/31", "10.0.0.9-10.0.0.0", true},
		{"hash:net", "10.0.0.0/29", "10.0.0.0-10.0.0.9", false},
		{"hash:net", "10.0.0.0/8 nomatch", "10.0.0.0/8 nomatch", true},
		{"hash:net", "10.0.0.0/8 nomatch", "10.0.0.0/8", false},
		{"hash:net", "10.0.0.0/8", "10.0.0.0/8 nomatch", false},
		{"hash:net", "10.0.0.0/8 nomatch", "10.0.0.1", false},
		{"hash:net", "10.0.0.0/8;10.1.0.0/16 nomatch", "10.1.0.1", false},
		{"hash:net", "10.1.0.0/16 nomatch;10.0.0.0/8", "10.2.0.1", true},
		{"hash:net,net", "10.0.0.0/8,10.1.1.1", "10.0.0.1,10.1.1.1", true},
		{"hash:net,net", "10.0.0.0/8,10.0.0.0/8;10.1.0.0/16,10.0.0.0/8 nomatch", "10.1.0.1,10.0.0.1", false},
		{"hash:ip", "10.0.0.1", "10.0.0.0/24", false},
		{"hash:ip", "10.0.0.0;10.0.0.1", "10.0.0.0/31", true},
		{"hash:ip", "10.0.0.1;10.0.0.2;10.0.0.3", "10.0.0.1-10.0.0.3", true},
		{"hash:ip", "10.0.0.1;10.0.0.3", "10.0.0.1-10.0.0.3", false},
		{"hash:ip netmask 24", "10.0.0.0", "10.0.0.7", true},
		{"hash:ip netmask 24", "10.0.0.0;10.0.1.0", "10.0.0.7-10.0.1.1", true},
		{"hash:ip", "10.0.0.1", "0.0.0.0/0", false},
		{"hash:ip family inet6", "fd00::1", "FD00:0::1", true},
		{"hash:ip family inet6", "fd00::1", "::/0", false},
		{"hash:ip", `1.2.3.4 timeout 3 comment "a b"`, "1.2.3.4 comment a b", true},
		{"hash:ip", `1.2.3.4 timeout 3 comment "a b"`, "1.2.3.4 comment a c", false},
		{"hash:ip", "1.2.3.4", `1.2.3.4 comment ""`, true},
		{"hash:ip", "1.2.3.4 timeout 3", "1.2.3.4 timeout 500", true},
		{"hash:ip", "1.2.3.4 timeout 0", "1.2.3.4 timeout 500", false},
		{"hash:ip", "1.2.3.4 timeout 9", "1.2.3.4 timeout 0", false},
		{"hash:ip", "1.2.3.4 packets 7 bytes 900", "1.2.3.4 packets 0 bytes 0", true},
		{"hash:ip", "1.2.3.4 skbmark 0x10/0xff skbprio 1:10 skbqueue 3",
			"1.2.3.4 skbprio 0001:0010 skbmark 16/255 skbqueue 03", true},
		{"hash:ip", "1.2.3.4 skbmark 0x10", "1.2.3.4 skbmark 0x10/0xffffffff", true},
		{"hash:ip", "1.2.3.4 skbmark 0x10", "1.2.3.4 skbmark 0x11", false},
		{"hash:ip", "1.2.3.4", "1.2.3.4 skbqueue 1", false},
		{"hash:ip,port", "1.2.3.4,tcp:80", "1.2.3.4,80", true},
		{"hash:ip,port", "1.2.3.4,tcp:80", "1.2.3.4,http", true},
		{"hash:ip,port", "1.2.3.4,tcp:80", "1.2.3.4,6:80", true},
		{"hash:ip,port", "1.2.3.4,tcp:80", "1.2.3.4,udp:80", false},
		{"hash:ip,port", "1.2.3.4,udp:53", "1.2.3.4,UDP:domain", true},
		{"hash:ip,port", "1.2.3.4,tcp:80;1.2.3.4,tcp:81", "1.2.3.4,81-80", true},
		{"hash:ip,port", "1.2.3.4,tcp:80", "1.2.3.4,80-81", false},
		{"hash:ip,port", "1.2.3.4", "1.2.3.4,80", false},
		{"hash:ip,port", "1.2.3.4,icmp:echo-request", "1.2.3.4,icmp:8/0", true},
		{"hash:ip,port", "1.2.3.4,icmp:echo-request", "1.2.3.4,icmp:ping", true},
		{"hash:ip,port", "1.2.3.4,icmp:3/33", "1.2.3.4,icmp:3/33", true},
		{"hash:ip,port family inet6", "fd00::1,ipv6-icmp:echo-request", "fd00::1,icmpv6:128/0", true},
		{"hash:ip,mark markmask 0xff", "1.2.3.4,0x00000011", "1.2.3.4,0x1011", true},
		{"hash:ip,mark", "1.2.3.4,0x00000011", "1.2.3.4,17", true},
		{"hash:ip,mark", "1.2.3.4,0x00000011", "1.2.3.4,18", false},
		{"hash:net,iface", "10.0.0.0/8,physdev:eth1", "10.0.0.0/8,eth1", false},
		{"hash:net,iface", "10.0.0.0/8,eth1", "10.1.1.1,eth1", true},
		{"bitmap:port", "80;81", "http", true},
		{"bitmap:port", "80;81", "udp:80-81", true},
		{"bitmap:port", "80;81", "82", false},
		{"bitmap:ip,mac", "10.0.0.1,AA:BB:CC:DD:EE:FF", "10.0.0.1,aa:bb:cc:dd:ee:ff", true},
		{"bitmap:ip,mac", "10.0.0.1,AA:BB:CC:DD:EE:FF", "10.0.0.1", true},
		{"bitmap:ip,mac", "10.0.0.1", "10.0.0.1,aa:bb:cc:dd:ee:ff", false},
		{"hash:mac", "AA:BB:CC:DD:EE:FF", "aa:bb:cc:dd:ee:ff", true},
		{"list:set", "inner", "inner before other", true},
		{"list:set", "inner", "other", false},
		{"hash:ip", "", "1.2.3.4", false},
		{"hash:net", "10.0.0.0/8", "fd00::1", false},
		{"hash:net", "10.0.0.0/8", "no address", false},
	} {
		var members []string
		if tt.members != "" {
			members = strings.Split(tt.members, ";")
		}
		if got := set(tt.kind, members...).Has(tt.entry); got != tt.want {
			t.Errorf("%s: %s has %s: %v", tt.kind, tt.members, tt.entry, got)
		}
	}
}

// Find names the members to delete: of a range those that are there, whatever their comments are.
func TestFind(t *testing.T) {
	for _, tt := range []struct {
		kind, members, entry, want string
		whole                      bool
	}{
		{"hash:ip", "10.0.0.1;10.0.0.3;10.0.0.9", "10.0.0.0/30", "10.0.0.1 10.0.0.3", false},
		{"hash:ip", "10.0.0.2;10.0.0.1", "10.0.0.1-10.0.0.2", "10.0.0.2 10.0.0.1", true},
		{"hash:ip", `10.0.0.1 timeout 9 comment "x"`, "10.0.0.1 comment y", "10.0.0.1", true},
		{"hash:ip", "10.0.0.1", "10.0.0.2", "", false},
		{"hash:net", "10.0.0.0/8;10.0.0.1", "10.0.0.1", "10.0.0.1", true},
		{"hash:net", "10.0.0.0/8", "10.0.0.1", "", false},
		{"hash:net", "10.0.0.1", "10.0.0.0/8", "", false},
		{"hash:net", "10.0.0.0/8 nomatch", "10.0.0.0/8", "", false},
		{"hash:net", "10.0.0.0/8 nomatch", "10.0.0.0/8 nomatch", "10.0.0.0/8", true},
		{"hash:ip,port", "10.0.0.1,tcp:80;10.0.0.2,tcp:81;10.0.0.2,udp:80", "10.0.0.1-10.0.0.2,80-81",
			"10.0.0.1,tcp:80 10.0.0.2,tcp:81", false},
		{"bitmap:ip,mac", "10.0.0.1,AA:BB:CC:DD:EE:FF", "10.0.0.1", "10.0.0.1,AA:BB:CC:DD:EE:FF", true},
	} {
		got, whole := set(tt.kind, strings.Split(tt.members, ";")...).Find(tt.entry)
		if strings.Join(got, " ") != tt.want || whole != tt.whole {
			t.Errorf("%s: %s in %s: %q, %v", tt.kind, tt.entry, tt.members, got, whole)
		}
	}
}

// What the kernel makes of an entry is found again, and nothing is found before. Types of sets that the
// kernel of the host lacks are left out.
func TestKernel(t *testing.T) {
	if !need.Network(t, "ipset list") {
		return
	}
	run := func(args ...string) (string, error) {
		out, err := exec.CommandContext(context.Background(), "ipset", args...).CombinedOutput()
		return string(out), err
	}
	for kind, entries := range map[string][]string{
		"hash:ip timeout 600 counters comment skbinfo": {"10.0.0.1", "10.0.1.0/30", "10.0.2.9-10.0.2.2",
			"10.0.3.1 timeout 0", `10.0.3.2 comment "a b" timeout 30`, "10.0.3.3 packets 3 bytes 9",
			"10.0.3.4 skbmark 0x10 skbprio 1:a skbqueue 3", "10.0.3.5 skbmark 0x10/0xffff"},
		"hash:ip netmask 24":   {"10.0.0.5", "10.9.0.0/22", "10.7.0.1-10.7.2.2"},
		"hash:ip family inet6": {"FD00:0::1", "::ffff:1.2.3.4", "fd00::2/128"},
		"hash:net comment": {"10.0.0.0/24", "10.1.0.7/32", "10.2.0.0-10.2.1.3", "10.3.0.7/24 nomatch",
			"10.4.0.0/30 comment x"},
		"hash:net family inet6": {"fd00::0:1/64", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8/128"},
		"hash:ip,port": {"10.0.0.1,80", "10.0.0.2,https", "10.0.0.3,udp:domain", "10.0.0.4,81-83",
			"10.0.0.5/31,udplite:9",
			"10.0.0.7,sctp:80", "10.0.0.8,icmp:ping", "10.0.0.8,icmp:3/9", "10.0.0.8,icmp:3/33", "10.0.0.9,gre:0",
			"10.0.0.10,112:0", "10.0.0.11,132:7"},
		"hash:ip,port family inet6": {"fd00::1,icmpv6:ping", "fd00::1,58:129/0",
			"fd00::1,ipv6-icmp:neigbour-solicitation",
			"fd00::1,80"},
		"hash:net,port":    {"10.0.5.7/24,53-55", "10.0.6.0/23,udp:9 nomatch"},
		"hash:ip,port,net": {"10.0.0.1,80,10.0.0.2/24 nomatch"},
		"hash:ip,port,ip":  {"10.0.0.1,80,10.0.0.2"},
		"hash:net,net":     {"10.0.0.9/8,10.1.1.1"},
		"hash:net,iface": {"10.0.0.9/8,eth0", "10.1.0.0/16,physdev:eth1 nomatch",
			"0.0.0.0/0,eth0"},
		"hash:ip,mark markmask 0xff":             {"10.0.0.1,0x1ff", "10.0.0.2,7"},
		"hash:mac":                               {"aa:bb:cc:dd:ee:ff"},
		"bitmap:ip range 10.0.0.0/16":            {"10.0.0.1", "10.0.1.0/24"},
		"bitmap:ip range 10.0.0.0/16 netmask 24": {"10.0.3.4"},
		"bitmap:ip,mac range 10.0.0.0/24":        {"10.0.0.1", "10.0.0.2,aa:bb:cc:dd:ee:ff"},
		"bitmap:port range 0-1000":               {"80", "udp:81", "https", "90-92"},
	} {
		if out, err := run(append([]string{"create", "s"}, strings.Fields(kind)...)...); err != nil {
			t.Logf("%s: %s", kind, out)
			continue
		}
		read := func() *Set {
			text, err := run("list", "s")
			if err != nil {
				t.Fatal(text)
			}
			return New(Fields(text), Members(text))
		}
		for _, entry := range entries {
			if before := read(); before.Has(entry) {
				t.Errorf("%s has %s before it is added: %q", kind, entry, before.texts)
			}
			if out, err := run(append([]string{"add", "s"}, Words(entry)...)...); err != nil {
				t.Errorf("add %s to %s: %s", entry, kind, out)
				continue
			}
			after := read()
			if found, whole := after.Find(entry); !after.Has(entry) || !whole || len(found) == 0 {
				t.Errorf("%s lacks %s, which is %q among %q", kind, entry, found, after.texts)
			}
		}
		if out, err := run("destroy", "s"); err != nil {
			t.Fatal(out)
		}
	}
}

func FuzzSet(f *testing.F) {
	f.Add("hash:ip,port", "192.0.2.1,tcp:80", `192.0.2.1,80-81 timeout 5 comment "a b" nomatch`)
	f.Add("hash:net", "10.0.0.0/8", "::/0-10.0.0.9")
	f.Add("hash:ip netmask 1", "10.0.0.0/8", "0.0.0.0-255.255.255.255")
	f.Add("hash:net", "::", "::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")
	f.Fuzz(func(t *testing.T, kind, member, entry string) {
		s := set(kind, member)
		found, whole := s.Find(entry)
		if len(found) > 1 || whole && len(found) == 0 {
			t.Errorf("%s: %q in %q is %q, %v", kind, entry, member, found, whole)
		}
		s.Has(entry) // does not panic
	})
}
