package cluster

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/need"
)

// TestSilentServersAreNamed joins with two addresses at which nothing listens, and then with nothing else.
func TestSilentServersAreNamed(t *testing.T) {
	s := one(t)
	log, said := logtest.NewNullLogger()
	s.o.Log, s.o.Member = log, "a"
	var closed []string
	for _, port := range freeport.New(t, 2) {
		closed = append(closed, fmt.Sprintf("nats://u:geheim@127.0.0.1:%d", port))
	}
	up := s.o.Servers
	s.o.Servers = append(append([]string{}, up...), closed...)
	c, err := Open(patiently(t), s.o)
	must(t, err)
	eventually(t, "two warnings", func() bool { return len(said.AllEntries()) >= 2 })
	must(t, c.Close())
	for _, e := range said.AllEntries() {
		text := fmt.Sprint(e.Message, e.Data["error"])
		if e.Level != logrus.WarnLevel || !strings.Contains(text, "accepts no connection") ||
			!strings.Contains(text, "nats://u:xxxxx@127.0.0.1:") {
			t.Errorf("the log says %s", text)
		}
	}
	s.o.Servers = closed
	_, err = Open(patiently(t), s.o)
	for _, address := range closed {
		_, port, splitErr := net.SplitHostPort(strings.TrimPrefix(address, "nats://u:geheim@"))
		must(t, splitErr)
		if err == nil || !strings.Contains(err.Error(), port+": connect: connection refused") || strings.Contains(err.Error(), "geheim") {
			t.Errorf("without a server: %v", err)
		}
	}
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
}
