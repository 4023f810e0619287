package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testnats"
)

// TestUnusableServersAreNamed joins with two addresses at which nothing listens, and then with nothing else.
func TestUnusableServersAreNamed(t *testing.T) {
	s := one(t)
	log, said := logtest.NewNullLogger()
	s.o.Log, s.o.Member = log, "a"
	var closed, ports []string
	for i, port := range freeport.New(t, 2) {
		ports = append(ports, strconv.Itoa(port))
		closed = append(closed, []string{"nats://u:geheim@127.0.0.1:", "nats://geheim@127.0.0.1:"}[i]+ports[i])
	}
	s.o.Servers = slices.Concat(s.o.Servers, closed)
	c, err := Open(patiently(t), s.o)
	must(t, err)
	c.warnOfUnreachable(t.Context(), time.Millisecond)
	must(t, c.Close())
	if n := len(said.AllEntries()); n != 2 {
		t.Errorf("the log has %d lines, want 2", n)
	}
	for _, e := range said.AllEntries() {
		text := fmt.Sprint(e.Message, e.Data["error"])
		if e.Level != logrus.WarnLevel || !strings.Contains(text, "xxxxx@127.0.0.1:") || strings.Contains(text, "geheim") ||
			!strings.HasSuffix(text, "connection refused") {
			t.Errorf("the log says %s", text)
		}
	}
	s.o.Servers = closed
	_, err = Open(patiently(t), s.o)
	for _, port := range ports {
		if err == nil || !strings.Contains(err.Error(), port+": connection refused") || strings.Contains(err.Error(), "geheim") {
			t.Errorf("without a server: %v", err)
		}
	}
}

// TestAServerThatRefusesTheLoginIsNamed joins while one of three servers demands another password. That server tells
// clients of the others before it refuses them.
func TestAServerThatRefusesTheLoginIsNamed(t *testing.T) {
	s := newSite(t, testnats.Options{Nodes: 3, User: "u", Password: "good"})
	log, said := logtest.NewNullLogger()
	s.o.Log, s.o.Member = log, "a"
	s.o.User, s.o.Password = "u", "good"
	s.servers.SetPassword(t, s.servers.Nodes[2], "other")
	c, err := Open(patiently(t), s.o)
	must(t, err)
	defer c.Close()
	found := c.unreachable(s.o.Servers)
	if len(found) != 1 || !errors.Is(found[s.o.Servers[2]], nats.ErrAuthorization) {
		t.Errorf("servers that cannot be used: %v", found)
	}
	c.warnOfUnreachable(t.Context(), time.Millisecond)
	for _, e := range said.AllEntries() {
		if strings.Contains(e.Message, "cannot be used") {
			return
		}
	}
	t.Error("the log does not name the server")
}

// TestKeyOfAnotherUser gives the key of a master that runs as root to a user who is not.
func TestKeyOfAnotherUser(t *testing.T) {
	need.Root(t, "it gives a file to another user")
	other, err := user.Lookup("nobody")
	need.That(t, "the user nobody", err)
	file := filepath.Join(t.TempDir(), "key")
	rewrite(t, file, strings.Repeat("ab", 32))
	o := Options{KeyFile: file}
	must(t, o.CheckFiles("root"))
	var uid int
	_, err = fmt.Sscan(other.Uid, &uid)
	must(t, err)
	must(t, os.Chown(file, uid, -1))
	if err := o.CheckFiles("root"); err == nil || !strings.Contains(err.Error(), "belongs to user nobody") {
		t.Errorf("CheckFiles(root) = %v", err)
	}
	must(t, o.CheckFiles("nobody"))
	o.Servers, o.Member = []string{"nats://127.0.0.1:1"}, "a"
	if _, err := Open(t.Context(), o); !errors.Is(err, ErrKeyFile) {
		t.Errorf("Open = %v, want %v", err, ErrKeyFile)
	}
}
